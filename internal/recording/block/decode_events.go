package block

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// fill decodes the next n events, which are all of one thread, into the batch. Nearly all of them are plain: for these
// it keeps what changes from one to the next in local variables, and calls methods only for what is rare.
func (x *Decoder) fill(t *threadCursors, n int) (ok bool) {
	c := &t.cols
	stack0, stack1 := c[colStack0-perThread].Data, c[colStack1-perThread].Data
	stack0 = stack0[:min(len(stack0), len(stack1))]
	stack1 = stack1[:len(stack0)]
	sizes, refs := c[colSize-perThread].Data, c[colRef-perThread].Data
	at, sizeAt, refAt := c[colStack0-perThread].At, c[colSize-perThread].At, c[colRef-perThread].At
	third := c[colStack2-perThread].Left() > 0
	allocTimes, freeTimes := x.times[classAlloc], x.times[classFree]
	stacks := x.stacks
	news, now, number, quantum := x.news, x.now, x.number, x.Quantum
	timed, sized, usable, counts := x.fields&Times != 0, x.fields&Sizes != 0, x.fields&Usable != 0, x.fields&Counts != 0
	firstAlloc, end, thread := x.Head.FirstAlloc, x.Head.End, t.index
	b, place, ok := &x.batch, x.batch.n, true
	for last := number + uint64(n); number < last; {
		if t.allocs|t.others == 0 {
			if c := &t.cols[colClass-perThread]; c.At < len(c.Data) &&
				c.Data[c.At]&column.MaxNibble != column.MaxNibble && c.Data[c.At]>>4 != column.MaxNibble {
				t.allocs, t.others = uint64(c.Data[c.At]&column.MaxNibble), uint64(c.Data[c.At]>>4)
				c.At++
			} else if !t.turn() {
				return false
			}
		}
		stop := number + min(last-number, t.allocs)
		t.allocs -= stop - number
		for ; number < stop; number++ {
			if timed {
				d := allocTimes.Next()
				if d >= column.MaxNibble && !x.longTime(&d) || d > end-now {
					return false
				}
				now += d
			}
			if uint(at) >= uint(len(stack0)) {
				return false
			}
			local := uint32(stack0[at]) | uint32(stack1[at])<<8
			at++
			if third {
				local |= uint32(c[colStack2-perThread].Lazy()) << 16
			}
			if uint(local) >= uint(len(stacks)) {
				return false
			}
			s := &stacks[local]
			var token uint64
			if sized {
				if w := column.TwoBytes(sizes, sizeAt); w&0x8080 != 0x8080 {
					more := w >> 7 & 1
					sizeAt += 1 + int(more)
					token = w&0x7f | w>>1&0x3f80&-more
				} else {
					long := column.Cursor{Data: sizes, At: sizeAt}
					if token = long.UintSlow(); long.Bad {
						return false
					}
					sizeAt = long.At
				}
			}
			size := s.size
			// token - 1 if there is one, without a branch
			size ^= (size ^ (token - 1)) & uint64(int64(token|-token)>>63)
			s.size = size
			if t.shapes.Zeros > 0 {
				t.shapes.Zeros--
			} else if shape := t.shapes.Value(&c[colShape-perThread]); shape != 0 {
				s.shape, x.newShape = x.shapes[shape], x.shapes[shape]
			}
			shape := &s.shape
			if shape.class != classAlloc && !x.appear(s) {
				return false
			}
			e := &b.events[place&255]
			e.Time, e.Ref, e.Size, e.Born = int64(now)*quantum, event.NoRef, size, 0
			e.Stack, e.Thread, e.BornBy = s.id, thread, 0
			e.Kind, e.Func, e.Flags = shape.kind, shape.fn, shape.flags
			e.Usable, e.Count, e.FreeStack = 0, 0, 0
			if usable && shape.flags&event.HasUsable != 0 {
				known := x.slack[size%uint64(len(x.slack))]
				if t.slacks.Zeros > 0 && known.now == known.other && known.now-1 < wideSlack-1 {
					t.slacks.Zeros--
					e.Usable = size + uint64(known.now) - 1
				} else if e.Usable, ok = x.readUsable(t, size, t.slacks.Next(&c[colSlack-perThread]), true); !ok {
					return false
				}
			}
			if counts && shape.counted {
				x.count(t, s, e)
			}
			ref := event.NoRef
			if shape.kind == event.Alloc {
				n := len(news)
				ref = firstAlloc + uint64(n)
				if n == cap(news) || uint64(n) == x.Head.Allocs || x.place != nil && !x.lies(t, e) {
					return false
				}
				t.lastNew = ref
				news = news[:n+1]
				a := &news[n] // set field by field, since the compiler builds a literal elsewhere and copies it
				a.size = size
				a.usable = e.Usable
				a.born = e.Time
				a.stack = e.Stack
				a.thread = thread
			} else {
				e.Addr = 0
			}
			b.refs[place&255] = ref
			place++
		}
		stop = number + min(last-number, t.others)
		t.others -= stop - number
		for ; number < stop; number++ {
			if timed {
				d := freeTimes.Next()
				if d >= column.MaxNibble && !x.longTime(&d) || d > end-now {
					return false
				}
				now += d
			}
			if t.frees.Zeros > 0 {
				t.frees.Zeros--
			} else if shape := t.frees.Value(&c[colFreeShape-perThread]); shape != 0 {
				t.shape = x.shapes[shape]
			}
			shape := &t.shape
			e := &b.events[place&255]
			e.Time, e.Thread = int64(now)*quantum, thread
			e.Kind, e.Func, e.Flags = shape.kind, shape.fn, shape.flags
			if x.freeStacks && !x.freeStack(t, e) {
				return false
			}
			ref := event.NoRef
			if shape.class == classFree {
				if uint(refAt) >= uint(len(refs)) {
					return false
				}
				back := refs[refAt]
				refAt++
				ref = firstAlloc + uint64(len(news)) - 1 - uint64(back)
				if back >= farRef {
					f := &c[colFarRef-perThread]
					t.lastRef += uint64(f.Int())
					if ref = t.lastRef; f.Bad {
						return false
					}
				}
				e.Ref = ref
				if ref == t.lastNew && shape.flags&event.Realloc == 0 {
					e.Flags ^= event.Temporary
				}
				e.Count = 0
				if i := ref - firstAlloc; i < uint64(len(news)) {
					a := &news[i]
					e.Stack, e.Size, e.Born, e.BornBy, e.Usable = a.stack, a.size, a.born, a.thread, 0
					if shape.flags&event.HasUsable != 0 {
						e.Usable = a.usable
					}
					if x.place != nil {
						e.Addr = x.place.blocks[i].addr
						x.place.free(x.place.blocks[i])
					}
				} else if e.Usable = 0; !x.far(t, e) {
					return false
				}
			} else if e.Ref, e.Addr, e.Stack, e.Size, e.Usable, e.Born, e.BornBy, e.Count = ref, 0, 0, 0, 0, 0,
				0, 0; shape.class != classOther {
				return false
			}
			b.refs[place&255] = ref
			place++
		}
	}
	c[colStack0-perThread].At, c[colSize-perThread].At, c[colRef-perThread].At = at, sizeAt, refAt
	x.news, x.now, x.number, b.n = news, now, number, place
	x.times[classAlloc].At, x.times[classFree].At = allocTimes.At, freeTimes.At
	return true
}
