package query

import (
	"context"
	"errors"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// Events yields the events of the query's range that count, each with its number, and the number of the allocation that it makes or
// ends (event.NoRef: neither). What belongs to no block (failed calls, mapping changes, deallocations that ended nothing) counts if no
// blocks are filtered, and is of a call stack that counts. An *event.Event is valid until yield returns.
func Events(ctx context.Context, s *Source, q *Query, yield func(n, ref uint64, e *event.Event) error) (*Answer, error) {
	one := *q
	one.By, one.Metrics = ByStack, []Metric{Bytes}
	a, err := newAsk(ctx, s, &one)
	if err != nil {
		return nil, err
	}
	a.Plan = FromEvents
	if err := a.prepare(a.From, a.To); err != nil {
		return nil, err
	}
	selected := a.counter()
	return &a.Answer, a.each(a.From, a.To, func(n, ref uint64, e *event.Event) error {
		counts := false
		switch e.Kind {
		case event.Alloc, event.Free:
			counts = selected(e, ref)
		default:
			ref, counts = event.NoRef, a.blocks == nil && a.stacks.keep(e.Stack)
		}
		if !counts {
			return nil
		}
		return yield(n, ref, e)
	})
}

// progressEvery is after how many events Progress is called.
const progressEvery = 1 << 18

// each yields the events between two cuts in order, with progress, up to an error. Damage ends it and is kept for the answer. Events
// that were folded are an error: it says from when on there are events.
func (a *ask) each(from, to uint64, yield func(n, ref uint64, e *event.Event) error) error {
	left := 0
	var failed error
	err := a.Reader.EventsBetween(a.ctx, from, to, func(n, ref uint64, e *event.Event) bool {
		if left == 0 {
			left = progressEvery
			a.progress(n-from, to-from)
		}
		left--
		failed = yield(n, ref, e)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return a.kept(err, to-from)
}

// folded reports whether an error says that events were folded, or merged: there are sums only.
func folded(err error) bool {
	var f *recording.FoldedError
	var m *recording.MergedError
	return errors.As(err, &f) || errors.As(err, &m)
}
