package query

import (
	"context"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
)

// StackSeries says how deep threads' stacks became over a range, in steps of equal time.
type StackSeries struct {
	Answer
	Times []int64       // at the end of each step, ns; the first is the beginning of the range
	Rows  []ThreadStack // the deepest first
	More  int           // number of threads that are left out
}

// ThreadStack is the depth of a thread's stack: the maximum up to each of Times, in bytes below its top. 0: not known
// yet.
type ThreadStack struct {
	*profile.StackMemory
	Deepest []uint64 // at events
	Touched []uint64 // by any call
}

// DevelopStacks answers with the development of the top threads' stacks over n steps; top 0: all threads. Of the
// filters of q, only range and threads apply.
func DevelopStacks(ctx context.Context, s *Source, q *Query, n, top int) (*StackSeries, error) {
	a, err := newAsk(ctx, s, &Query{Range: q.Range})
	if err != nil {
		return nil, err
	}
	var steps Series
	n = max(n, 1)
	a.times(&steps, n)
	out := &StackSeries{Answer: a.Answer, Times: steps.Times}
	for i := range s.Profile.StackMemory {
		m := &s.Profile.StackMemory[i]
		if q.Threads != nil && !slices.Contains(q.Threads, m.Thread) {
			continue
		}
		if top > 0 && len(out.Rows) == top {
			out.More++
			continue
		}
		row := ThreadStack{m, upTo(m.Growth, event.StackDeepest, out.Times),
			upTo(m.Growth, event.StackTouched, out.Times)}
		for i, v := range row.Touched {
			if v > 0 { // pages are read only now and then: what an event reached since is touched, too
				row.Touched[i] = max(v, row.Deepest[i])
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// upTo returns the maximum of a measure up to each of the times.
func upTo(growth []event.StackUse, measure event.StackMeasure, times []int64) []uint64 {
	list := make([]uint64, len(times))
	for _, u := range growth {
		if u.Measure != measure {
			continue
		}
		for i, t := range times {
			if u.Time <= t {
				list[i] = max(list[i], u.Bytes)
			}
		}
	}
	return list
}

// InRange returns the readings of a thread's stack that belong to a series: those within its range, and the last ones
// before it.
func (t *StackSeries) InRange(r *ThreadStack) []event.StackUse {
	var before, list []event.StackUse
	for _, u := range r.Growth {
		switch {
		case u.Time > t.Begin+t.Span:
		case u.Time > t.Begin:
			list = append(list, u)
		default:
			before = slices.DeleteFunc(before, func(o event.StackUse) bool { return o.Measure == u.Measure })
			before = append(before, u)
		}
	}
	return append(before, list...)
}
