package query

import (
	"math/bits"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// collector is what a question makes of events: for each block of them, what is to be done with an event, and then, in
// the order of the blocks, with what came of that. begin and see run on several goroutines, each block's on one; see
// must change only what begin made.
type collector func(b recording.Stretch) (see sight, done func())

// sight gets events, and of each whether its block is selected. The first events of a block may lie before the range
// that is scanned.
type sight func(b *recording.Batch, counts []bool)

// scan shows the events between two cuts to collectors, which are all of the same selection of blocks and need these
// fields. Damage ends it and is kept for the answer. Events that were folded are an error: it says from when on there
// are events.
func (a *ask) scan(from, to uint64, f recording.Fields, list ...collector) error {
	if a.q.Lifetimes != nil {
		f |= recording.Times
	}
	return a.show(from, to, f|recording.Sizes, a.counter, list...)
}

// scanAll is scan where it does not matter, or is not known yet, which blocks are selected.
func (a *ask) scanAll(from, to uint64, f recording.Fields, list ...collector) error {
	return a.show(from, to, f, noBlocks, list...)
}

func (a *ask) show(from, to uint64, f recording.Fields, selected func() selection, list ...collector) error {
	err := a.Reader.Scan(a.ctx, from, to, f, func(b recording.Stretch) (func(*recording.Batch) bool, func()) {
		sights, dones := make([]sight, len(list)), make([]func(), len(list))
		for i, begin := range list {
			sights[i], dones[i] = begin(b)
		}
		selected := selected()
		var counts []bool
		each := func(b *recording.Batch) bool {
			counts = selected(b, counts)
			for _, see := range sights {
				see(b, counts)
			}
			return true
		}
		return each, func() {
			for _, done := range dones {
				done()
			}
			a.progress(min(b.First+b.Events, to)-from, to-from)
		}
	})
	return a.kept(err, to-from)
}

// progress tells how far it is, where that is wanted.
func (a *ask) progress(done, total uint64) {
	if a.q.Progress != nil {
		a.q.Progress(done, total)
	}
}

// kept takes damage, which ended going through so many events, for the answer.
func (a *ask) kept(err error, total uint64) error {
	a.progress(total, total)
	if err != nil && a.ctx.Err() == nil && !folded(err) {
		a.Missing, err = err.Error(), nil
	}
	return err
}

// selection says for each event whether its block is selected, in the memory of a slice.
type selection func(b *recording.Batch, memory []bool) []bool

// noBlocks selects none.
func noBlocks() selection {
	return func(b *recording.Batch, memory []bool) []bool {
		counts := boolsOf(len(b.Events), memory)
		clear(counts)
		return counts
	}
}

// boolsOf returns a slice of n, in memory if there is room, whose values are any.
func boolsOf(n int, memory []bool) []bool {
	if cap(memory) < n {
		return make([]bool, n)
	}
	return memory[:n]
}

// counter returns what tells on one goroutine which blocks count.
func (a *ask) counter() selection {
	blocks := a.blocks.shared()
	return func(b *recording.Batch, memory []bool) []bool {
		counts := boolsOf(len(b.Events), memory)
		for i := range counts {
			counts[i] = b.Events[i].Kind <= event.Free
		}
		if blocks == nil && a.stacks == nil {
			return counts
		}
		for i := range counts {
			e := &b.Events[i]
			switch {
			case !counts[i]:
			case !a.stacks.keep(e.Stack):
				counts[i] = false
			case blocks == nil:
			case e.Kind == event.Alloc:
				counts[i] = blocks.alloc(e, b.Refs[i])
			default:
				counts[i] = blocks.free(e, b.Refs[i])
			}
		}
		return counts
	}
}

// prepare finds out, for a scan between two cuts, what is known of a block only at another of its two events: whether
// it lives so long as is asked for, and by which function it was allocated.
func (a *ask) prepare(from, to uint64) error {
	if a.prepared != nil && a.prepared.From <= from && to <= a.prepared.To {
		return nil
	}
	a.prepared = &Range{from, to}
	if a.blocks != nil && a.blocks.marked != nil {
		if err := a.scanAll(from, a.last, recording.Times, a.blocks.mark); err != nil {
			return err
		}
	}
	if a.q.By != ByAllocation {
		return nil
	}
	a.funcs = funcs{}
	return a.scanAll(a.first, to, 0, a.funcs.collect)
}

// labeler returns what tells the group of the block of an event, 0 if it is not blocks that are grouped. It must be
// asked about all allocations and deallocations of the block of events, in order.
func (a *ask) labeler(b recording.Stretch) func(ref uint64, e *event.Event) uint32 {
	switch a.q.By {
	case ByThread:
		return func(_ uint64, e *event.Event) uint32 {
			if e.Kind == event.Alloc {
				return e.Thread
			}
			return e.BornBy
		}
	case BySizeClass:
		return func(_ uint64, e *event.Event) uint32 { return uint32(bits.Len64(e.Size)) }
	case ByAllocation:
		return a.funcs.labeler(b)
	case ByRegion, ByRegionName:
		return a.regions().ofEvent
	}
	return func(uint64, *event.Event) uint32 { return 0 }
}
