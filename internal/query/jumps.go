package query

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// Jumps tells by how many bytes reallocations changed the sizes of blocks.
type Jumps struct {
	Grown, Shrunk [Classes]Bucket // by SizeClass of the difference; Bytes: of the differences in all
	Same          uint64          // reallocations that changed no size
	InPlace       uint64          // of all of them, those that left the block where it was
}

// Count is the number of reallocations.
func (j *Jumps) Count() uint64 {
	n := j.Same
	for i := range Classes {
		n += j.Grown[i].Count + j.Shrunk[i].Count
	}
	return n
}

// jump is a reallocation.
type jump struct {
	thread   uint32
	old, now uint64 // sizes
	inPlace  bool
	weight   uint64 // so often
}

func (j *Jumps) take(x *jump) {
	switch {
	case x.now > x.old:
		j.Grown[bits.Len64(x.now-x.old)].add(Bucket{x.weight, x.weight * (x.now - x.old)})
	case x.now < x.old:
		j.Shrunk[bits.Len64(x.old-x.now)].add(Bucket{x.weight, x.weight * (x.old - x.now)})
	default:
		j.Same += x.weight
	}
	if x.inPlace {
		j.InPlace += x.weight
	}
}

// SizePair says how often blocks of one size were given another one.
type SizePair struct {
	Old, New       uint64
	Count, InPlace uint64
}

// sizePairs tells pairs of sizes apart, as long as they are not too many.
type sizePairs struct {
	of     map[[2]uint64]*SizePair
	others uint64
}

func (p *sizePairs) add(x SizePair) {
	key := [2]uint64{x.Old, x.New}
	have := p.of[key]
	switch {
	case have != nil:
		have.Count += x.Count
		have.InPlace += x.InPlace
	case len(p.of) == maxExact:
		p.others += x.Count
	default:
		if p.of == nil {
			p.of = make(map[[2]uint64]*SizePair)
		}
		p.of[key] = &x
	}
}

// sorted returns them, the most frequent first.
func (p *sizePairs) sorted() []SizePair {
	list := make([]SizePair, 0, len(p.of))
	for _, x := range p.of {
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b SizePair) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Old, b.Old), cmp.Compare(a.New, b.New))
	})
	return list
}

// jumpSheet has those of a block of events: of each, the deallocation comes before the allocation.
type jumpSheet struct {
	Jumps
	pairs sizePairs
	old   formers
	open  []jump // whose deallocation is in an earlier block of events: one of a thread at most
}

func (s *jumpSheet) take(x *jump) {
	s.Jumps.take(x)
	pair := SizePair{x.old, x.now, x.weight, 0}
	if x.inPlace {
		pair.InPlace = x.weight
	}
	s.pairs.add(pair)
}

// see takes note of an event; counts says whether it counts.
func (s *jumpSheet) see(e *event.Event, counts bool) {
	if e.Flags&event.Realloc == 0 {
		return
	}
	old, known := s.old.see(e)
	if e.Kind == event.Free {
		return
	}
	weight, _ := e.Weight()
	x := jump{e.Thread, old.size, e.Size, e.Flags&event.InPlace != 0, weight}
	switch {
	case counts && !known:
		s.open = append(s.open, x)
	case counts && old.is:
		s.take(&x)
	}
}

// add adds what the next block of events has.
func (s *jumpSheet) add(o *jumpSheet) {
	for _, x := range o.open {
		if old := s.old[x.thread]; old.is {
			x.old = old.size
			s.take(&x)
		}
	}
	for i := range Classes {
		s.Grown[i].add(o.Grown[i])
		s.Shrunk[i].add(o.Shrunk[i])
	}
	s.Same += o.Same
	s.InPlace += o.InPlace
	s.pairs.others += o.pairs.others
	for _, x := range o.pairs.of {
		s.pairs.add(*x)
	}
	if s.old == nil {
		s.old = o.old
		return
	}
	maps.Copy(s.old, o.old)
}
