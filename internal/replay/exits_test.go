package replay

import (
	"math"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// exiting are threads of which each second one ends, in the middle of program's events: it goes on as another thread.
func exiting(threads, events int) (list []event.Thread) {
	for i := range threads {
		th := event.Thread{TID: uint32(100 + i), End: event.NotEnded}
		if i%2 == 1 {
			th.End = int64(i) * int64(events) * 1000 / int64(threads)
		}
		list = append(list, th)
	}
	return list
}

// TestExits: threads end while others play, in each order, and all calls are made.
func TestExits(t *testing.T) {
	const threads, n = 6, 20_000
	for _, o := range []Options{{Order: Window}, {Order: Total}, {Order: Free}, {Order: Window, From: n / 2},
		{Order: Total, From: n / 2}, {Order: Window, To: n / 2}, {Order: Window, Threads: 2}} {
		if o.To == 0 {
			o.To = math.MaxUint64
		}
		plan, p := prepareThreads(t, program(7, threads, n), exiting(threads, n), o)
		want := threads + 3 // those that ended went on as others
		switch {
		case o.Threads > 0:
			want = 1 + o.Threads
		case o.From > 0, o.To < n: // one had ended before; two end later
			want = plan.Threads
		}
		for _, m := range []mode{modeTime, modeMemory} {
			got, _, err := p.play(t.Context(), plan, Allocator{Name: "glibc"}, m, TouchFirst)
			if err != nil {
				t.Fatalf("%+v %s: %v", o, m, err)
			}
			calls := uint64(0)
			for _, k := range got.Calls {
				calls += k
			}
			if calls != plan.Calls || int(got.Threads) != plan.Threads-1 || plan.Threads != want {
				t.Errorf("%+v %s: %d calls, want %d; %d threads of %d, want %d", o, m, calls, plan.Calls,
					got.Threads+1, plan.Threads, want)
			}
		}
	}
}
