package verify

import (
	"runtime"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// TestRelay: every check sees every event once, in order, however slow another one is.
func TestRelay(t *testing.T) {
	t.Parallel()
	for _, n := range []uint64{0, 1, batchEvents, batchEvents + 1, 40*batchEvents + 7} {
		seen := [3]uint64{10, 10, 10}
		var checks []func(uint64, *event.Event)
		for i := range seen {
			checks = append(checks, func(number uint64, e *event.Event) {
				if number != seen[i] || e.Size != 3*number {
					t.Errorf("check %d got event %d with %d bytes, want event %d", i, number, e.Size, seen[i])
				}
				if seen[i]++; i == 1 && number%1000 == 0 {
					runtime.Gosched()
				}
			})
		}
		r := newRelay(checks...)
		var e event.Event
		for i := range n {
			e.Size = 3 * (10 + i)
			r.take(10+i, []event.Event{e})
		}
		r.end()
		for i := range seen {
			if seen[i] != 10+n {
				t.Errorf("check %d has seen events up to %d of %d", i, seen[i], 10+n)
			}
		}
	}
}
