package recording

import (
	"math"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/tally"
)

// Nearly all events are plain allocations and deallocations. Alloc and Free take these without an event.Event around
// them, for a few nanoseconds, and so do the columns; what is written and counted is what Event would. Times are in units of Quantum.

// Alloc adds a plain allocation of size bytes, less than 2^63, at addr: one that succeeded, is not part of a realloc, has no alignment
// and is not late. Slack is how many usable bytes it has beyond its size; count, the first argument of calloc and reallocarray, is 0 if
// it was not told.
func (w *Writer) Alloc(now int64, f event.Func, thread, stack uint32, addr, size uint64, slack uint8, count uint64) {
	s := w.filling // as next does, which is not inlined
	if s.n == len(s.list) {
		s = w.pass()
	}
	p := &s.list[s.n]
	s.n++
	p.Way = tally.PlainAlloc
	p.Func = f
	p.Thread = thread
	p.Stack = stack
	p.Time = uint64(now)
	p.Addr = addr
	p.Size = size
	p.Ref = uint64(slack)
	p.Born = count
	w.allocs++
	w.liveBlocks++
	w.liveBytes += size
}

// Free adds a plain deallocation of block b, whose time is in units, too: one that is not part of a realloc, not late, and
// without a call stack of its own.
func (w *Writer) Free(now int64, f event.Func, thread uint32, temporary bool, b *event.Block) {
	s := w.filling // as next does, which is not inlined
	if s.n == len(s.list) {
		s = w.pass()
	}
	p := &s.list[s.n]
	s.n++
	p.Way = tally.PlainFree
	if temporary {
		p.Way = tally.PlainTemporary
	}
	p.Func = f
	p.Thread = thread
	p.Stack = b.Stack
	p.Time = uint64(now)
	p.Addr = b.Addr
	p.Size = b.Size
	p.Ref = b.Ref
	p.Born = uint64(b.Born)
	p.BornBy = b.Thread
	w.liveBlocks--
	w.liveBytes -= b.Size
}

// other adds an event of any kind.
func (w *Writer) other(e *event.Event) {
	if e.Flags&event.Sampled != 0 {
		ref := e.Ref
		if e.Kind == event.Alloc {
			ref = w.allocs
		}
		w.sampling.Weigh(e, ref)
	}
	w.next().Way = tally.NotPlain
	w.filling.others = append(w.filling.others, *e)
	switch blocks, bytes := e.Weight(); {
	case e.Kind == event.Alloc:
		w.allocs++
		w.liveBlocks += blocks
		w.liveBytes += bytes
	case e.Kind == event.Free:
		w.liveBlocks -= blocks
		w.liveBytes -= bytes
	}
}

// plains appends plain events of one thread, and counts them: as many as come one after the other, if there is room. It returns their
// number. It is what add does for events of all kinds, and the loop that everything goes through.
func (x *encoder) plains(list []tally.Plain) int {
	t := x.enter(list[0].Time, list[0].Thread)
	list = list[:min(uint64(len(list)), BlockEvents-x.head.events)]
	c := &t.cols
	last := x.last
	n := 0
	for ; n < len(list) && x.shapeCount < maxShapes; n++ {
		p := &list[n]
		if p.Thread != t.index || p.Way == tally.NotPlain {
			break
		}
		d := p.Time - last
		if d >= half {
			x.last = last
			d = x.leap(p.Time)
			last = x.last
		} else {
			last = p.Time
		}
		size := p.Size
		if p.Way == tally.PlainAlloc {
			x.times[classAlloc].put(d)
			if t.class == classAlloc {
				t.run++
			} else {
				t.turn(classAlloc)
			}
			local, ok := x.stackAt.of(p.Stack)
			if !ok {
				local = x.newLocal(p.Stack)
			}
			p.Stack = local
			c[colStack0-perThread] = append(c[colStack0-perThread], byte(local))
			c[colStack1-perThread] = append(c[colStack1-perThread], byte(local>>8))
			s := &x.stacks[local]
			token := size + 1
			if size == s.size {
				token = 0
			}
			s.size = size
			c[colSize-perThread] = appendUint(c[colSize-perThread], token)
			key := shapeKey(event.Alloc, p.Func, event.HasUsable)
			if shape := x.shapeOf[key%shapeSpace]; shape != s.shape || shape == 0 || local > math.MaxUint16 {
				x.uncommon(t, s, local, key)
			}
			t.allocs.n++
			if slack, u := p.Slack(), &x.slack[size%uint64(len(x.slack))]; slack+1 == uint64(u.now) && u.other == u.now && slack < wideSlack-1 {
				t.slacks.n++
			} else {
				x.usable(t, size, slack)
			}
			if counted[p.Func&(1<<funcBits-1)] {
				x.count(t, local, size, p.Count())
			}
			t.lastNew = x.nextAlloc
			x.nextAlloc++
			if x.tracing {
				x.trace(t, size, p.Addr)
			}
			continue
		}
		x.times[classFree].put(d)
		if t.class != classAlloc {
			t.run++
		} else {
			t.turn(classFree)
		}
		key := shapeKey(event.Free, p.Func, 0)
		if p.Way == tally.PlainTemporary {
			key |= temporaryIn
		}
		ref := p.Ref
		if ref == t.lastNew {
			key ^= temporaryIn
		}
		back := x.nextAlloc - 1 - ref
		if back >= farRef {
			back = x.farRef(t, ref)
		}
		c[colRef-perThread] = append(c[colRef-perThread], byte(back))
		if x.tracing {
			x.ended(ref)
		}
		if shape := x.shapeOf[key%shapeSpace]; shape == 0 || shape != t.shape {
			x.freeShape(t, key)
		}
		t.frees.n++
		if ref < x.head.firstAlloc {
			x.far(t, nil, &event.Block{Addr: p.Addr, Size: size, Stack: p.Stack, Thread: p.BornBy, Ref: ref, Born: int64(p.Born)})
		}
		local, ok := x.stackAt.of(p.Stack)
		if !ok {
			local = x.newLocal(p.Stack)
		}
		p.Stack = local
	}
	x.last = last
	x.run += uint64(n)
	x.head.events += uint64(n)
	if n > 0 {
		x.block.Plains(list[:n], Quantum)
	}
	return n
}
