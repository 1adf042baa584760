package query

import (
	"context"
	"errors"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// Events yields the events of the query's range that count, each with its number and the number of the allocation that
// it makes or ends (event.NoRef: neither). Events without a block (failed calls, mapping changes, deallocations that
// ended nothing) count if the query does not filter blocks and the event's call stack counts. An *event.Event is valid
// until yield returns.
func Events(ctx context.Context, s *Source, q *Query, yield func(n, ref uint64, e *event.Event) error) (*Answer,
	error) {
	one := *q
	one.By, one.Metrics, one.Rough = ByStack, []Metric{Bytes}, 0
	a, err := newAsk(ctx, s, &one)
	if err != nil {
		return nil, err
	}
	a.Plan = FromEvents
	if err := a.prepare(a.From, a.To); err != nil {
		return nil, err
	}
	selected := a.counter()
	var counts []bool
	return &a.Answer, a.each(a.From, a.To, func(b *recording.Batch) error {
		counts = selected(b, counts)
		for i := range b.Events {
			e, ref := &b.Events[i], b.Refs[i]
			if e.Kind > event.Free {
				ref, counts[i] = event.NoRef, a.blocks == nil && a.stacks.keep(e.Stack)
			}
			if !counts[i] {
				continue
			}
			if err := yield(b.First+uint64(i), ref, e); err != nil {
				return err
			}
		}
		return nil
	})
}

// progressEvery is the number of events between calls of Progress.
const progressEvery = 1 << 18

// each yields the events between two cuts in order, reports progress, and stops at the first error of yield. Damage
// ends it without an error and is noted in the answer. Folded events are an error, which says from when on there are
// events.
func (a *ask) each(from, to uint64, yield func(*recording.Batch) error) error {
	next := from // event at which progress is reported next
	var failed error
	err := a.Reader.Batches(a.ctx, from, to, func(b *recording.Batch) bool {
		if b.First >= next {
			next = b.First + progressEvery
			a.progress(b.First-from, to-from)
		}
		failed = yield(b)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return a.noteDamage(err, to-from)
}

// folded reports whether an error says that events were folded or merged, so that there are sums only.
func folded(err error) bool {
	var f *recording.FoldedError
	var m *recording.MergedError
	return errors.As(err, &f) || errors.As(err, &m)
}
