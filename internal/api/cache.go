package api

import (
	"container/list"
	"sync"
)

// cache keeps the latest encoded answers, compressed, up to a number of bytes.
type cache struct {
	most int

	mu    sync.Mutex
	size  int
	order *list.List // of *kept, the latest first
	by    map[string]*list.Element
}

type kept struct {
	tag  string
	body []byte
}

func newCache(most int) *cache {
	return &cache{most: most, order: list.New(), by: map[string]*list.Element{}}
}

// overhead is about what an answer takes beside its bytes.
const overhead = 256

func (k *kept) size() int { return len(k.body) + len(k.tag) + overhead }

// get returns the answer with a tag; nil: it is not there.
func (c *cache) get(tag string) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.by[tag]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*kept).body
}

// put keeps an answer. One that would take a quarter of the room is not kept.
func (c *cache) put(tag string, body []byte) {
	k := &kept{tag, body}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[tag] != nil || k.size() > c.most/4 {
		return
	}
	c.by[tag] = c.order.PushFront(k)
	for c.size += k.size(); c.size > c.most; {
		last := c.order.Back()
		old := c.order.Remove(last).(*kept)
		delete(c.by, old.tag)
		c.size -= old.size()
	}
}
