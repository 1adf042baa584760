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

// timeSheet has the allocations of one block of events. Their times are known only after the blocks before it.
type timeSheet struct {
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
func (s *timeSheet) observe(e *event.Event, number uint32) {
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

// add adds the allocations of the next block of events; of finds the values of its cells.
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
