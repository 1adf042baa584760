package block

import (
	"encoding/binary"
	"math"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// far tells of an allocation that lies in an earlier block what a near one is known by. Its time is in units.
func (x *Encoder) far(t *threadColumnsOf, e *event.Event, b *event.Block) {
	c := &t.cols
	local := x.local(b.Stack)
	s := &x.stacks[local]
	c[colFar0-perThread] = append(c[colFar0-perThread], byte(local))
	c[colFar1-perThread] = append(c[colFar1-perThread], byte(local>>8))
	if local > math.MaxUint16 {
		c[colFar2-perThread] = column.AppendLazy(c[colFar2-perThread], t.far, byte(local>>16))
	}
	t.far++
	size := b.Size
	if size == math.MaxUint64 {
		size = 0
		x.rare(e, sparseSize)
	}
	token := size + 1
	if size == s.size {
		token = 0
	}
	s.size = size
	c[colFarSize-perThread] = column.AppendUint(c[colFarSize-perThread], token)
	if e != nil && e.Flags&event.HasUsable != 0 {
		slack := e.Usable - size
		code := uint8(wideSlack)
		if slack < wideSlack-1 {
			code = uint8(slack) + 1
		}
		if code != x.slack[size%uint64(len(x.slack))].now || code == wideSlack {
			c[colFarSlack-perThread] = t.farSlack.Append(c[colFarSlack-perThread], code)
			if code == wideSlack {
				w := &c[colWideSlack-perThread]
				*w = binary.AppendUvarint(*w, column.Zigzag(int64(slack)))
			}
		}
		t.farSlack.N++
	}
	c[colBorn-perThread] = binary.AppendUvarint(c[colBorn-perThread], column.Zigzag(b.Born-int64(t.lastBorn)))
	t.lastBorn = uint64(b.Born)
	by := uint64(b.Thread) + 1
	if b.Thread == t.index {
		by = 0
	}
	c[colBornBy-perThread] = binary.AppendUvarint(c[colBornBy-perThread], by)
	if x.place != nil {
		x.place.free(placed{b.Addr, x.place.class(x.slack.usable(size))})
		c[colFarAddr-perThread] = binary.AppendUvarint(c[colFarAddr-perThread], column.Zigzag(int64(b.Addr-t.lastFar)))
		t.lastFar = b.Addr
	}
	if b.Ref < x.Head.FirstAlloc {
		frees, bytes := uint64(1), b.Size
		if e != nil {
			frees, bytes = e.Weight()
		}
		x.farSums.add(local, b.Ref, x.Head.FirstAlloc, frees, bytes)
	}
}

// allocFields says which of the rare fields a classAlloc or classFree event has.
func (x *Encoder) allocFields(e *event.Event) uint64 {
	var f uint64
	if e.Align != 0 {
		f |= sparseAlign
	}
	if e.Count != 0 && (!counted[e.Func] || classOf[e.Kind] != classAlloc) {
		f |= sparseCount
	}
	if e.OldAddr != 0 {
		f |= sparseOldAddr
	}
	if e.OldSize != 0 {
		f |= sparseOldSize
	}
	if e.Kind == event.Map && e.Addr != 0 {
		f |= sparseAddr
	}
	if e.Kind != event.Free && e.Size == math.MaxUint64 {
		f |= sparseSize
	}
	if e.Kind != event.Free && e.FreeStack != 0 {
		f |= sparseFreeStack
	}
	return f
}

// otherFields says which fields a classOther event has. Its address is all that is known of it and is always kept,
// except that of an inherited block: those are many in a forked child, and their addresses are the parent's.
func (x *Encoder) otherFields(e *event.Event) uint64 {
	f := x.allocFields(e)
	if e.Addr != 0 && (x.place != nil || e.Kind == event.Unmatched) {
		f |= sparseAddr
	}
	if e.Stack != 0 {
		f |= sparseStack
	}
	if e.Size != 0 {
		f |= sparseSize
	}
	if e.Usable != 0 {
		f |= sparseUsable
	}
	if e.Born != 0 {
		f |= sparseBorn
	}
	if e.BornBy != 0 {
		f |= sparseBornBy
	}
	if e.Ref != event.NoRef {
		f |= sparseRef
	}
	return f &^ sparseFreeStack
}

func (x *Encoder) rare(e *event.Event, fields uint64) {
	if fields == 0 {
		return
	}
	n := x.Head.Events - 1 // the number of this event in the block
	x.sparse = binary.AppendUvarint(x.sparse, n-x.sparseLast)
	x.sparse = binary.AppendUvarint(x.sparse, fields)
	x.sparseLast = n
	values := [...]uint64{e.Align, e.Count, e.Addr, e.OldAddr, e.OldSize, uint64(e.Stack), e.Size, e.Usable,
		uint64(max(e.Born, 0)) / Quantum, uint64(e.BornBy), e.Ref, uint64(e.FreeStack)}
	for i, v := range values {
		if fields&(1<<i) != 0 {
			x.sparse = binary.AppendUvarint(x.sparse, v)
		}
	}
}
