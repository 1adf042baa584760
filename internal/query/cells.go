package query

import (
	"slices"
	"sync"
)

// cell holds the sums of the blocks of one stack and one label. The label distinguishes groups of blocks.
type cell struct {
	stack, label uint32
	Values
	level
}

// level is the number of live bytes, and its maximum.
type level struct {
	now  int64
	most int64 // since the beginning of the query's range
}

// cells is a table of cells by stack and label.
type cells struct {
	list   []cell
	places places // number in list plus 1
}

// at returns the cell of a stack and a label; it is valid until the next call.
func (c *cells) at(stack, label uint32) *cell { return &c.list[c.number(stack, label)] }

// number returns the index of a cell in the list, and adds the cell if necessary.
func (c *cells) number(stack, label uint32) uint32 {
	p := c.places.at(stack, label)
	if *p == 0 {
		c.list = append(c.list, cell{stack: stack, label: label})
		*p = uint32(len(c.list))
	}
	return *p - 1
}

// find returns a cell's index, or -1. Several goroutines may call it as long as no cell is added.
func (c *cells) find(stack, label uint32) int {
	if label == 0 && stack < maxDense {
		if uint64(stack) < uint64(len(c.places.dense)) {
			return int(c.places.dense[stack]) - 1
		}
		return -1
	}
	if len(c.places.far.slots) == 0 {
		return -1
	}
	return int(c.places.far.find(uint64(label)<<32|uint64(stack)).value) - 1
}

// index fills places for a list that was built elsewhere.
func (c *cells) index() {
	c.places = places{}
	for i := range c.list {
		*c.places.at(c.list[i].stack, c.list[i].label) = uint32(i + 1)
	}
}

// expect makes room for the cells of a number of events, so that a list of many megabytes is not copied as it grows.
func (c *cells) expect(a *ask, events uint64) {
	if n := min(uint64(len(a.sum.Stacks)), events); !a.q.By.ofBlocks() && a.stacks == nil && n > uint64(len(c.list)) {
		c.list = slices.Grow(c.list, int(n)-len(c.list))
	}
}

// reset empties the cells for another use.
func (c *cells) reset() {
	for i := range c.list {
		if s := c.list[i].stack; uint64(s) < uint64(len(c.places.dense)) {
			c.places.dense[s] = 0
		}
	}
	c.places.far.clear()
	c.list = c.list[:0]
}

// cellsPool pools the cells of blocks of events.
var cellsPool = sync.Pool{New: func() any { return new(cells) }}

// places maps a stack and a label to a number, initially 0.
type places struct {
	dense []uint32 // by stack, for label 0
	far   hashed
}

// maxDense is the largest stack id plus 1 that is looked up in an array.
const maxDense = 1 << 22

// at returns the location of the number of a stack and a label; it is valid until the next call.
func (p *places) at(stack, label uint32) *uint32 {
	if label == 0 && stack < maxDense {
		if n := uint32(len(p.dense)); stack >= n {
			p.dense = append(p.dense, make([]uint32, max(stack+1-n, n, 256))...)
		}
		return &p.dense[stack]
	}
	return p.far.at(uint64(label)<<32 | uint64(stack))
}

// hashed maps a key to a number, initially 0. A number that was set does not become 0 again.
type hashed struct {
	slots []hashSlot // their count is a power of 2
	used  int        // upper bound: callers of at need not set a number
}

type hashSlot struct {
	key   uint64
	value uint32 // 0: the slot is free
}

// at returns the location of the number of a key; it is valid until the next call.
func (h *hashed) at(key uint64) *uint32 {
	if 2*h.used >= len(h.slots) {
		h.grow()
	}
	s := h.find(key)
	if s.value == 0 {
		s.key = key
		h.used++
	}
	return &s.value
}

// find returns the slot of a key, or a free one for it.
func (h *hashed) find(key uint64) *hashSlot {
	mask := uint64(len(h.slots) - 1)
	for i := key * 0x9e3779b97f4a7c15 >> 32; ; i++ {
		if s := &h.slots[i&mask]; s.value == 0 || s.key == key {
			return s
		}
	}
}

// grow makes room if more than a quarter of the slots is taken.
func (h *hashed) grow() {
	old := h.slots
	h.used = 0
	for i := range old {
		if old[i].value != 0 {
			h.used++
		}
	}
	if 4*h.used < len(old) {
		return
	}
	h.slots = make([]hashSlot, max(64, 2*len(old)))
	for _, s := range old {
		if s.value != 0 {
			*h.find(s.key) = s
		}
	}
}

func (h *hashed) clear() {
	clear(h.slots)
	h.used = 0
}
