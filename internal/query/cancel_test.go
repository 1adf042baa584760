package query

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// TestCancelledAtOnce: each question that reads events reports progress while it does, and ends with the context's
// error as soon as that is cancelled: no block of events is counted any more.
func TestCancelledAtOnce(t *testing.T) {
	t.Parallel()
	s, events := random(t, 4, 4000)
	n := uint64(len(events))
	part := &Range{n / 4, 3 * n / 4}
	type progress func(done, of uint64)
	type question func(ctx context.Context, progress progress) error
	ask := func(f func(ctx context.Context, q *Query) error, q Query) question {
		return func(ctx context.Context, progress progress) error {
			q.Progress = progress
			return f(ctx, &q)
		}
	}
	flat := func(ctx context.Context, q *Query) error { _, err := Flat(ctx, s, q); return err }
	threads := func(ctx context.Context, q *Query) error { _, err := Threads(ctx, s, q); return err }
	matrix := func(ctx context.Context, q *Query) error { _, err := Cross(ctx, s, q); return err }
	histogram := func(ctx context.Context, q *Query) error { _, err := Distribute(ctx, s, q); return err }
	narrow := func(ctx context.Context, q *Query) error { _, err := Narrow(ctx, s, q); return err }
	for name, question := range map[string]question{
		"leaked of a range": ask(flat, Query{Range: part, Metrics: []Metric{Leaked}}),
		"own peak":          ask(flat, Query{Range: part, Metrics: []Metric{OwnPeak}}),
		"time":              ask(flat, Query{Metrics: []Metric{Time}}),
		"by thread":         ask(flat, Query{By: ByThread}),
		"by size":           ask(flat, Query{By: BySizeClass}),
		"by allocator":      ask(flat, Query{By: ByAllocation}),
		"lifetime":          ask(flat, Query{Lifetimes: &Interval{Max: 1000}}),
		"size":              ask(flat, Query{Sizes: &Interval{Max: 100}}),
		"threads":           ask(threads, Query{}),
		"matrix":            ask(matrix, Query{}),
		"histogram":         ask(histogram, Query{}),
		"narrow":            ask(narrow, Query{Range: part}),
		"series": ask(func(ctx context.Context, q *Query) error { _, err := Develop(ctx, s, q, 10, 3); return err },
			Query{By: ByThread}),
		"timeline": ask(func(ctx context.Context, q *Query) error {
			s.timeline = timetravel.Timeline{}
			_, err := Timeline(ctx, s, q, 10, false)
			return err
		}, Query{}),
		"events": ask(func(ctx context.Context, q *Query) error {
			_, err := Events(ctx, s, q, func(_, _ uint64, _ *event.Event) error { return nil })
			return err
		}, Query{}),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var calls atomic.Int32
		err := question(ctx, func(done, of uint64) {
			calls.Add(1)
			if done > of {
				t.Errorf("%s: %d of %d are done", name, done, of)
			}
			cancel()
		})
		cancel()
		// The latest call may be that of the end.
		if !errors.Is(err, context.Canceled) || calls.Load() == 0 || calls.Load() > 2 {
			t.Errorf("%s: %v, and %d reports of progress", name, err, calls.Load())
		}
		if err := question(ctx, func(_, _ uint64) { t.Errorf("%s: cancelled, and it began", name) }); !errors.Is(err,
			context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
