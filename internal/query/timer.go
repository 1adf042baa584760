package query

import (
	"math"

	"github.com/heaptap/heaptap/internal/event"
)

// timer tells how much time a thread spent between its allocations: from the one before, or since the range or the thread
// began. What the agent took of it for the events in between is taken out, as far as the recording knows.
type timer struct {
	a           *ask
	alloc, free int64 // what the agent takes for an event, tenths of ns
	threads     map[uint32]*threadTime
}

// threadTime is how far a thread has come.
type threadTime struct {
	last int64 // time of its allocation before, ns
	owed int64 // what the agent took since then, and what could not be taken out before, tenths of ns
}

// unit is that of the events' times, ns.
const unit = 100

func newTimer(a *ask) *timer {
	h := a.Reader.Health()
	tenths := func(cost float64) int64 { return int64(math.Round(10 * min(max(0, cost), 1e6))) } // a forged one may be anything
	return &timer{a: a, alloc: tenths(h.AllocCost), free: tenths(h.FreeCost), threads: make(map[uint32]*threadTime)}
}

// passed takes note of an event. Of an allocation it returns the time.
func (t *timer) passed(e *event.Event) uint64 {
	th := t.threads[e.Thread]
	if th == nil {
		th = &threadTime{last: t.a.Begin}
		if list := t.a.Reader.Threads(); int(e.Thread) < len(list) {
			th.last = max(th.last, list[e.Thread].Start)
		}
		t.threads[e.Thread] = th
	}
	switch e.Kind {
	case event.Alloc:
	case event.Fail, event.Map:
		th.owed += t.alloc
		return 0
	default:
		th.owed += t.free
		return 0
	}
	gap := max(e.Time-th.last, 0)
	th.last = e.Time
	th.owed += t.alloc
	out := min(gap, th.owed/10)
	// Times are told to one unit: of so much, what did not fit into this gap may lie in the next one.
	th.owed = min(th.owed-10*out, 10*unit)
	return uint64(gap - out)
}
