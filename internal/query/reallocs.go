package query

import (
	"maps"

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

// reallocated finds the allocations by which realloc made a block of one of certain sizes.
type reallocated struct {
	sizes *Interval
	made  *bitset
	old   oldBlocks // at the end of the blocks of events that were added
}

// madeOf is an allocation by realloc whose old block is in an earlier block of events; at most one per thread.
type madeOf struct {
	thread uint32
	ref    uint64
}

// collect is a collector.
func (g *reallocated) collect(recording.Stretch) (observer, func()) {
	part := reallocated{sizes: g.sizes, made: &bitset{}}
	var open []madeOf
	observe := func(b *recording.Batch, _ []bool) {
		for i := range b.Events {
			e := &b.Events[i]
			if e.Kind > event.Free || e.Flags&event.Realloc == 0 {
				continue
			}
			switch old, known := part.old.observe(e); {
			case e.Kind == event.Free:
			case !known:
				open = append(open, madeOf{e.Thread, b.Refs[i]})
			case old.is && g.sizes.Has(old.size):
				part.made.set(b.Refs[i])
			}
		}
	}
	return observe, func() { g.add(&part, open) }
}

// add adds what the next block of events says.
func (g *reallocated) add(part *reallocated, open []madeOf) {
	for _, m := range open {
		if old := g.old[m.thread]; old.is && g.sizes.Has(old.size) {
			part.made.set(m.ref)
		}
	}
	g.made.add(part.made)
	if g.old == nil {
		g.old = make(oldBlocks)
	}
	maps.Copy(g.old, part.old)
}
