package recording

import (
	"math"

	"github.com/heaptap/heaptap/internal/event"
)

func (x *eventDecoder) far(t *threadCursors, e *event.Event) bool {
	s := x.stack(t, colFar0)
	if s == nil {
		return false
	}
	c := &t.cols
	if x.fields&Sizes != 0 {
		if size := c[colFarSize-perThread].uint(); size != 0 {
			s.size = size - 1
		}
	}
	e.Stack, e.Size = s.id, s.size
	if x.fields&Usable != 0 && e.Flags&event.HasUsable != 0 {
		var ok bool
		if e.Usable, ok = x.readUsable(t, e.Size, t.farSlack.next(&c[colFarSlack-perThread]), false); !ok {
			return false
		}
	}
	e.Born = 0
	if x.fields&Times != 0 {
		if t.lastBorn += uint64(c[colBorn-perThread].int()); t.lastBorn > x.maxTime {
			return false
		}
		e.Born = int64(t.lastBorn) * x.quantum
	}
	e.BornBy = t.index
	if by := c[colBornBy-perThread].uint(); by > math.MaxUint32+1 {
		return false
	} else if by != 0 {
		e.BornBy = uint32(by - 1)
	}
	e.Addr = 0
	if x.place != nil {
		t.lastFar += uint64(c[colFarAddr-perThread].int())
		e.Addr = t.lastFar
		x.place.free(placed{e.Addr, x.place.class(x.slack.usable(e.Size))})
	}
	return !c[colFarSize-perThread].bad && !c[colBorn-perThread].bad && !c[colBornBy-perThread].bad &&
		!c[colFarAddr-perThread].bad
}

func (x *eventDecoder) rare(e *event.Event) bool {
	fields := x.sparse.uint()
	if fields == 0 || fields&^uint64(sparseAll) != 0 {
		return false
	}
	read := func(bit uint64, v *uint64) {
		if fields&bit != 0 {
			*v = x.sparse.uint()
		}
	}
	read32 := func(bit uint64, v *uint32) {
		if fields&bit != 0 {
			*v = x.sparse.uint32()
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
		born := x.sparse.uint()
		if born > x.maxTime {
			return false
		}
		e.Born = int64(born) * x.quantum
	}
	read32(sparseBornBy, &e.BornBy)
	read(sparseRef, &e.Ref)
	read32(sparseFreeStack, &e.FreeStack)
	if e.Kind == event.Alloc && fields&sparseSize != 0 {
		x.news[len(x.news)-1].size = e.Size
	}
	return !x.sparse.bad
}
