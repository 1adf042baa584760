package query

import (
	"context"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
)

// StackSeries tells how deep threads' stacks became over a range, in steps of equal time.
type StackSeries struct {
	Answer
	Times []int64       // at the end of each step, ns; the first is the beginning of the range
	Rows  []ThreadStack // the deepest first
	More  int           // threads that are left out
}

// ThreadStack is a thread's stack: the most up to each of Times, in bytes below its top. 0: unknown until then.
type ThreadStack struct {
	*profile.StackMemory
	Deepest []uint64 // at events
	Touched []uint64 // by any call
}

// DevelopStacks answers with the development of the top threads' stacks over n steps; top 0: all. Of the filters of q,
// those of the range and of threads count.
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
			if v > 0 { // pages are looked at now and then: what an event touched since is touched, too
				row.Touched[i] = max(v, row.Deepest[i])
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// upTo is the most of a measure up to each of the times.
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

// InRange are the readings of a thread's stack that a series has: those within its range, and the last ones before
// that.
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
