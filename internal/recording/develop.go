package recording

import (
	"context"
	"math"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/block"
)

// PeakBetween returns the largest number of bytes that were live at any moment between two cuts, the ends included, and
// the first cut at which they were. The cuts may be at the ends of any block of events that was folded. If the moment
// is in such a block, and is not the peak of the whole recording, the bytes come with the cut at the block's end and a
// *FoldedError.
func (r *Reader) PeakBetween(ctx context.Context, from, to uint64) (bytes, cut uint64, err error) {
	if err := r.hasEvents(); err != nil {
		return 0, 0, err
	}
	if i := r.blockOf(from); from >= to && (i == len(r.events) || r.events[i].head.FirstEvent >= from) {
		if i < len(r.events) {
			return uint64(max(r.events[i].head.Live, 0)), from, nil
		}
		sum, err := r.Tally()
		if err != nil {
			return 0, 0, err
		}
		return sum.Totals.LiveBytes, from, nil
	}
	best, at := int64(-1), uint64(0)
	exact := true
	where := 0
	for i := r.blockOf(from); i < len(r.events) && r.events[i].head.FirstEvent < to; i++ {
		h := &r.events[i].head
		if from <= h.FirstEvent && h.FirstEvent+h.Events <= to {
			// Whole: its head knows the peak, and only if it is the largest is the moment looked for.
			if h.Live > best {
				best, at, exact = h.Live, h.FirstEvent, true
			}
			if h.Peak > best {
				best, where, exact = h.Peak, i, false
			}
			continue
		}
		live, n := h.Live, h.FirstEvent
		if n >= from && live > best {
			best, at, exact = live, n, true
		}
		err = r.decodeBlock(i, Sizes, func(_, _ uint64, e *event.Event) bool {
			n++
			live += block.Delta(e)
			if n >= from && live > best {
				best, at, exact = live, n, true
			}
			return n < to
		})
		if err != nil {
			return 0, 0, err
		}
		if err = ctx.Err(); err != nil {
			return 0, 0, err
		}
	}
	if !exact && r.stored != nil {
		// What the whole recording's peak is, its statistics know.
		if p := &r.stored.Totals.Peak; p.Bytes == uint64(best) && from <= p.Event && p.Event <= to {
			return p.Bytes, p.Event, nil
		}
	}
	if !exact {
		h := &r.events[where].head
		if r.folded(&r.events[where]) {
			cut := h.FirstEvent + h.Events
			return uint64(best), cut, r.foldedError(math.MaxUint64)
		}
		live, n := h.Live, h.FirstEvent
		err = r.decodeBlock(where, Sizes, func(_, _ uint64, e *event.Event) bool {
			n++
			live += block.Delta(e)
			at = n
			return live < best
		})
	}
	return uint64(max(best, 0)), at, err
}

// Level is what was live around a moment.
type Level struct {
	Cut    uint64 // at its end
	Time   int64  // of the last event before the cut, ns
	Bytes  uint64 // live at the cut
	Blocks uint64
	Top    uint64 // most bytes that were live since the Level before
}

// Levels tells how what is live developed between two cuts, in about n steps, as many events in each. If there are
// enough blocks of events, their heads tell and nothing is decoded; then the steps are blocks or several of them. Of
// events that were folded, the heads tell always.
func (r *Reader) Levels(ctx context.Context, from, to uint64, n int) ([]Level, error) {
	if err := r.hasEvents(); err != nil {
		return nil, err
	}
	first, end := r.blockOf(from), r.blockOf(to)
	var list []Level
	if end-first >= n {
		step := max(1, (end-first)/max(n, 1))
		for i := first; i < end; i += step {
			list = append(list, r.level(i, min(i+step, end)))
		}
		return list, nil
	}
	for ; first < end && r.folded(&r.events[first]); first++ {
		list = append(list, r.level(first, first+1))
		from = list[len(list)-1].Cut
	}
	if from >= to || first == len(r.events) || r.folded(&r.events[first]) {
		return list, nil
	}
	step := max(1, (to-from+uint64(max(n, 1))-1)/uint64(max(n, 1)))
	h := &r.events[first].head
	live, count := h.Live, h.LiveCount
	l := Level{}
	err := r.EventsBetween(ctx, h.FirstEvent, to, func(k, _ uint64, e *event.Event) bool {
		blocks, _ := e.Weight()
		switch e.Kind {
		case event.Alloc:
			count += int64(blocks)
		case event.Free:
			count -= int64(blocks)
		}
		live += block.Delta(e)
		if k < from {
			return true
		}
		l.Top = max(l.Top, uint64(live))
		l.Cut, l.Time, l.Bytes, l.Blocks = k+1, e.Time, uint64(live), uint64(count)
		if (k+1-from)%step == 0 || k+1 == to {
			list = append(list, l)
			l = Level{}
		}
		return true
	})
	if l.Cut != 0 {
		list = append(list, l)
	}
	return list, err
}

