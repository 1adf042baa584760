package query

import (
	"math/bits"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// collector processes the events of a question. For each block of events it returns observe, which takes the events,
// and done, which is called in the order of the blocks and joins the results. The collector and observe run on several
// goroutines, each block on one; observe must change only what its own call created.
type collector func(b recording.Stretch) (observe observer, done func())

// observer takes events, and whether the block of each is selected. The first events of a block may precede the range
// that is scanned.
type observer func(b *recording.Batch, counts []bool)

// scan passes the events between two cuts to collectors, which all have the same selection of blocks and need these
// fields. Damage ends it without an error and is noted in the answer. Folded events are an error, which says from when
// on there are events.
func (a *ask) scan(from, to uint64, f recording.Fields, list ...collector) error {
	if a.q.Lifetimes != nil {
		f |= recording.Times
	}
	return a.scanSelected(from, to, f|recording.Sizes, a.counter, list...)
}

// scanAll is scan for collectors to which the selection of blocks does not matter or is not yet known.
func (a *ask) scanAll(from, to uint64, f recording.Fields, list ...collector) error {
	return a.scanSelected(from, to, f, noBlocks, list...)
}

func (a *ask) scanSelected(from, to uint64, f recording.Fields, selected func() selection, list ...collector) error {
	return a.noteDamage(a.Reader.Scan(a.ctx, from, to, f, a.pass(from, to, selected, list...)), to-from)
}

// pass returns what passes events to collectors, block by block.
func (a *ask) pass(from, to uint64, selected func() selection, list ...collector) func(recording.Stretch) (
	func(*recording.Batch) bool, func()) {
	return func(b recording.Stretch) (func(*recording.Batch) bool, func()) {
		observers, dones := make([]observer, len(list)), make([]func(), len(list))
		for i, begin := range list {
			observers[i], dones[i] = begin(b)
		}
		selected := selected()
		var counts []bool
		each := func(b *recording.Batch) bool {
			counts = selected(b, counts)
			for _, observe := range observers {
				observe(b, counts)
			}
			return true
		}
		return each, func() {
			for _, done := range dones {
				done()
			}
			a.progress(min(b.First+b.Events, to)-from, to-from)
		}
	}
}

// progress reports progress, if that is wanted.
func (a *ask) progress(done, total uint64) {
	if a.q.Progress != nil {
		a.q.Progress(done, total)
	}
}

// noteDamage notes damage after total events in the answer. Other errors are returned.
func (a *ask) noteDamage(err error, total uint64) error {
	a.progress(total, total)
	if err != nil && a.ctx.Err() == nil && !folded(err) {
		a.Missing, err = err.Error(), nil
	}
	return err
}

// selection says for each event whether its block is selected. It uses memory for the result if there is room.
type selection func(b *recording.Batch, memory []bool) []bool

// noBlocks returns a selection without blocks.
func noBlocks() selection {
	return func(b *recording.Batch, memory []bool) []bool {
		counts := boolsOf(len(b.Events), memory)
		clear(counts)
		return counts
	}
}

// boolsOf returns a slice of n arbitrary values, in memory if there is room.
func boolsOf(n int, memory []bool) []bool {
	if cap(memory) < n {
		return make([]bool, n)
	}
	return memory[:n]
}

// counter returns a selection for one goroutine.
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

// prepare determines, for a scan between two cuts, what one event of a block says about its other event: whether the
// lifetime is in the interval, whether realloc made it of a block that counts, and which function allocated it.
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
	if a.blocks != nil && a.blocks.made != nil {
		// What realloc made while events were folded cannot be told from the rest.
		detail, _ := a.Reader.DetailFrom()
		made := &reallocated{sizes: a.q.OldSizes, made: a.blocks.made}
		if err := a.scanAll(max(a.first, min(detail, to)), to, recording.Sizes, made.collect); err != nil {
			return err
		}
	}
	if a.q.By != ByAllocation || a.joined != nil {
		return nil
	}
	a.funcs = funcs{}
	return a.scanAll(a.first, to, 0, a.funcs.collect)
}

// labeler returns the groups of the blocks of a batch's events; 0 if blocks are not grouped. It uses memory for the
// result if there is room. Of an event without a block, the group may be any.
type labeler func(b *recording.Batch, memory []uint32) []uint32

// labeler returns a labeler of one block of events. It must be called for all of its batches, in order.
func (a *ask) labeler(b recording.Stretch) labeler {
	switch a.q.By {
	case ByThread:
		return labelThreads
	case BySizeClass:
		return labelSizes
	case ByAllocation:
		return a.funcs.labeler(b)
	case ByRegion, ByRegionName:
		regions := a.regions()
		return func(b *recording.Batch, memory []uint32) []uint32 {
			labels := labelsOf(b, memory)
			for i := range labels {
				if e := &b.Events[i]; e.Kind <= event.Free {
					labels[i] = regions.ofEvent(b.Refs[i], e)
				}
			}
			return labels
		}
	}
	return func(b *recording.Batch, memory []uint32) []uint32 {
		labels := labelsOf(b, memory)
		clear(labels)
		return labels
	}
}

// labelsOf returns a slice of an arbitrary value for each event, in memory if there is room.
func labelsOf(b *recording.Batch, memory []uint32) []uint32 {
	if n := len(b.Events); cap(memory) >= n {
		return memory[:n]
	}
	return make([]uint32, len(b.Events))
}

// labelThreads is the labeler of the threads that allocated the blocks.
func labelThreads(b *recording.Batch, memory []uint32) []uint32 {
	labels := labelsOf(b, memory)
	for i := range labels {
		if e := &b.Events[i]; e.Kind == event.Alloc {
			labels[i] = e.Thread
		} else {
			labels[i] = e.BornBy
		}
	}
	return labels
}

// labelSizes is the labeler of classes of sizes.
func labelSizes(b *recording.Batch, memory []uint32) []uint32 {
	labels := labelsOf(b, memory)
	for i := range labels {
		labels[i] = uint32(bits.Len64(b.Events[i].Size))
	}
	return labels
}
