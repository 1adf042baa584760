package query

import (
	"errors"
	"math/bits"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// progressEvery is after how many events Progress is called.
const progressEvery = 1 << 18

// each yields the events between two cuts, with progress. Damage ends it and is kept for the answer. Events that were folded are
// an error: it says from when on there are events.
func (a *ask) each(from, to uint64, yield func(n uint64, e *event.Event)) error {
	left := 0
	err := a.Reader.EventsBetween(a.ctx, from, to, func(n uint64, e *event.Event) bool {
		if left == 0 {
			left = progressEvery
			if a.q.Progress != nil {
				a.q.Progress(n-from, to-from)
			}
		}
		left--
		yield(n, e)
		return true
	})
	if a.q.Progress != nil {
		a.q.Progress(to-from, to-from)
	}
	if err != nil && a.ctx.Err() == nil && !folded(err) {
		a.Missing, err = err.Error(), nil
	}
	return err
}

// folded reports whether an error says that events were folded, or merged: there are sums only.
func folded(err error) bool {
	var f *recording.FoldedError
	var m *recording.MergedError
	return errors.As(err, &f) || errors.As(err, &m)
}

// blocksBetween yields the allocations and deallocations between two cuts of the blocks that count, each with the label of its
// block and the allocation's number. It goes over the events twice if lifetimes count.
func (a *ask) blocksBetween(from, to uint64, yield func(n uint64, e *event.Event, label uint32, ref uint64)) error {
	if a.q.By == ByAllocation {
		from = a.first // only the allocation tells by which function it was made
		a.allocFunc = funcs{}
	}
	if a.blocks != nil && a.blocks.marked != nil {
		if err := a.each(from, a.last, func(_ uint64, e *event.Event) { a.blocks.see(e) }); err != nil {
			return err
		}
	}
	ref, err := a.allocationsBefore(from)
	if err != nil {
		return err
	}
	return a.each(from, to, func(n uint64, e *event.Event) {
		if a.every != nil {
			a.every(n, e)
		}
		switch e.Kind {
		case event.Alloc:
			if a.counts(e, ref) {
				yield(n, e, a.label(e, ref), ref)
			}
			ref++
		case event.Free:
			if a.counts(e, e.Ref) {
				yield(n, e, a.label(e, e.Ref), e.Ref)
			}
		}
	})
}

// allocationsBefore is the number of allocations before a cut, and so that of the first one after it.
func (a *ask) allocationsBefore(cut uint64) (uint64, error) {
	if cut == 0 {
		return 0, nil
	}
	changes, err := a.Reader.Changes(a.ctx, 0, cut)
	n := uint64(0)
	for _, c := range changes.List() {
		n += c.Allocs
	}
	return n, err
}

// counts reports whether the block of an event is selected.
func (a *ask) counts(e *event.Event, ref uint64) bool {
	if !a.stacks.keep(e.Stack) {
		return false
	}
	switch {
	case a.blocks == nil:
		return true
	case e.Kind == event.Alloc:
		return a.blocks.alloc(e, ref)
	}
	return a.blocks.free(e)
}

// label is the group of an event's block, 0 if it is not blocks that are grouped.
func (a *ask) label(e *event.Event, ref uint64) uint32 {
	switch a.q.By {
	case ByThread:
		if e.Kind == event.Alloc {
			return e.Thread
		}
		return e.BornBy
	case BySizeClass:
		return uint32(bits.Len64(e.Size))
	case ByAllocation:
		if e.Kind == event.Alloc {
			a.allocFunc.set(ref, e.Func)
			return uint32(e.Func)
		}
		return uint32(a.allocFunc.take(ref))
	}
	return 0
}

// fromEvents counts the events.
func (a *ask) fromEvents(c *cells) error {
	begin, end := a.From, a.To
	if a.perBlock {
		for metric, cut := range map[Metric]uint64{Live: a.At, LiveBlocks: a.At, Peak: a.PeakAt, PeakBlocks: a.PeakAt} {
			if a.q.wants(metric) {
				begin, end = a.first, max(end, cut)
			}
		}
	}
	live, peak, leaked := a.q.wants(Live, LiveBlocks), a.q.wants(Peak, PeakBlocks), a.q.wants(Leaked, LeakedBlocks)
	if a.ownPeaks {
		if err := a.addLive(c); err != nil {
			return err
		}
	}
	if leaked {
		end = a.last
	}
	refFrom, err := a.allocationsBefore(a.From)
	if err != nil {
		return err
	}
	refTo, err := a.allocationsBefore(a.To)
	if err != nil {
		return err
	}
	t := newTimer(a)
	r := reallocs{old: make(map[uint32]uint64)}
	ofThreads := a.q.wants(Time, Copied)
	// What a thread did before counts whether or not it is selected. If all events of the range, and no others, are gone through
	// anyhow, that is found on the way.
	var time, copied uint64 // of the event
	onTheWay := ofThreads && begin == a.From && end == a.To && a.q.By != ByAllocation
	if onTheWay {
		if err := a.beganBefore(&r); err != nil {
			return err
		}
		a.every = func(_ uint64, e *event.Event) { time, copied = t.passed(e), r.copied(e) }
		defer func() { a.every = nil }()
	}
	err = a.blocksBetween(begin, end, func(n uint64, e *event.Event, label uint32, ref uint64) {
		v := &c.at(a.stack(e), label).Values
		born := e.Kind == event.Alloc
		if a.From <= n && n < a.To {
			if born {
				v.alloc(e)
				if onTheWay {
					v.Time += time
					v.Copied += copied
				}
			} else {
				v.free(e)
			}
		}
		if a.perBlock {
			if live && n < a.At {
				move(&v.LiveBytes, &v.LiveBlocks, e)
			}
			if peak && n < a.PeakAt {
				move(&v.PeakBytes, &v.PeakBlocks, e)
			}
		}
		if leaked && n >= a.From && refFrom <= ref && ref < refTo {
			move(&v.LeakedBytes, &v.LeakedBlocks, e)
		}
	})
	if err != nil || !ofThreads || onTheWay {
		return err
	}
	return a.threads(c, t, &r)
}

// addLive opens the cells of what is live when the range begins: it counts in own peaks, though nothing may happen to it.
func (a *ask) addLive(c *cells) error {
	if a.perBlock {
		return a.blocksBetween(a.first, a.From, func(_ uint64, e *event.Event, label uint32, _ uint64) { c.at(a.stack(e), label) })
	}
	list, err := a.Reader.LiveAt(a.ctx, a.From)
	for _, l := range list {
		c.at(l.Stack, 0)
	}
	return err
}

// beganBefore takes note of reallocs that may have begun before the range.
func (a *ask) beganBefore(r *reallocs) error {
	if !a.q.wants(Copied) || a.From == a.first {
		return nil
	}
	return a.each(a.first, a.From, func(_ uint64, e *event.Event) { r.copied(e) })
}

// threads adds what depends on a thread's events before: time, and what reallocations copied. It goes over the range once more.
func (a *ask) threads(c *cells, t *timer, r *reallocs) error {
	from := a.From
	if err := a.beganBefore(r); err != nil {
		return err
	}
	ref, err := a.allocationsBefore(from)
	if err != nil {
		return err
	}
	return a.each(from, a.To, func(_ uint64, e *event.Event) {
		copied := r.copied(e)
		time := t.passed(e)
		if e.Kind != event.Alloc {
			return
		}
		if a.counts(e, ref) {
			v := &c.at(a.stack(e), a.allocLabel(e)).Values
			v.Time += time
			v.Copied += copied
		}
		ref++
	})
}

// allocLabel is label for an allocation, without taking note of it.
func (a *ask) allocLabel(e *event.Event) uint32 {
	if a.q.By == ByAllocation {
		return uint32(e.Func)
	}
	return a.label(e, 0)
}

func (v *Values) alloc(e *event.Event) {
	if v.Allocations == 0 || e.Size < v.MinSize {
		v.MinSize = e.Size
	}
	v.MaxSize = max(v.MaxSize, e.Size)
	v.Allocations++
	v.Bytes += e.Size
	if e.Size == 0 {
		v.ZeroSize++
	}
	if e.Flags&event.Realloc != 0 {
		v.Reallocations++
		if e.Flags&event.InPlace != 0 {
			v.InPlace++
		}
	}
	if e.Flags&event.HasUsable != 0 && e.Usable >= e.Size {
		v.Slack += e.Usable - e.Size
		v.SlackCount++
	}
}

func (v *Values) free(e *event.Event) {
	age := lifetime(e)
	if v.Deallocations == 0 || age < v.MinLifetime {
		v.MinLifetime = age
	}
	v.MaxLifetime = max(v.MaxLifetime, age)
	v.Deallocations++
	v.FreedBytes += e.Size
	if e.Flags&event.Temporary != 0 {
		v.Temporary++
		v.TemporaryBytes += e.Size
	}
	var carry uint64
	v.Lifetime.Lo, carry = bits.Add64(v.Lifetime.Lo, age, 0)
	v.Lifetime.Hi += carry
}

// move adds a block to what is live, or takes it away.
func move(bytes, blocks *uint64, e *event.Event) {
	if e.Kind == event.Alloc {
		*bytes += e.Size
		*blocks++
		return
	}
	*bytes -= e.Size
	*blocks--
}

// reallocs tells how much a reallocation copied: its deallocation comes before its allocation.
type reallocs struct{ old map[uint32]uint64 } // by thread: size of the block that it is giving a new form

func (r *reallocs) copied(e *event.Event) uint64 {
	if e.Flags&event.Realloc == 0 {
		return 0
	}
	switch e.Kind {
	case event.Free:
		r.old[e.Thread] = e.Size
	case event.Alloc:
		old := r.old[e.Thread]
		delete(r.old, e.Thread)
		if e.Flags&event.InPlace == 0 {
			return min(old, e.Size)
		}
	}
	return 0
}
