package recording

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/block"
)

// Moments of a recording are cuts: a cut is a number of events, and what it separates are the events before it from
// those after it. Cut 0 is the start; the peak of a Tally is reached at the cut Peak.Event. Questions between two cuts
// read a few summaries and decode two blocks of events at most, however long the recording is.
//
// About events that were folded there are answers at the cuts that Around tells, and what is more is said where it is
// told. Where there is no answer, the error is a *FoldedError.

// Cuts returns the cuts at which the recording's events begin and end. The first is above 0 if what was at the start is
// damaged.
func (r *Reader) Cuts() (first, last uint64) {
	if len(r.events) == 0 {
		return 0, 0
	}
	h := &r.events[len(r.events)-1].head
	return r.events[0].head.FirstEvent, h.FirstEvent + h.Events
}

// CutAt returns the cut after all events up to and including time t, in ns. Where a block of events that was folded
// begins at that very unit of time, it is the cut before the block. With a *FoldedError comes a cut near it at which
// there are answers.
func (r *Reader) CutAt(t int64) (uint64, error) {
	if err := r.hasEvents(); err != nil {
		return 0, err
	}
	if t < 0 || len(r.events) == 0 {
		return 0, nil
	}
	u := uint64(t) / uint64(r.header.quantum)
	// The first block that ends later than t.
	i := sort.Search(len(r.events), func(i int) bool { return r.events[i].head.End > u })
	if i == len(r.events) {
		_, last := r.Cuts()
		return last, nil
	}
	h := &r.events[i].head
	if h.Begin > u {
		return h.FirstEvent, nil
	}
	if r.folded(&r.events[i]) {
		if h.Begin == u {
			return h.FirstEvent, nil
		}
		in := h.FirstEvent + h.Events/2
		before, _ := r.Around(in)
		return before, r.foldedError(in)
	}
	cut := h.FirstEvent
	err := r.blockTimes(i, func(n, time uint64) bool {
		if time > u {
			return false
		}
		cut = n + 1
		return true
	})
	return cut, err
}

// MarkCut returns the cut at a mark. Where events around it were folded, a *FoldedError comes with a cut near it at
// which there are answers.
func (r *Reader) MarkCut(m *event.Mark) (uint64, error) {
	first, last := r.Cuts()
	if from, _ := r.DetailFrom(); m.Cut != event.NoCut && m.Cut >= from {
		return min(max(m.Cut, first), last), nil
	}
	return r.CutAt(m.Time)
}

// TimeAt returns the time of the last event before a cut, in ns; 0 if there is none.
func (r *Reader) TimeAt(cut uint64) (int64, error) {
	i := r.blockOf(cut)
	if cut == 0 || len(r.events) == 0 {
		return 0, nil
	}
	if sum, ok := r.peakAt(cut); ok {
		return sum.Totals.Peak.Time, nil
	}
	if i < len(r.events) && r.events[i].head.FirstEvent < cut {
		var t uint64
		err := r.blockTimes(i, func(n, time uint64) bool {
			t = time
			return n+1 < cut
		})
		return int64(t) * int64(r.header.quantum), err
	}
	return r.endBefore(cut), nil
}

// AllocsBefore is how many allocations are before a cut, and so the number of the next one.
func (r *Reader) AllocsBefore(cut uint64) (uint64, error) {
	i := r.blockOf(cut)
	if i == len(r.events) {
		if i == 0 {
			return 0, nil
		}
		h := &r.events[i-1].head
		return h.FirstAlloc + h.Allocs, nil
	}
	before := r.events[i].head.FirstAlloc
	if r.events[i].head.FirstEvent >= cut {
		return before, nil
	}
	err := r.decodeBlock(i, 0, func(n, ref uint64, e *event.Event) bool {
		if e.Kind == event.Alloc {
			before = ref + 1
		}
		return n+1 < cut
	})
	return before, err
}

// blockOf returns the first events block that ends after a cut: the cut is in it or before it.
func (r *Reader) blockOf(cut uint64) int {
	return sort.Search(len(r.events), func(i int) bool {
		return r.events[i].head.FirstEvent+r.events[i].head.Events > cut
	})
}

// decodeBlock yields the events of one block, with those fields, until yield returns false.
func (r *Reader) decodeBlock(i int, f Fields, yield func(n, ref uint64, e *event.Event) bool) error {
	d := r.decoder()
	defer r.decoders.Put(d)
	d.Wanted = f
	_, err := r.decodeWith(d, i, block.OneByOne(yield))
	return err
}

// decodeWith returns what yield returned last.
func (r *Reader) decodeWith(d *block.Decoder, i int, yield block.Yield) (more bool, err error) {
	more = true
	err = r.openBlock(d, i, func() error {
		var err error
		more, err = d.Decode(yield)
		return err
	})
	return more || err != nil, err
}

// blockTimes yields the numbers and the times, in units, of the events of one block until yield returns false.
func (r *Reader) blockTimes(i int, yield func(n, time uint64) bool) error {
	d := r.decoder()
	defer r.decoders.Put(d)
	return r.openBlock(d, i, func() error { return d.EventTimes(yield) })
}

// openBlock reads a block of events for something to be decoded of it.
func (r *Reader) openBlock(d *block.Decoder, i int, decode func() error) error {
	b := &r.events[i]
	if r.folded(b) {
		return r.foldedError(math.MaxUint64)
	}
	p, err := r.payload(b.header, d.Buf)
	if err == nil {
		d.Buf = p
		if err = d.Open(p); err == nil {
			if d.Head != b.head {
				err = errors.New("its head is not the one that the index has")
			} else {
				err = decode()
			}
		}
	}
	if err != nil {
		return fmt.Errorf("%s: the block of events at offset %d: %w", r.name, b.offset, err)
	}
	return nil
}

func (r *Reader) decoder() *block.Decoder {
	d, ok := r.decoders.Get().(*block.Decoder)
	if !ok {
		d = &block.Decoder{Quantum: int64(r.header.quantum), MaxTime: math.MaxInt64 / uint64(r.header.quantum),
			Known: r.known}
	}
	d.ThreadCount, d.Sampling, d.Stopped, d.Wanted = len(r.threads), r.process.Sampling, nil, AllFields
	return d
}

// EventsBetween yields the events between two cuts, in order, until yield returns false, each with its number, counting
// from 0, and that of the allocation that it makes or ends (event.NoRef: neither). The event that yield gets is used
// again for another one. A block that is damaged ends it.
func (r *Reader) EventsBetween(ctx context.Context, from, to uint64,
	yield func(n, ref uint64, e *event.Event) bool) error {
	return r.Batches(ctx, from, to, block.OneByOne(yield))
}

// Batches is EventsBetween for who goes through many events: it yields them in batches.
func (r *Reader) Batches(ctx context.Context, from, to uint64, yield func(*Batch) bool) error {
	if err := r.hasEvents(); err != nil {
		return err
	}
	d := r.decoder()
	defer r.decoders.Put(d)
	for i := r.blockOf(from); i < len(r.events) && r.events[i].head.FirstEvent < to; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		more, err := r.decodeWith(d, i, block.Between(&r.events[i].head, from, to, yield))
		if err != nil || !more {
			return err
		}
	}
	return nil
}
