package query

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// reallocs tells how much reallocations copied: of each, the deallocation comes before the allocation. It has, by thread, the size of
// the block that is being given a new form.
type reallocs map[uint32]uint64

// reformSheet has the reallocations of one block of events.
type reformSheet struct {
	old  map[uint32]former // by thread, where it is known
	open []reform          // whose deallocation is in an earlier block of events: one of a thread at most
}

// former is the block that is being given a new form, if there is one.
type former struct {
	size uint64
	is   bool
}

// reform is the allocation of a reallocation.
type reform struct {
	thread, number uint32
	size           uint64 // 0: nothing was copied
}

// see takes note of an event, which counts in the cell of that number, from 1; 0: in none.
func (s *reformSheet) see(e *event.Event, number uint32, c *cells) {
	if e.Flags&event.Realloc == 0 {
		return
	}
	if s.old == nil {
		s.old = make(map[uint32]former)
	}
	if e.Kind == event.Free {
		s.old[e.Thread] = former{e.Size, true}
		return
	}
	size := e.Size
	if e.Flags&event.InPlace != 0 {
		size = 0
	}
	old, known := s.old[e.Thread]
	s.old[e.Thread] = former{}
	switch {
	case !known:
		s.open = append(s.open, reform{e.Thread, number, size})
	case number > 0:
		c.list[number-1].Copied += min(old.size, size)
	}
}

// add adds what the next block of events has; of finds the values of its cells.
func (r reallocs) add(s *reformSheet, of func(number uint32) *Values) {
	for _, x := range s.open {
		if x.number > 0 {
			of(x.number).Copied += min(r[x.thread], x.size)
		}
	}
	for thread, old := range s.old {
		if delete(r, thread); old.is {
			r[thread] = old.size
		}
	}
}

// collect is a collector that only takes note of what is being given a new form.
func (r reallocs) collect(recording.Stretch) (sight, func()) {
	var s reformSheet
	see := func(_, _ uint64, e *event.Event, _ bool) {
		if e.Kind <= event.Free {
			s.see(e, 0, nil)
		}
	}
	return see, func() { r.add(&s, nil) }
}