// level tells of the blocks of events from one up to another.
func (r *Reader) level(i, end int) (l Level) {
	for ; i < end; i++ {
		h := &r.events[i].head
		l.Top = max(l.Top, uint64(max(h.Peak, h.Live)))
		l.Cut, l.Time = h.FirstEvent+h.Events, int64(h.End)*int64(r.header.quantum)
	}
	if i < len(r.events) {
		l.Bytes, l.Blocks = uint64(r.events[i].head.Live), uint64(r.events[i].head.LiveCount)
	} else if sum, err := r.Tally(); err == nil {
		l.Bytes, l.Blocks = sum.Totals.LiveBytes, sum.Totals.LiveBlocks
	}
	return l
}

// Series tells how what is live at each stack developed between two cuts: take gets, about n times, a cut, and what
// happened since the one before; first, at from, what is live there. It reads summaries where there are enough of them,
// else events.
func (r *Reader) Series(ctx context.Context, from, to uint64, n int, take func(cut uint64, list []Change)) error {
	before, err := r.Changes(ctx, 0, from)
	if err != nil {
		return err
	}
	if err := r.answers(to); err != nil {
		return err
	}
	take(from, before.List())
	first, end := r.blockOf(from), r.blockOf(to)
	n = max(n, 1)
	if end-first >= n {
		// The coarsest parts of which there are enough.
		fan := 1
		for (end-first)/(fan*block.Fan) >= n {
			fan *= block.Fan
		}
		return r.seriesOfParts(ctx, from, to, fan, take)
	}
	if detail, _ := r.DetailFrom(); from < detail {
		detail = min(detail, to)
		if err := r.seriesOfParts(ctx, from, detail, 1, take); err != nil {
			return err
		}
		from = detail
	}
	var sum Changes
	step := max(1, (to-from+uint64(n)-1)/uint64(n))
	return r.EventsBetween(ctx, from, to, func(k, _ uint64, e *event.Event) bool {
		sum.AddEvent(e)
		if (k+1-from)%step == 0 || k+1 == to {
			take(k+1, sum.List())
			sum.Reset()
		}
		return true
	})
}

// seriesOfParts is Series in steps of as many blocks of events as fan says, or of as many as were folded into one
// summary.
func (r *Reader) seriesOfParts(ctx context.Context, from, to uint64, fan int,
	take func(cut uint64, list []Change)) error {
	var list []part
	var stops []uint64
	for at := from; at < to; {
		i := r.blockOf(at)
		stop := to
		if j := (i/fan + 1) * fan; j < len(r.events) {
			_, stop = r.Around(min(stop, r.events[j].head.FirstEvent))
		}
		if stop <= at {
			break
		}
		list = append(list, r.parts(at, stop)...)
		stops = append(stops, stop)
		at = stop
	}
	var sum Changes
	return r.collect(ctx, list, func(p part, changes []Change) {
		for i := range changes {
			sum.Add(&changes[i])
		}
		var cut uint64
		if p.summary != nil {
			cut = p.summary.sum.FirstEvent + p.summary.sum.Events
		} else {
			cut = r.events[p.block].head.FirstEvent + p.to
		}
		if cut >= stops[0] {
			take(cut, sum.List())
			sum.Reset()
			stops = stops[1:]
		}
	})
}
