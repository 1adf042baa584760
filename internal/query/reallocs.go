package query

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// reallocs tells how much reallocations copied: of each, the deallocation comes before the allocation. It has, by
// thread, the size of the block that is being given a new form.
type reallocs map[uint32]uint64

// reformSheet has the reallocations of one block of events.
type reformSheet struct {
	old  formers
	open []reform // whose deallocation is in an earlier block of events: one of a thread at most
}

// formers are by thread, where it is known.
type formers map[uint32]former

// see takes note of a deallocation or an allocation that is part of a reallocation. Of an allocation it returns the
// block that it gives a new form; known says whether what came before in the thread was seen.
func (f *formers) see(e *event.Event) (old former, known bool) {
	if *f == nil {
		*f = make(formers)
	}
	if e.Kind == event.Free {
		(*f)[e.Thread] = former{e.Size, true}
		return former{}, false
	}
	old, known = (*f)[e.Thread]
	(*f)[e.Thread] = former{}
	return old, known
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
	weight         uint64 // so often
}

// see takes note of an event, which counts in the cell of that number, from 1; 0: in none.
func (s *reformSheet) see(e *event.Event, number uint32, c *cells) {
	if e.Flags&event.Realloc == 0 {
		return
	}
	old, known := s.old.see(e)
	if e.Kind == event.Free {
		return
	}
	size := e.Size
	if e.Flags&event.InPlace != 0 {
		size = 0
	}
	switch {
	case !known:
		n, _ := e.Weight()
		s.open = append(s.open, reform{e.Thread, number, size, n})
	case number > 0:
		n, _ := e.Weight()
		c.list[number-1].Copied += n * min(old.size, size)
	}
}

// add adds what the next block of events has; of finds the values of its cells.
func (r reallocs) add(s *reformSheet, of func(number uint32) *Values) {
	for _, x := range s.open {
		if x.number > 0 {
			of(x.number).Copied += x.weight * min(r[x.thread], x.size)
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
	see := func(b *recording.Batch, _ []bool) {
		for i := range b.Events {
			if e := &b.Events[i]; e.Kind <= event.Free {
				s.see(e, 0, nil)
			}
		}
	}
	return see, func() { r.add(&s, nil) }
}
