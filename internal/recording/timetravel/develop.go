package timetravel

import (
	"context"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/block"
)

// Level is what was live at a cut, and before it.
type Level struct {
	Cut    uint64
	Time   int64  // of the last event before the cut, ns
	Bytes  uint64 // live at the cut
	Blocks uint64
	Top    uint64 // most bytes that were live since the Level before
}

// Levels returns how much was live between two cuts, at about n steps with as many events in each. If there are enough
// blocks of events, each step is one or more of them, and nothing is decoded: their heads are enough. Of events that
// were folded, the heads are always used.
func Levels(ctx context.Context, r *recording.Reader, from, to uint64, n int) ([]Level, error) {
	if err := r.NeedEvents(); err != nil {
		return nil, err
	}
	blocks := r.EventBlocks()
	first, end := blocks.At(from), blocks.At(to)
	var list []Level
	if end-first >= n {
		step := max(1, (end-first)/max(n, 1))
		for i := first; i < end; i += step {
			list = append(list, levelOf(r, i, min(i+step, end)))
		}
		return list, nil
	}
	for ; first < end && blocks.Folded(first); first++ {
		list = append(list, levelOf(r, first, first+1))
		from = list[len(list)-1].Cut
	}
	if from >= to || first == blocks.Len() || blocks.Folded(first) {
		return list, nil
	}
	step := max(1, (to-from+uint64(max(n, 1))-1)/uint64(max(n, 1)))
	h := blocks.Head(first)
	live, count := h.Live, h.LiveCount
	l := Level{}
	err := r.EventsBetween(ctx, h.FirstEvent, to, func(k, _ uint64, e *event.Event) bool {
		weight, _ := e.Weight()
		switch e.Kind {
		case event.Alloc:
			count += int64(weight)
		case event.Free:
			count -= int64(weight)
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

// levelOf returns the Level at the end of some blocks of events in a row.
func levelOf(r *recording.Reader, i, end int) (l Level) {
	blocks := r.EventBlocks()
	for ; i < end; i++ {
		h := blocks.Head(i)
		l.Top = max(l.Top, uint64(max(h.Peak, h.Live)))
		l.Cut, l.Time = blocks.Cut(i), blocks.End(i)
	}
	if i < blocks.Len() {
		l.Bytes, l.Blocks = uint64(blocks.Head(i).Live), uint64(blocks.Head(i).LiveCount)
	} else if sum, err := r.Tally(); err == nil {
		l.Bytes, l.Blocks = sum.Totals.LiveBytes, sum.Totals.LiveBlocks
	}
	return l
}

// Series passes to take how what is live at each stack developed between two cuts. First take gets from, and what is
// live there; then, about n times, a later cut, and what happened since the one before. Series reads summaries where
// there are enough of them, else events.
func Series(ctx context.Context, r *recording.Reader, from, to uint64, n int,
	take func(cut uint64, list []recording.Change)) error {
	before, err := Changes(ctx, r, 0, from)
	if err != nil {
		return err
	}
	if err := haveAnswers(r, to); err != nil {
		return err
	}
	take(from, before.List())
	blocks := r.EventBlocks()
	first, end := blocks.At(from), blocks.At(to)
	n = max(n, 1)
	if end-first >= n {
		// The largest parts of which there are enough.
		fan := 1
		for (end-first)/(fan*block.Fan) >= n {
			fan *= block.Fan
		}
		return seriesOfParts(ctx, r, from, to, fan, take)
	}
	if detail, _ := r.DetailFrom(); from < detail {
		detail = min(detail, to)
		if err := seriesOfParts(ctx, r, from, detail, 1, take); err != nil {
			return err
		}
		from = detail
	}
	var sum recording.Changes
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

// seriesOfParts is Series in steps of fan blocks of events, or of as many as were folded into one summary.
func seriesOfParts(ctx context.Context, r *recording.Reader, from, to uint64, fan int,
	take func(cut uint64, list []recording.Change)) error {
	blocks := r.EventBlocks()
	var list []part
	var stops []uint64
	for at := from; at < to; {
		i := blocks.At(at)
		stop := to
		if j := (i/fan + 1) * fan; j < blocks.Len() {
			_, stop = r.Around(min(stop, blocks.Head(j).FirstEvent))
		}
		if stop <= at {
			break
		}
		list = append(list, divide(blocks, at, stop)...)
		stops = append(stops, stop)
		at = stop
	}
	var sum recording.Changes
	return collect(ctx, blocks, list, func(p *part, changes []recording.Change) {
		for i := range changes {
			sum.Add(&changes[i])
		}
		var cut uint64
		if p.isSummary() {
			cut = p.summary.FirstEvent + p.summary.Events
		} else {
			cut = blocks.Head(p.block).FirstEvent + p.to
		}
		if cut >= stops[0] {
			take(cut, sum.List())
			sum.Reset()
			stops = stops[1:]
		}
	})
}
