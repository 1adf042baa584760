package recording

import (
	"sort"

	"github.com/heaptap/heaptap/internal/event"
)

// Moments of a recording are cuts: a cut is a number of events, and separates the events before it from those after it.
// Cut 0 is the start; the peak of a Tally is reached at the cut Peak.Event.
//
// About events that were folded, there are answers at the cuts that Around returns; some methods say that they have
// more. Where there is no answer, the error is a *FoldedError.

// Cuts returns the cuts at which the recording's events begin and end. The first is above 0 if what was at the start is
// damaged.
func (r *Reader) Cuts() (first, last uint64) {
	if r.events.Len() == 0 {
		return 0, 0
	}
	h := r.events.Head(r.events.Len() - 1)
	return r.events.Head(0).FirstEvent, h.FirstEvent + h.Events
}

// CutAt returns the cut after all events up to and including time t, in ns. Where a block of events that was folded
// begins at that very unit of time, it is the cut before the block. With a *FoldedError comes a cut near it at which
// there are answers.
func (r *Reader) CutAt(t int64) (uint64, error) {
	if err := r.NeedEvents(); err != nil {
		return 0, err
	}
	if t < 0 || r.events.Len() == 0 {
		return 0, nil
	}
	u := uint64(t) / uint64(r.header.quantum)
	// The first block that ends later than t.
	i := sort.Search(r.events.Len(), func(i int) bool { return r.events.Head(i).End > u })
	if i == r.events.Len() {
		_, last := r.Cuts()
		return last, nil
	}
	h := r.events.Head(i)
	if h.Begin > u {
		return h.FirstEvent, nil
	}
	if r.events.Folded(i) {
		if h.Begin == u {
			return h.FirstEvent, nil
		}
		in := h.FirstEvent + h.Events/2
		before, _ := r.Around(in)
		return before, r.events.FoldedError(in)
	}
	times, err := r.events.times(i)
	if err != nil {
		return h.FirstEvent, err
	}
	return h.FirstEvent + uint64(times.UpTo(u-h.Begin)), nil
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
	i := r.events.At(cut)
	if cut == 0 || r.events.Len() == 0 {
		return 0, nil
	}
	if r.stored != nil && r.stored.Totals.Peak.Event == cut {
		return r.stored.Totals.Peak.Time, nil
	}
	if i < r.events.Len() && r.events.Head(i).FirstEvent < cut {
		h := r.events.Head(i)
		times, err := r.events.times(i)
		if err != nil {
			return 0, err
		}
		return r.ns(h.Begin + times.At(int(cut-h.FirstEvent)-1)), nil
	}
	return r.events.endBefore(cut), nil
}

// AllocsBefore is how many allocations are before a cut, and so the number of the next one.
func (r *Reader) AllocsBefore(cut uint64) (uint64, error) {
	i := r.events.At(cut)
	if i == r.events.Len() {
		if i == 0 {
			return 0, nil
		}
		h := r.events.Head(i - 1)
		return h.FirstAlloc + h.Allocs, nil
	}
	before := r.events.Head(i).FirstAlloc
	if r.events.Head(i).FirstEvent >= cut {
		return before, nil
	}
	err := r.events.Decode(i, 0, func(n, ref uint64, e *event.Event) bool {
		if e.Kind == event.Alloc {
			before = ref + 1
		}
		return n+1 < cut
	})
	return before, err
}

// DetailFrom returns the first cut from which on all events are there, and the time of the event before it in ns: 0 and
// 0 if nothing was folded.
func (r *Reader) DetailFrom() (cut uint64, time int64) { return r.events.DetailFrom() }

// Around returns the nearest cuts at or before and at or after a cut at which there are answers.
func (r *Reader) Around(cut uint64) (before, after uint64) { return r.events.Around(cut) }
