// Package pools keeps books of the pools of a process: what was allocated in each, and how much memory serves it.
//
// The rule: pools of one name are one, whatever ids the name has. A PC stands for them, as the innermost one of the
// call stacks of what was allocated there.
package pools

import (
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// Unknown is the pool of an allocation that does not say in which it is.
const Unknown = 1 << 32

// Books are the books of a process's pools, by their PC.
type Books struct {
	// Innermost is the innermost program counter of a stack; false if there is no such stack.
	Innermost func(stack uint32) (event.PC, bool)

	byName map[string]event.PC
	names  map[event.PC]string
	books  map[event.PC]*event.Pool
}

// PC is the PC of a pool's name. A name may have several ids.
func (b *Books) PC(id uint32, name string) event.PC {
	pc, ok := b.byName[name]
	if !ok {
		if b.byName == nil {
			b.byName, b.names, b.books = map[string]event.PC{}, map[event.PC]string{}, map[event.PC]*event.Pool{}
		}
		pc = event.PoolPC(id)
		b.byName[name], b.names[pc] = pc, name
	}
	return pc
}

func (b *Books) book(pc event.PC) *event.Pool {
	x := b.books[pc]
	if x == nil {
		x = &event.Pool{Name: b.names[pc]}
		b.books[pc] = x
	}
	return x
}

// Frames returns the names of the pools among program counters, of which the first one has a number.
func (b *Books) Frames(first int, pcs []event.PC) map[uint32][]event.Frame {
	frames := map[uint32][]event.Frame{}
	for i, pc := range pcs {
		if name, ok := b.names[pc]; ok {
			frames[uint32(first+i)] = []event.Frame{event.PoolFrame(name)}
		}
	}
	return frames
}

// Settle takes events into the books. Those of pools are never plain.
func (b *Books) Settle(list *event.Batch) {
	for i := range list.Full {
		b.event(&list.Full[i])
	}
}

func (b *Books) event(e *event.Full) {
	switch {
	case e.Kind == event.Alloc && e.Func.InPool():
		if x := b.of(e.Stack); x != nil {
			blocks, bytes := e.Weight()
			x.Allocations += blocks
			x.Bytes += bytes
			x.Blocks += blocks
			x.Live += bytes
			x.PeakLive = max(x.PeakLive, x.Live)
		}
	case e.Kind == event.Free && e.Ended.InPool():
		if x := b.of(e.Stack); x != nil {
			blocks, bytes := e.Weight()
			x.Frees += blocks
			x.Blocks -= min(blocks, x.Blocks)
			x.Live -= min(bytes, x.Live)
		}
	}
}

// of is the book of the pool in which an allocation with that call stack lies; nil if its stack is not known.
func (b *Books) of(stack uint32) *event.Pool {
	pc, ok := b.Innermost(stack)
	if _, pool := pc.Pool(); !ok || !pool {
		return nil
	}
	return b.book(pc)
}

// Backed takes into the books that more memory, or less, serves the pools of a PC.
func (b *Books) Backed(pc event.PC, bytes int64) {
	x := b.book(pc)
	x.Backing += uint64(bytes)
	x.PeakBacking = max(x.PeakBacking, x.Backing)
}

// List returns what the pools came to.
func (b *Books) List() []event.Pool {
	list := make([]event.Pool, 0, len(b.books))
	for _, x := range b.books {
		list = append(list, *x)
	}
	slices.SortFunc(list, event.ComparePools)
	return list
}
