package query

import (
	"math"
	"sync"

	"github.com/heaptap/heaptap/internal/event"
)

// timer tells how much time a thread spent between its allocations: from the one before, or since the range or the
// thread began. What the agent took of it for the events in between is taken out, as far as the recording knows.
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
	// A forged one may be anything.
	tenths := func(cost float64) int64 { return int64(math.Round(10 * min(max(0, cost), 1e6))) }
	return &timer{a: a, alloc: tenths(h.AllocCost), free: tenths(h.FreeCost), threads: make(map[uint32]*threadTime)}
}

// of returns how far a thread has come.
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

// passed returns the time of an allocation, before which the agent took so much since the one before.
func (th *threadTime) passed(at, owed int64) uint64 {
	gap := max(at-th.last, 0)
	th.last = at
	th.owed += owed
	out := min(gap, th.owed/10)
	// Times are told to one unit: of so much, what did not fit into this gap may lie in the next one.
	th.owed = min(th.owed-10*out, 10*unit)
	return uint64(gap - out)
}

// timeSheet has the allocations of one block of events: how long they took is known only after those before it.
type timeSheet struct {
	*timer
	numbers places // of threads, from 1
	ids     []uint32
	owed    []int64 // by number: what the agent took since the latest allocation, tenths of ns
	allocs  []timed
}

// timed is an allocation.
type timed struct {
	at, owed       int64
	thread, number uint32 // of the thread; of the cell, or 0
}

// timedPool is of lists of allocations, which are used again.
var timedPool = sync.Pool{New: func() any { return new([]timed) }}

// see takes note of an event, which counts in the cell of that number, from 1; 0: in none.
func (s *timeSheet) see(e *event.Event, number uint32) {
	p := s.numbers.at(e.Thread, 0)
	if *p == 0 {
		s.ids, s.owed = append(s.ids, e.Thread), append(s.owed, 0)
		*p = uint32(len(s.ids))
	}
	owed := &s.owed[*p-1]
	switch e.Kind {
	case event.Alloc:
		s.allocs = append(s.allocs, timed{e.Time, *owed + s.alloc, *p - 1, number})
		*owed = 0
	case event.Fail, event.Map:
		*owed += s.alloc
	default:
		*owed += s.free
	}
}

// add adds what the next block of events has; of finds the values of its cells.
func (s *timeSheet) add(of func(number uint32) *Values) {
	threads := make([]*threadTime, len(s.ids))
	for i, id := range s.ids {
		threads[i] = s.of(id)
	}
	for i := range s.allocs {
		x := &s.allocs[i]
		if time := threads[x.thread].passed(x.at, x.owed); x.number > 0 {
			of(x.number).Time += time
		}
	}
	for i, th := range threads {
		th.owed += s.owed[i]
	}
	s.allocs = s.allocs[:0]
	timedPool.Put(&s.allocs)
}
