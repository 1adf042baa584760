package query

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// reallocs sums up what reallocations copied. The deallocation of each comes before its allocation. It has, by thread,
// the size of the block that is being reallocated.
type reallocs map[uint32]uint64

// blockReallocs has the reallocations of one block of events.
type blockReallocs struct {
	old  oldBlocks
	open []unpairedRealloc // their deallocation is in an earlier block of events; at most one per thread
}

// oldBlocks has the block that each thread is reallocating, as far as known.
type oldBlocks map[uint32]oldBlock

// observe takes the deallocation or the allocation of a reallocation. For an allocation it returns the old block; known
// says whether the thread's events before it were seen.
func (o *oldBlocks) observe(e *event.Event) (old oldBlock, known bool) {
	if *o == nil {
		*o = make(oldBlocks)
	}
	if e.Kind == event.Free {
		(*o)[e.Thread] = oldBlock{e.Size, true}
		return oldBlock{}, false
	}
	old, known = (*o)[e.Thread]
	(*o)[e.Thread] = oldBlock{}
	return old, known
}

// oldBlock is the block that a thread is reallocating, if there is one.
type oldBlock struct {
	size uint64
	is   bool
}

// unpairedRealloc is the allocation of a reallocation whose deallocation is not known yet.
type unpairedRealloc struct {
	thread, number uint32
	size           uint64 // 0: nothing was copied
	weight         uint64 // number of reallocations it stands for
}

// observe takes an event; number is the index of its cell plus 1; 0: it does not count.
func (b *blockReallocs) observe(e *event.Event, number uint32, c *cells) {
	if e.Flags&event.Realloc == 0 {
		return
	}
	old, known := b.old.observe(e)
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
		b.open = append(b.open, unpairedRealloc{e.Thread, number, size, n})
	case number > 0:
		n, _ := e.Weight()
		c.get(int(number - 1)).Copied += n * min(old.size, size)
	}
}

// add adds the reallocations of the next block of events; of finds the values of its cells.
func (r reallocs) add(s *blockReallocs, of func(number uint32) *Values) {
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

// collect is a collector that only notes which blocks are being reallocated.
func (r reallocs) collect(recording.Stretch) (observer, func()) {
	var s blockReallocs
	observe := func(b *recording.Batch, _ []bool) {
		for i := range b.Events {
			if e := &b.Events[i]; e.Kind <= event.Free {
				s.observe(e, 0, nil)
			}
		}
	}
	return observe, func() { r.add(&s, nil) }
}
