package verify

import (
	"sync"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/event"
)

// relay passes events to several checks. Each sees all of them, in order, on its own goroutine.
type relay struct {
	checks []chan *batch
	done   sync.WaitGroup
	pool   sync.Pool // of *batch
	next   *batch
}

// batch is some events.
type batch struct {
	first  uint64 // number of the first event
	events []event.Event
	left   atomic.Int32 // number of checks that have not seen the batch yet
}

const (
	batchEvents = 1 << 11
	maxBatches  = 8 // most that may wait for a check
)

// newRelay starts checks, which get each event and its number.
func newRelay(checks ...func(n uint64, e *event.Event)) *relay {
	r := &relay{pool: sync.Pool{New: func() any { return &batch{events: make([]event.Event, 0, batchEvents)} }}}
	for _, check := range checks {
		c := make(chan *batch, maxBatches)
		r.checks = append(r.checks, c)
		r.done.Go(func() {
			for b := range c {
				for i := range b.events {
					check(b.first+uint64(i), &b.events[i])
				}
				if b.left.Add(-1) == 0 {
					r.pool.Put(b)
				}
			}
		})
	}
	return r
}

// take takes events; first is the number of the first one. Numbers are consecutive.
func (r *relay) take(first uint64, list []event.Event) {
	if r.next == nil {
		r.next = r.pool.Get().(*batch)
		r.next.first, r.next.events = first, r.next.events[:0]
	}
	if r.next.events = append(r.next.events, list...); len(r.next.events) >= batchEvents {
		r.send()
	}
}

func (r *relay) send() {
	r.next.left.Store(int32(len(r.checks)))
	for _, c := range r.checks {
		c <- r.next
	}
	r.next = nil
}

// end waits until all checks have seen all events.
func (r *relay) end() {
	if r.next != nil {
		r.send()
	}
	for _, c := range r.checks {
		close(c)
	}
	r.done.Wait()
}
