package recording

import (
	"encoding/binary"

	"github.com/heaptap/heaptap/internal/recording/column"
	"github.com/heaptap/heaptap/internal/tally"
)

// sealed is a block that is complete and not packed yet.
type sealed struct {
	head    eventsHead
	threads []*threadColumnsOf
	runs    []byte
	times   [2]column.Nibbles
	long    []byte
	dict    []byte
	shapes  []byte
	sparse  []byte
	stacks  []tally.Local
	far     []byte // distances of addresses
	births  []uint64
}

// seal counts the block, moves it into s and begins the next one, in the memory that s had.
func (x *encoder) seal(s *sealed) {
	if x.cur != nil {
		x.endRun()
	}
	for _, t := range x.threads {
		t.end()
	}
	h := &x.head
	h.end, h.allocs, h.peak = x.last, x.nextAlloc-h.firstAlloc, int64(x.block.Most())
	h.threads, h.stacks, h.shapes = uint64(len(x.threads)), uint64(len(x.stacks)), uint64(x.shapeCount)
	if x.place != nil {
		h.flags |= headAddresses
	}
	if h.stacks*summaryRatio <= h.events {
		h.flags |= headChanges
	}
	s.head = *h
	x.threads, s.threads = s.threads, x.threads
	x.runs, s.runs = s.runs, x.runs
	x.times, s.times = s.times, x.times
	x.longTimes, s.long = s.long, x.longTimes
	x.dict, s.dict = s.dict, x.dict
	x.shapes, s.shapes = s.shapes, x.shapes
	x.sparse, s.sparse = s.sparse, x.sparse
	x.distances, s.far = s.far, x.distances
	x.births, s.births = s.births[:0], x.births
	s.stacks = x.block.Close(int64(x.last)*Quantum, Quantum, s.stacks)
	x.nextEvent += h.events
	x.begin()
}

// packing packs sealed blocks.
type packing struct {
	scratch []byte
	changes changeColumns
}

// pack writes a block into p.
func (k *packing) pack(s *sealed, p *column.Payload) {
	p.Reset()
	p.Fields(s.head.fields)
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
	if s.head.flags&headChanges != 0 {
		k.changes.reset()
		k.changes.locals(s.stacks)
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
