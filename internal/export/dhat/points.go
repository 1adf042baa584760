package dhat

import (
	"context"
	"encoding/binary"
	"math/bits"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/intern"
	"github.com/heaptap/heaptap/internal/export/valgrind"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/tally"
)

// point is a program point: all call stacks with the same names.
type point struct {
	frames           []int // indexes of names, leaf to root; 0 is the viewer's root
	query.Values           // the sums of its call stacks
	live, liveBlocks uint64
	most, mostBlocks uint64 // the maximum of live bytes, and the live blocks at that moment
	// Sum of the lifetimes, ns, of the blocks that were allocated in the range: until their deallocation or its end.
	lifetime tally.Sum
}

// points are the program points of a question.
type points struct {
	in     *export.Input
	table  *query.StackTable
	list   []*point
	of     map[uint32]*point // by call stack
	frames intern.Table[string]
	at     map[uint32][]int // indexes of the names of the frames at a pc, leaf to root
}

func newPoints(in *export.Input, t *query.StackTable) *points {
	p := &points{in: in, table: t, of: make(map[uint32]*point), at: make(map[uint32][]int)}
	var same intern.Table[string]
	for i := range t.Rows {
		r := &t.Rows[i]
		list := p.names(r.Stack)
		id, added := same.Add(key(list))
		if added {
			p.list = append(p.list, &point{frames: list})
		}
		pp := p.list[id]
		p.of[r.Stack] = pp
		pp.Allocations += r.Allocations
		pp.Bytes += r.Bytes
		pp.PeakBytes += r.PeakBytes
		pp.PeakBlocks += r.PeakBlocks
		pp.LiveBytes += r.LiveBytes
		pp.LiveBlocks += r.LiveBlocks
	}
	return p
}

// names returns the indexes of the names of a call stack's frames.
func (p *points) names(stack uint32) (list []int) {
	p.in.PCs(stack, func(pc uint32) bool {
		at, ok := p.at[pc]
		if !ok {
			for _, f := range p.in.Frames(pc) {
				at = append(at, p.frames.ID(valgrind.Frame(&f))+1)
			}
			p.at[pc] = at
		}
		list = append(list, at...)
		return true
	})
	if list == nil {
		return []int{p.frames.ID(valgrind.Unknown) + 1}
	}
	return list
}

func key(list []int) string {
	var b []byte
	for _, n := range list {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return string(b)
}

// follow computes maxima and lifetimes from the events.
func (p *points) follow(ctx context.Context) error {
	if err := p.begin(ctx); err != nil {
		return err
	}
	end := p.table.Begin + p.table.Span
	first, any := uint64(0), false // the number of the range's first allocation
	return p.in.Events(ctx, func(_, ref uint64, e *event.Event) error {
		pp := p.of[e.Stack]
		if pp == nil {
			return nil
		}
		blocks, bytes := e.Weight()
		switch e.Kind {
		case event.Alloc:
			if !any {
				first, any = ref, true
			}
			pp.live += bytes
			pp.liveBlocks += blocks
			if pp.live > pp.most {
				pp.most, pp.mostBlocks = pp.live, pp.liveBlocks
			}
			pp.lives(end-e.Time, blocks)
		case event.Free:
			pp.live -= bytes
			pp.liveBlocks -= blocks
			if any && ref >= first {
				pp.lives(e.Time-end, blocks)
			}
		}
		return nil
	})
}

// lives adds a lifetime several times. A negative one is subtracted: it shortens a lifetime that was added before.
func (p *point) lives(ns int64, times uint64) {
	if ns >= 0 {
		p.lifetime.Add(uint64(ns), times)
		return
	}
	hi, lo := bits.Mul64(uint64(-ns), times)
	var borrow uint64
	p.lifetime.Lo, borrow = bits.Sub64(p.lifetime.Lo, lo, 0)
	p.lifetime.Hi -= hi + borrow
}

// begin sets what was live when the range begins.
func (p *points) begin(ctx context.Context) error {
	if p.table.From == 0 {
		return nil
	}
	at := *p.in
	at.Query.At = &p.table.From
	before, err := at.Stacks(ctx, query.Live, query.LiveBlocks)
	if err != nil {
		return err
	}
	for i := range before.Rows {
		r := &before.Rows[i]
		if pp := p.of[r.Stack]; pp != nil {
			pp.live += r.LiveBytes
			pp.liveBlocks += r.LiveBlocks
			pp.most, pp.mostBlocks = pp.live, pp.liveBlocks
		}
	}
	return nil
}
