package block

import (
	"encoding/binary"

	"github.com/heaptap/heaptap/internal/recording/column"
	"github.com/heaptap/heaptap/internal/tally"
)

// Sealed is a block that is complete and not packed yet.
type Sealed struct {
	Head    Head
	threads []*threadColumnsOf
	runs    []byte
	times   [2]column.Nibbles
	long    []byte
	dict    []byte
	shapes  []byte
	sparse  []byte
	Stacks  []tally.Local
	far     []byte // distances of addresses
	Births  []uint64
	Far     FarTable // of the deallocations of what earlier blocks have allocated; without its first block
}

// Seal counts the block, moves it into s and begins the next one, in the memory that s had.
func (x *Encoder) Seal(s *Sealed) {
	if x.cur != nil {
		x.endRun()
	}
	for _, t := range x.threads {
		t.end()
	}
	h := &x.Head
	h.End, h.Allocs, h.Peak = x.last, x.nextAlloc-h.FirstAlloc, int64(x.block.Most())
	h.Threads, h.Stacks, h.shapes = uint64(len(x.threads)), uint64(len(x.stacks)), uint64(x.shapeCount)
	if x.place != nil {
		h.flags |= headAddresses
	}
	if h.Stacks*summaryRatio <= h.Events {
		h.flags |= headChanges
	}
	s.Head = *h
	x.threads, s.threads = s.threads, x.threads
	x.runs, s.runs = s.runs, x.runs
	x.times, s.times = s.times, x.times
	x.longTimes, s.long = s.long, x.longTimes
	x.dict, s.dict = s.dict, x.dict
	x.shapes, s.shapes = s.shapes, x.shapes
	x.sparse, s.sparse = s.sparse, x.sparse
	x.distances, s.far = s.far, x.distances
	x.births, s.Births = s.Births[:0], x.births
	s.Stacks = x.block.Close(int64(x.last)*Quantum, Quantum, s.Stacks)
	x.farSums.seal(h, &s.Far)
	for i := range s.Far.List {
		s.Far.List[i].Stack = s.Stacks[s.Far.List[i].Stack].ID
	}
	x.nextEvent += h.Events
	x.begin()
}

// Packer packs sealed blocks.
type Packer struct {
	scratch []byte
	changes changeColumns
}

// Pack writes a block into p.
func (k *Packer) Pack(s *Sealed, p *column.Payload) {
	p.Reset()
	p.Fields(s.Head.Fields)
	list := k.scratch[:0]
	for _, t := range s.threads {
		list = binary.AppendUvarint(list, uint64(t.index))
		for i := range t.cols {
			list = binary.AppendUvarint(list, uint64(len(t.cols[i])))
		}
	}
	k.scratch = list
	p.Column(colThreads, list)
	p.Column(colRuns, s.runs)
	p.Column(colTimes, s.times[classAlloc].Bytes())
	p.Column(colFreeTimes, s.times[classFree].Bytes())
	p.Column(colLongTimes, s.long)
	p.Column(colStacks, s.dict)
	p.Column(colShapes, s.shapes)
	p.Column(colSparse, s.sparse)
	p.Column(colDistance, s.far)
	if s.Head.flags&headChanges != 0 {
		k.changes.reset()
		k.changes.locals(s.Stacks)
		k.changes.write(p)
	}
	for i := range threadColumns {
		raw := k.scratch[:0]
		if len(s.threads) == 1 {
			raw = s.threads[0].cols[i]
		} else {
			for _, t := range s.threads {
				raw = append(raw, t.cols[i]...)
			}
			k.scratch = raw
		}
		p.Column(perThread+column.ID(i), raw)
	}
}
