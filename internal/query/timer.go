package query

import (
	"math"
	"sync"

	"github.com/heaptap/heaptap/internal/event"
)

// timer sums up the time that a thread spent between its allocations: since the previous one, or since the range or the
// thread began. The agent's own time for the events in between is subtracted, as far as the recording knows it.
type timer struct {
	a           *ask
	alloc, free int64 // the agent's time for an event, tenths of ns
	threads     map[uint32]*threadTime
}

// threadTime is the state of a thread.
type threadTime struct {
	last int64 // time of its previous allocation, ns
	owed int64 // the agent's time since then, and what could not be subtracted before, tenths of ns
}

// unit is the unit of the events' times, ns.
const unit = 100

func newTimer(a *ask) *timer {
	h := a.Reader.Health()
	// A forged recording may hold any number.
	tenths := func(cost float64) int64 { return int64(math.Round(10 * min(max(0, cost), 1e6))) }
	return &timer{a: a, alloc: tenths(h.AllocCost), free: tenths(h.FreeCost), threads: make(map[uint32]*threadTime)}
}

// of returns the state of a thread.
func (t *timer) of(thread uint32) *threadTime {
	th := t.threads[thread]
	if th == nil {
		th = &threadTime{last: t.a.Begin}
		if list := t.a.Reader.Threads(); int(thread) < len(list) {
			th.last = max(th.last, list[thread].Start)
		}
		t.threads[thread] = th
	}
	return th
}

// passed returns the time since the previous allocation. owed is the agent's time in between.
func (th *threadTime) passed(at, owed int64) uint64 {
	gap := max(at-th.last, 0)
	th.last = at
	th.owed += owed
	out := min(gap, th.owed/10)
	// Times are rounded to one unit: up to that much of what exceeds this gap may belong to the next one.
	th.owed = min(th.owed-10*out, 10*unit)
	return uint64(gap - out)
}

// blockTimes has the allocations of one block of events. Their times are known only after the blocks before it.
type blockTimes struct {
	*timer
	numbers places // indexes of threads plus 1
	ids     []uint32
	owed    []int64 // by index: the agent's time since the latest allocation, tenths of ns
	allocs  []timed
}

// timed is an allocation.
type timed struct {
	at, owed       int64
	thread, number uint32 // index of the thread; index of the cell plus 1, or 0
}

// timedPool pools lists of allocations.
var timedPool = sync.Pool{New: func() any { return new([]timed) }}

// observe takes an event; number is the index of its cell plus 1; 0: it does not count.
func (b *blockTimes) observe(e *event.Event, number uint32) {
	p := b.numbers.at(e.Thread, 0)
	if *p == 0 {
		b.ids, b.owed = append(b.ids, e.Thread), append(b.owed, 0)
		*p = uint32(len(b.ids))
	}
	owed := &b.owed[*p-1]
	switch e.Kind {
	case event.Alloc:
		b.allocs = append(b.allocs, timed{e.Time, *owed + b.alloc, *p - 1, number})
		*owed = 0
	case event.Fail, event.Map:
		*owed += b.alloc
	default:
		*owed += b.free
	}
}

// add adds the allocations of the next block of events; of finds the values of its cells.
func (b *blockTimes) add(of func(number uint32) *Values) {
	threads := make([]*threadTime, len(b.ids))
	for i, id := range b.ids {
		threads[i] = b.of(id)
	}
	for i := range b.allocs {
		x := &b.allocs[i]
		if time := threads[x.thread].passed(x.at, x.owed); x.number > 0 {
			of(x.number).Time += time
		}
	}
	for i, th := range threads {
		th.owed += b.owed[i]
	}
	b.allocs = b.allocs[:0]
	timedPool.Put(&b.allocs)
}
