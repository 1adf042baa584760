package query

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// Jumps counts by how many bytes reallocations changed the sizes of blocks.
type Jumps struct {
	Grown, Shrunk [Classes]Bucket // by SizeClass of the difference; Bytes: sum of the differences
	Same          uint64          // reallocations that did not change the size
	InPlace       uint64          // all reallocations that kept the address
}

// Count returns the number of reallocations.
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
	old, now uint64 // sizes before and after
	inPlace  bool
	weight   uint64 // number of reallocations it stands for
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

// SizePair says how often blocks of one size were reallocated to another one.
type SizePair struct {
	Old, New       uint64
	Count, InPlace uint64
}

// Copied is how many bytes the reallocations copied that changed the address.
func (p *SizePair) Copied() uint64 { return (p.Count - p.InPlace) * min(p.Old, p.New) }

// Move sums up the reallocations from one class of sizes to another.
type Move struct {
	Count, InPlace uint64
	Copied         uint64 // bytes
}

func (m *Move) add(o Move) {
	m.Count += o.Count
	m.InPlace += o.InPlace
	m.Copied += o.Copied
}

// Moves are reallocations by SizeClass of the size before and of the size after.
type Moves [Classes][Classes]Move

func (m *Moves) add(p *SizePair) {
	m[bits.Len64(p.Old)][bits.Len64(p.New)].add(Move{p.Count, p.InPlace, p.Copied()})
}

// mostPairs is the limit on the number of different pairs that are told apart. Tests lower it.
var mostPairs = maxExact

// sizePairs counts different pairs of sizes, up to a limit.
type sizePairs struct {
	of     map[[2]uint64]*SizePair
	others uint64
	rest   *Moves // of the others; nil: there are none
}

func (p *sizePairs) add(x SizePair) {
	key := [2]uint64{x.Old, x.New}
	have := p.of[key]
	switch {
	case have != nil:
		have.Count += x.Count
		have.InPlace += x.InPlace
	case len(p.of) == mostPairs:
		p.others += x.Count
		if p.rest == nil {
			p.rest = new(Moves)
		}
		p.rest.add(&x)
	default:
		if p.of == nil {
			p.of = make(map[[2]uint64]*SizePair)
		}
		p.of[key] = &x
	}
}

// merge adds the pairs of the next block of events.
func (p *sizePairs) merge(o *sizePairs) {
	p.others += o.others
	for _, x := range o.of {
		p.add(*x)
	}
	if o.rest == nil {
		return
	}
	if p.rest == nil {
		p.rest = new(Moves)
	}
	for i := range o.rest {
		for k := range o.rest[i] {
			p.rest[i][k].add(o.rest[i][k])
		}
	}
}

// moves returns all pairs by classes of sizes.
func (p *sizePairs) moves() *Moves {
	all := new(Moves)
	if p.rest != nil {
		*all = *p.rest
	}
	for _, x := range p.of {
		all.add(x)
	}
	return all
}

// sorted returns the pairs, the most frequent first.
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

// blockJumps has the reallocations of one block of events. The deallocation of each comes before its allocation.
type blockJumps struct {
	Jumps
	pairs sizePairs
	old   oldBlocks
	open  []jump // their deallocation is in an earlier block of events; at most one per thread
}

func (b *blockJumps) take(x *jump) {
	b.Jumps.take(x)
	pair := SizePair{x.old, x.now, x.weight, 0}
	if x.inPlace {
		pair.InPlace = x.weight
	}
	b.pairs.add(pair)
}

// observe takes an event; counts says whether it counts.
func (b *blockJumps) observe(e *event.Event, counts bool) {
	if e.Flags&event.Realloc == 0 {
		return
	}
	old, known := b.old.observe(e)
	if e.Kind == event.Free {
		return
	}
	weight, _ := e.Weight()
	x := jump{e.Thread, old.size, e.Size, e.Flags&event.InPlace != 0, weight}
	switch {
	case counts && !known:
		b.open = append(b.open, x)
	case counts && old.is:
		b.take(&x)
	}
}

// add adds the reallocations of the next block of events.
func (b *blockJumps) add(o *blockJumps) {
	for _, x := range o.open {
		if old := b.old[x.thread]; old.is {
			x.old = old.size
			b.take(&x)
		}
	}
	for i := range Classes {
		b.Grown[i].add(o.Grown[i])
		b.Shrunk[i].add(o.Shrunk[i])
	}
	b.Same += o.Same
	b.InPlace += o.InPlace
	b.pairs.merge(&o.pairs)
	if b.old == nil {
		b.old = o.old
		return
	}
	maps.Copy(b.old, o.old)
}
