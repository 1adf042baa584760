// Package lru keeps values that took time to make, up to a number of bytes. The values that were used last stay.
package lru

import (
	"container/list"
	"slices"
	"sync"
)

// Process is the budget of all caches of this process together, so that they cannot add up to more.
var Process = NewBudget(72 << 20)

// Budget is a number of bytes that several caches share. What was not used for longest goes first, whichever cache it
// is in.
type Budget struct {
	limit  int64
	mu     sync.Mutex // also of the caches
	used   int64
	uses   uint64 // of values so far
	caches []member
}

// member is a cache of a budget.
type member interface {
	oldest() (use uint64, ok bool)
	dropOldest()
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Size returns how many bytes the caches keep.
func (b *Budget) Size() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// use counts a use.
func (b *Budget) use() uint64 {
	b.uses++
	return b.uses
}

// trim drops values until there is room for the others.
func (b *Budget) trim() {
	for b.used > b.limit {
		var from member
		first := uint64(0)
		for _, c := range b.caches {
			if use, ok := c.oldest(); ok && (from == nil || use < first) {
				from, first = c, use
			}
		}
		from.dropOldest()
	}
}

// Cache keeps values by key. It is safe for concurrent use; its values are shared, and so must not be changed.
type Cache[K comparable, V any] struct {
	budget  *Budget
	limit   int64
	used    int64
	entries map[K]*list.Element
	order   list.List // of *entry, the one that was used last first
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int64
	use   uint64 // the last
}

// New returns a cache that keeps up to limit bytes of a budget. Leave must be called if the budget outlives it.
func New[K comparable, V any](b *Budget, limit int64) *Cache[K, V] {
	c := &Cache[K, V]{budget: b, limit: min(limit, b.limit), entries: make(map[K]*list.Element)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.caches = append(b.caches, c)
	return c
}

// Leave drops all values, and gives the budget back.
func (c *Cache[K, V]) Leave() {
	c.DropIf(func(K) bool { return true })
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.caches = slices.DeleteFunc(b.caches, func(m member) bool { return m == member(c) })
}

// Get returns the value of a key; false if it is not there.
func (c *Cache[K, V]) Get(key K) (v V, ok bool) {
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return v, false
	}
	c.order.MoveToFront(e)
	x := e.Value.(*entry[K, V])
	x.use = c.budget.use()
	return x.value, true
}

// Put keeps a value of that many bytes, and drops those that were not used for longest if there is no room. A value
// that is larger than the whole cache is not kept.
func (c *Cache[K, V]) Put(key K, v V, size int64) {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		c.drop(e)
	}
	if size > c.limit {
		return
	}
	c.entries[key] = c.order.PushFront(&entry[K, V]{key, v, size, b.use()})
	c.used += size
	b.used += size
	for c.used > c.limit {
		c.dropOldest()
	}
	b.trim()
}

// DropIf drops the values of all keys for which drop returns true.
func (c *Cache[K, V]) DropIf(drop func(K) bool) {
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	for key, e := range c.entries {
		if drop(key) {
			c.drop(e)
		}
	}
}

// Size returns how many bytes are kept.
func (c *Cache[K, V]) Size() int64 {
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	return c.used
}

func (c *Cache[K, V]) oldest() (use uint64, ok bool) {
	e := c.order.Back()
	if e == nil {
		return 0, false
	}
	return e.Value.(*entry[K, V]).use, true
}

func (c *Cache[K, V]) dropOldest() { c.drop(c.order.Back()) }

func (c *Cache[K, V]) drop(e *list.Element) {
	x := e.Value.(*entry[K, V])
	c.order.Remove(e)
	delete(c.entries, x.key)
	c.used -= x.size
	c.budget.used -= x.size
}
