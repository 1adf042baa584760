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

// cells is a table of cells by stack and label. They lie in pages, and stay where they are while others are added: a
// cell is hundreds of bytes, and a list that grows would be copied for up to a tenth of a second.
type cells struct {
	pages  []*[cellsOfPage]cell
	n      int
	places places // number plus 1
}

const cellsOfPage = 64

// len is the number of cells.
func (c *cells) len() int { return c.n }

// get returns the cell with a number.
func (c *cells) get(i int) *cell { return &c.pages[i/cellsOfPage][i%cellsOfPage] }

// at returns the cell of a stack and a label.
func (c *cells) at(stack, label uint32) *cell { return c.get(int(c.number(stack, label))) }

// number returns the number of a cell, and adds the cell if necessary.
func (c *cells) number(stack, label uint32) uint32 {
	p := c.places.at(stack, label)
	if *p == 0 {
		if c.n == len(c.pages)*cellsOfPage {
			c.pages = append(c.pages, new([cellsOfPage]cell))
		}
		*c.get(c.n) = cell{stack: stack, label: label}
		c.n++
		*p = uint32(c.n)
	}
	return *p - 1
}

// keep drops the cells for which keep returns false, and the places of all.
func (c *cells) keep(keep func(x *cell) bool) {
	kept := 0
	for i := range c.n {
		if x := c.get(i); keep(x) {
			if kept < i {
				*c.get(kept) = *x
			}
			kept++
		}
	}
	c.n, c.places = kept, places{}
	c.pages = slices.Delete(c.pages, (kept+cellsOfPage-1)/cellsOfPage, len(c.pages))
}

// find returns a cell's number, or -1. Several goroutines may call it as long as no cell is added.
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

// index fills in places that keep has dropped.
func (c *cells) index() {
	c.places = places{}
	for i := range c.len() {
		*c.places.at(c.get(i).stack, c.get(i).label) = uint32(i + 1)
	}
}

// reset empties the cells for another use.
func (c *cells) reset() {
	for i := range c.len() {
		if s := c.get(i).stack; uint64(s) < uint64(len(c.places.dense)) {
			c.places.dense[s] = 0
		}
	}
	c.places.far.clear()
	c.n = 0
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
