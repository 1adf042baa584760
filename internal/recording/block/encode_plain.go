package block

import (
	"math"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// plain is the inner loop of Append: it appends the first rows of list that are of one thread, as many as there is room
// for, and returns their number. Their stacks become the block's numbers.
func (x *Encoder) plain(list []event.Row) int {
	t := x.enter(list[0].Time, list[0].Thread)
	list = list[:min(uint64(len(list)), MaxEvents-x.Head.Events)]
	x.times[classAlloc].Grow(len(list))
	x.times[classFree].Grow(len(list))
	c := &t.cols
	last := x.last
	n := 0
	for ; n < len(list) && x.shapeCount < maxShapes; n++ {
		p := &list[n]
		if p.Thread != t.index {
			break
		}
		d := p.Time - last
		if d >= column.MaxNibble {
			x.last = last
			d = x.leap(p.Time)
			last = x.last
		} else {
			last = p.Time
		}
		size := p.Size
		if p.Kind == event.RowAlloc {
			x.times[classAlloc].Append(d)
			if t.class == classAlloc {
				t.run++
			} else if allocs, others := t.allocRun, t.run; allocs|others < column.MaxNibble { // turn, for most runs
				c[colClass-perThread] = append(c[colClass-perThread], byte(allocs|others<<4))
				t.class, t.run = classAlloc, 1
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
			c[colSize-perThread] = column.AppendUint(c[colSize-perThread], token)
			key := shapeKey(event.Alloc, p.Func, event.HasUsable)
			if shape := x.shapeOf[key%shapeSpace]; shape != s.shape || shape == 0 || local > math.MaxUint16 {
				x.uncommon(t, s, local, key)
			}
			t.allocs.N++
			if slack, u := p.Slack(), &x.slack[size%uint64(len(x.slack))]; slack+1 == uint64(u.now) &&
				u.other == u.now && slack < wideSlack-1 {
				t.slacks.N++
			} else {
				x.usable(t, size, slack)
			}
			if counted[p.Func&(1<<FuncBits-1)] {
				x.count(t, local, size, p.Count())
			}
			t.lastNew = x.nextAlloc
			x.nextAlloc++
			if x.tracing {
				x.trace(t, size, p.Addr)
			}
			continue
		}
		x.times[classFree].Append(d)
		if t.class != classAlloc {
			t.run++
		} else {
			t.turn(classFree)
		}
		key := shapeKey(event.Free, p.Func, 0)
		if p.Kind == event.RowTemporary {
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
		t.frees.N++
		if ref < x.Head.FirstAlloc {
			x.far(t, nil, &event.Block{Addr: p.Addr, Size: size, Stack: p.Stack, Thread: p.BornBy, Ref: ref,
				Born: int64(p.Born)})
		}
		local, ok := x.stackAt.of(p.Stack)
		if !ok {
			local = x.newLocal(p.Stack)
		}
		p.Stack = local
	}
	x.last = last
	x.run += uint64(n)
	x.Head.Events += uint64(n)
	return n
}
