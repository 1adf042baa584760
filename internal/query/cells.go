package query

import "sync"

// cell is what the blocks of one stack and one label sum up to. The label tells groups of blocks apart.
type cell struct {
	stack, label uint32
	Values
	level
}

// level follows the bytes that are live.
type level struct {
	now  int64
	most int64 // since the beginning of the query's range
}

// cells finds cells.
type cells struct {
	list   []cell
	places places // number in list plus 1
}

// at returns the cell of a stack and a label; it is valid until the next call.
func (c *cells) at(stack, label uint32) *cell { return &c.list[c.number(stack, label)] }

// number is its number in the list.
func (c *cells) number(stack, label uint32) uint32 {
	p := c.places.at(stack, label)
	if *p == 0 {
		c.list = append(c.list, cell{stack: stack, label: label})
		*p = uint32(len(c.list))
	}
	return *p - 1
}

// find returns a cell's number, or -1; from several goroutines, as long as no cell is added.
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

// index finds cells of a list that has come about otherwise.
func (c *cells) index() {
	c.places = places{}
	for i := range c.list {
		*c.places.at(c.list[i].stack, c.list[i].label) = uint32(i + 1)
	}
}

// reset makes them none, for others.
func (c *cells) reset() {
	for i := range c.list {
		if s := c.list[i].stack; uint64(s) < uint64(len(c.places.dense)) {
			c.places.dense[s] = 0
		}
	}
	c.places.far.clear()
	c.list = c.list[:0]
}

// sheets are the cells of blocks of events, which are used again.
var sheets = sync.Pool{New: func() any { return new(cells) }}

// places keeps a number for each stack and label: 0 at first.
type places struct {
	dense []uint32 // by stack, of label 0
	far   hashed
}

// maxDense is how far stacks are found through an array.
const maxDense = 1 << 22

// at returns where the number of a stack and a label is kept; it is valid until the next call.
func (p *places) at(stack, label uint32) *uint32 {
	if label == 0 && stack < maxDense {
		if n := uint32(len(p.dense)); stack >= n {
			p.dense = append(p.dense, make([]uint32, max(stack+1-n, n, 256))...)
		}
		return &p.dense[stack]
	}
	return p.far.at(uint64(label)<<32 | uint64(stack))
}

// hashed keeps a number for each key: 0 at first. A number that was given does not become 0 again.
type hashed struct {
	slots []hashSlot // their count is a power of 2
	used  int        // at most: who asks need not give a number
}

type hashSlot struct {
	key   uint64
	value uint32 // 0: the slot is free
}

// at returns where the number of a key is kept; it is valid until the next call.
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

// grow makes room, if more than a quarter of the slots is taken.
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
