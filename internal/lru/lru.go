// Package lru keeps values that took time to make, up to a number of bytes. The values that were used last stay.
package lru

import (
	"container/list"
	"sync"
)

// Cache keeps values by key. It is safe for concurrent use; its values are shared, and so must not be changed.
type Cache[K comparable, V any] struct {
	limit   int64
	mu      sync.Mutex
	used    int64
	entries map[K]*list.Element
	order   list.List // of *entry, the one that was used last first
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int64
}

// New returns a cache that keeps up to limit bytes.
func New[K comparable, V any](limit int64) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, entries: make(map[K]*list.Element)}
}

// Get returns the value of a key; false if it is not there.
func (c *Cache[K, V]) Get(key K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return v, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Put keeps a value of that many bytes, and drops those that were not used for longest if there is no room. A value
// that is larger than the whole cache is not kept.
func (c *Cache[K, V]) Put(key K, v V, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		c.drop(e)
	}
	if size > c.limit {
		return
	}
	c.entries[key] = c.order.PushFront(&entry[K, V]{key, v, size})
	c.used += size
	for c.used > c.limit {
		c.drop(c.order.Back())
	}
}

// DropIf drops the values of all keys for which drop returns true.
func (c *Cache[K, V]) DropIf(drop func(K) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.entries {
		if drop(key) {
			c.drop(e)
		}
	}
}

// Size returns how many bytes are kept.
func (c *Cache[K, V]) Size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

func (c *Cache[K, V]) drop(e *list.Element) {
	x := e.Value.(*entry[K, V])
	c.order.Remove(e)
	delete(c.entries, x.key)
	c.used -= x.size
}
