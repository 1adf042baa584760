package heaptrack

import (
	"errors"
	"math"
	"sort"
)

// live holds the live blocks. Those of one size and call stack are a list, youngest first; its head is kept with the
// size and call stack. A file may have an allocation in four bytes: a block takes twelve here.
type live struct {
	allocs uint64        // allocations so far
	blocks chunks[block] // 0: none
	unused uint32        // the first of the freed entries
	ticks  chunks[tick]
}

// block is a live block.
type block struct {
	low, high uint32 // number of its allocation
	older     uint32 // the next one of its list; 0: none
}

// tick is the time of the allocations from first on, up to the next tick.
type tick struct {
	first uint64
	at    int64
}

// push adds the next allocation to a list.
func (l *live) push(list *uint32, now int64) error {
	if n := l.ticks.n; n == 0 || l.ticks.at(n-1).at != now {
		*l.ticks.add() = tick{l.allocs, now}
	}
	i := l.unused
	var b *block
	if i != 0 {
		b = l.blocks.at(int(i))
		l.unused = b.older
	} else {
		if l.blocks.n == 0 {
			l.blocks.add()
		}
		if l.blocks.n > math.MaxUint32 {
			return errors.New("more than 4294967295 live blocks")
		}
		i = uint32(l.blocks.n)
		b = l.blocks.add()
	}
	*b = block{uint32(l.allocs), uint32(l.allocs >> 32), *list}
	*list = i
	l.allocs++
	return nil
}

// pop removes the youngest block from a list. It returns the number and the time of its allocation.
func (l *live) pop(list *uint32) (ref uint64, born int64, ok bool) {
	if *list == 0 {
		return 0, 0, false
	}
	i := *list
	b := l.blocks.at(int(i))
	ref = uint64(b.high)<<32 | uint64(b.low)
	*list, b.older, l.unused = b.older, l.unused, i
	return ref, l.born(ref), true
}

// born returns the time of an allocation.
func (l *live) born(ref uint64) int64 {
	last := l.ticks.n - 1
	if l.ticks.at(last).first > ref { // most blocks are freed soon
		last = sort.Search(last, func(i int) bool { return l.ticks.at(i).first > ref }) - 1
	}
	return l.ticks.at(last).at
}

// chunkSize is how many values a chunk holds.
const chunkSize = 1 << 14

// chunks is a list that grows without being copied.
type chunks[T any] struct {
	list []*[chunkSize]T
	n    int
}

func (c *chunks[T]) at(i int) *T { return &c.list[i/chunkSize][i%chunkSize] }

// add appends a value, and returns a pointer to it.
func (c *chunks[T]) add() *T {
	if c.n == len(c.list)*chunkSize {
		c.list = append(c.list, new([chunkSize]T))
	}
	c.n++
	return c.at(c.n - 1)
}
