package block

import (
	"math"

	"github.com/heaptap/heaptap/internal/event"
)

func (x *Decoder) far(t *threadCursors, e *event.Event) bool {
	s := x.stack(t, colFar0)
	if s == nil {
		return false
	}
	c := &t.cols
	if x.fields&Sizes != 0 {
		if size := c[colFarSize-perThread].Uint(); size != 0 {
			s.size = size - 1
		}
	}
	e.Stack, e.Size = s.id, s.size
	if x.fields&Usable != 0 && e.Flags&event.HasUsable != 0 {
		var ok bool
		if e.Usable, ok = x.readUsable(t, e.Size, t.farSlack.Next(&c[colFarSlack-perThread]), false); !ok {
			return false
		}
	}
	e.Born = 0
	if x.fields&Times != 0 {
		if t.lastBorn += uint64(c[colBorn-perThread].Int()); t.lastBorn > x.MaxTime {
			return false
		}
		e.Born = int64(t.lastBorn) * x.Quantum
	}
	e.BornBy = t.index
	if by := c[colBornBy-perThread].Uint(); by > math.MaxUint32+1 {
		return false
	} else if by != 0 {
		e.BornBy = uint32(by - 1)
	}
	e.Addr = 0
	if x.place != nil {
		t.lastFar += uint64(c[colFarAddr-perThread].Int())
		e.Addr = t.lastFar
		x.place.free(placed{e.Addr, x.place.class(x.slack.usable(e.Size))})
	}
	return !c[colFarSize-perThread].Bad && !c[colBorn-perThread].Bad && !c[colBornBy-perThread].Bad &&
		!c[colFarAddr-perThread].Bad
}

func (x *Decoder) rare(e *event.Event) bool {
	fields := x.sparse.Uint()
	if fields == 0 || fields&^uint64(sparseAll) != 0 {
		return false
	}
	read := func(bit uint64, v *uint64) {
		if fields&bit != 0 {
			*v = x.sparse.Uint()
		}
	}
	read32 := func(bit uint64, v *uint32) {
		if fields&bit != 0 {
			*v = x.sparse.Uint32()
		}
	}
	read(sparseAlign, &e.Align)
	read(sparseCount, &e.Count)
	read(sparseAddr, &e.Addr)
	read(sparseOldAddr, &e.OldAddr)
	read(sparseOldSize, &e.OldSize)
	read32(sparseStack, &e.Stack)
	read(sparseSize, &e.Size)
	read(sparseUsable, &e.Usable)
	if fields&sparseBorn != 0 {
		born := x.sparse.Uint()
		if born > x.MaxTime {
			return false
		}
		e.Born = int64(born) * x.Quantum
	}
	read32(sparseBornBy, &e.BornBy)
	read(sparseRef, &e.Ref)
	read32(sparseFreeStack, &e.FreeStack)
	if e.Kind == event.Alloc && fields&sparseSize != 0 {
		x.news[len(x.news)-1].size = e.Size
	}
	return !x.sparse.Bad
}
