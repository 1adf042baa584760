package query

import (
	"context"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// LogWalk goes through the log part by part, so that memory does not grow with the number of events; backwards, with
// their limit.
type LogWalk struct {
	From    uint64 // the events from here on are looked at
	Missing string // what is damaged, and left out; "": nothing so far

	ask    func(at uint64, most int) (*Log, error)
	limit  int
	before bool
	parts  []*Log // that were asked for before Each, in order
}

// WalkLog begins a walk of the events that ReadLog would have, in order: at most limit, 0: all. Backwards, the limit
// must not be 0.
func WalkLog(ctx context.Context, s *Source, q *Query, c LogChoice, limit int) (*LogWalk, error) {
	w := &LogWalk{limit: limit, before: c.Before}
	w.ask = func(at uint64, most int) (*Log, error) {
		c.At, c.Most = at, most
		l, err := ReadLog(ctx, s, q, c)
		if err == nil && w.Missing == "" {
			w.Missing = l.Missing
		}
		return l, err
	}
	for at, found := c.At, 0; ; {
		l, err := w.ask(at, w.most(found))
		if err != nil {
			return nil, err
		}
		w.parts = append(w.parts, l)
		w.From, at = l.First, l.First
		if found += len(l.Events); !c.Before || at <= l.Begin || found >= limit {
			break
		}
	}
	slices.Reverse(w.parts)
	return w, nil
}

// most is how many events the next part shall have.
func (w *LogWalk) most(found int) int {
	if w.limit == 0 {
		return recording.BlockEvents
	}
	return min(recording.BlockEvents, w.limit-found)
}

// Each yields the events with their numbers and those of the allocations that they make or end, until yield returns
// false. It returns the number of the event before which all were looked at.
func (w *LogWalk) Each(yield func(n, ref uint64, e *event.Event) bool) (to uint64, err error) {
	for found := 0; ; {
		for _, l := range w.parts {
			for i := range l.Events {
				if e := &l.Events[i]; !yield(e.Number, e.Ref, &e.Event) {
					return e.Number, nil
				}
			}
			found += len(l.Events)
			to = l.Next
		}
		last := w.parts[len(w.parts)-1]
		if w.before || to >= last.End || w.limit > 0 && found >= w.limit {
			return to, nil
		}
		l, err := w.ask(to, w.most(found))
		if err != nil {
			return to, err
		}
		w.parts = []*Log{l}
	}
}
