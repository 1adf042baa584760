package recording

import (
	"errors"
	"math"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/event"
)

// eventDecoder is the reading twin of encoder: it gives back the events of one block.
type eventDecoder struct {
	quantum     int64
	maxTime     uint64                  // in units
	known       func(stack uint32) bool // nil: all are
	threadCount int                     // in the recording's table
	sampling    event.Sampling
	sampled     bool // the block has Sampled events
	cols        columns
	head        eventsHead
	buf         []byte // payload
	bufs        [256][]byte
	threads     []threadCursors
	stacks      []stackAt
	shapes      [256]shapeAt // those that there are not have noClass
	sparse      cursor
	slack       slackTable
	place       *placement // nil: the block has no addresses
	placement   *placement // for blocks that have
	distances   cursor     // of addresses
	seen        uint32     // stacks that have appeared so far
	newShape    shapeAt    // what a stack has when it appears
	news        []allocAt  // the allocations of this block so far
	times       [2]halfCursor
	long        cursor       // the rest of long times
	now         uint64       // time of the latest event, in units
	number      uint64       // of the next event in the block
	nextSparse  uint64       // number of the next event that has rare fields
	freeStacks  bool         // deallocations have call stacks of their own
	stopped     *atomic.Bool // the work is not wanted any more; nil: it is
	wanted      Fields       // of events: the columns of others are not read
	fields      Fields       // of the events of this block, which may need more
	// An event of each class: the fields that never apply to it stay as they are.
	events [3]event.Event
}

type stackAt struct {
	size  uint64
	unit  uint64
	id    uint32
	shape shapeAt // of its latest allocation; a copy saves a look-up
}

type shapeAt struct {
	class   uint8
	kind    event.Kind
	fn      event.Func
	flags   event.Flags
	flip    event.Flags // what is inverted where a Free ends the thread's latest allocation
	counted bool        // the column of counts tells
}

// noClass is the class of a shape that the block does not have.
const noClass = 255

// allocAt is what a Free later in the block is known by.
type allocAt struct {
	size   uint64
	usable uint64
	born   int64
	stack  uint32
	thread uint32
}

var errEvents = errors.New("its columns contradict each other")

// take gets an event, its number, and that of the allocation that it makes or ends (event.NoRef: neither). It returns whether it wants
// another one. The event is used again for the next one.
type take func(n, ref uint64, e *event.Event) bool

// stopEvery is after how many events a decoder looks whether its work is still wanted.
const stopEvery = 1 << 12

// decode yields the events of the block that was opened last, in order, until yield returns false.
func (x *eventDecoder) decode(yield take) (more bool, err error) {
	if err := x.prepare(); err != nil {
		return true, err
	}
	return x.stretches(func(t *threadCursors, events uint64) (more, ok bool) { return x.stretch(t, events, yield) })
}

// stretches goes through the stretches of events of one thread, until each says that there shall be no more, or that there is damage.
func (x *eventDecoder) stretches(each func(t *threadCursors, events uint64) (more, ok bool)) (more bool, err error) {
	runs, err := x.column(colRuns)
	if err != nil {
		return true, err
	}
	for left := x.head.events; left > 0; {
		both := runs.byte()
		n, who := uint64(both&half), uint64(both>>4)
		if n == half {
			n += runs.uint()
		}
		if who == half {
			who += runs.uint()
		}
		if runs.bad || who >= uint64(len(x.threads)) {
			return true, errEvents
		}
		n = min(n, left)
		left -= n
		for n > 0 {
			part := min(n, stopEvery)
			n -= part
			if x.stopped != nil && x.stopped.Load() {
				return false, nil
			}
			if more, ok := each(&x.threads[who], part); !ok {
				return true, errEvents
			} else if !more {
				return false, nil
			}
		}
	}
	return true, nil
}

// prepare makes ready to decode from the first event on.
func (x *eventDecoder) prepare() (err error) {
	if err := x.dictionaries(); err != nil {
		return err
	}
	x.fields = x.head.needed(x.wanted, x.sampled)
	if err := x.threadTable(x.fields.need); err != nil {
		return err
	}
	x.now, x.number = 0, 0
	if x.fields&Times != 0 {
		if err := x.clock(); err != nil {
			return err
		}
	}
	if x.sparse, err = x.column(colSparse); err != nil {
		return err
	}
	if err := x.addresses(); err != nil {
		return err
	}
	x.slack, x.seen, x.newShape = slackTable{}, 0, x.shapes[0]
	// Each allocation has a byte in this column: no more than that need room.
	room := min(x.head.allocs, x.cols.cols[colStack0].raw)
	if x.news = x.news[:0]; uint64(cap(x.news)) < room {
		x.news = make([]allocAt, 0, room)
	}
	for i := range x.events {
		x.events[i] = event.Event{Ref: event.NoRef}
	}
	x.nextSparse = math.MaxUint64
	if x.sparse.left() > 0 {
		x.nextSparse = x.sparse.uint()
	}
	x.freeStacks = x.cols.has(colFree0) || x.cols.has(colFree1) || x.cols.has(colFree2)
	return nil
}

// stretch yields the next events, which are all of one thread. Nearly all of them are plain; for these it has what changes from one to
// the next in variables of its own, and asks a method only for what is rare.
func (x *eventDecoder) stretch(t *threadCursors, events uint64, yield take) (more, ok bool) {
	c := &t.cols
	stack0, stack1 := c[colStack0-perThread].b, c[colStack1-perThread].b
	stack0 = stack0[:min(len(stack0), len(stack1))]
	stack1 = stack1[:len(stack0)]
	sizes, refs := c[colSize-perThread].b, c[colRef-perThread].b
	at, sizeAt, refAt := c[colStack0-perThread].p, c[colSize-perThread].p, c[colRef-perThread].p
	third := c[colStack2-perThread].left() > 0
	allocTimes, freeTimes := x.times[classAlloc], x.times[classFree]
	news, now, number, quantum := x.news, x.now, x.number, x.quantum
	timed, sized, usable, counts := x.fields&Times != 0, x.fields&Sizes != 0, x.fields&Usable != 0, x.fields&Counts != 0
	plain := x.plain() // up to this event
	firstEvent, firstAlloc, end := x.head.firstEvent, x.head.firstAlloc, x.head.end
	alloc, free := &x.events[classAlloc], &x.events[classFree]
	alloc.Thread, free.Thread = t.index, t.index
	for last := number + events; number < last; {
		if t.allocs|t.others == 0 && !t.turn() {
			return true, false
		}
		stop := number + min(last-number, t.allocs)
		t.allocs -= stop - number
		for ; number < stop; number++ {
			if timed {
				d := allocTimes.next()
				if d >= half && !x.longTime(&d) || d > end-now {
					return true, false
				}
				now += d
			}
			if uint(at) >= uint(len(stack0)) {
				return true, false
			}
			local := uint32(stack0[at]) | uint32(stack1[at])<<8
			at++
			if third {
				local |= uint32(c[colStack2-perThread].lazy()) << 16
			}
			if local >= x.seen && x.appear(local) == nil {
				return true, false
			}
			s := &x.stacks[local]
			var token uint64
			if sized {
				if w := twoBytes(sizes, sizeAt); w&0x8080 != 0x8080 {
					more := w >> 7 & 1
					sizeAt += 1 + int(more)
					token = w&0x7f | w>>1&0x3f80&-more
				} else {
					long := cursor{b: sizes, p: sizeAt}
					if token = long.uintSlow(); long.bad {
						return true, false
					}
					sizeAt = long.p
				}
			}
			size := s.size
			if token != 0 {
				size = token - 1
			}
			s.size = size
			if t.shapes.zeros > 0 {
				t.shapes.zeros--
			} else if shape := t.shapes.value(&c[colShape-perThread]); shape != 0 {
				s.shape, x.newShape = x.shapes[shape], x.shapes[shape]
			}
			shape := &s.shape
			if shape.class != classAlloc {
				return true, false
			}
			e := alloc
			e.Time, e.Stack, e.Size = int64(now)*quantum, s.id, size
			e.Kind, e.Func, e.Flags = shape.kind, shape.fn, shape.flags
			e.Usable, e.Count, e.Addr = 0, 0, 0
			if usable && shape.flags&event.HasUsable != 0 {
				known := x.slack[size%uint64(len(x.slack))]
				if t.slacks.zeros > 0 && known.now == known.other && known.now-1 < wideSlack-1 {
					t.slacks.zeros--
					e.Usable = size + uint64(known.now) - 1
				} else if e.Usable, ok = x.readUsable(t, size, t.slacks.next(&c[colSlack-perThread]), true); !ok {
					return true, false
				}
			}
			if counts && shape.counted {
				x.count(t, s, e)
			}
			ref := event.NoRef
			if shape.kind == event.Alloc {
				n := len(news)
				ref = firstAlloc + uint64(n)
				if n == cap(news) || uint64(n) == x.head.allocs || x.place != nil && !x.lies(t, e) {
					return true, false
				}
				t.lastNew = ref
				news = news[:n+1]
				a := &news[n] // field by field, since a literal is built elsewhere and copied
				a.size = size
				a.usable = e.Usable
				a.born = e.Time
				a.stack = e.Stack
				a.thread = t.index
			}
			if number < plain {
				if !yield(firstEvent+number, ref, e) {
					return false, true
				}
				continue
			}
			x.news = news
			if more, ok := x.special(t, number, e, yield); !more || !ok {
				return more, ok
			}
			plain = x.plain()
		}
		stop = number + min(last-number, t.others)
		t.others -= stop - number
		for ; number < stop; number++ {
			if timed {
				d := freeTimes.next()
				if d >= half && !x.longTime(&d) || d > end-now {
					return true, false
				}
				now += d
			}
			if t.frees.zeros > 0 {
				t.frees.zeros--
			} else if shape := t.frees.value(&c[colFreeShape-perThread]); shape != 0 {
				t.shape = x.shapes[shape]
			}
			shape := &t.shape
			e := free
			if shape.class != classFree {
				if e = &x.events[classOther]; shape.class != classOther {
					return true, false
				}
				e.Thread = t.index
			}
			e.Time = int64(now) * quantum
			e.Kind, e.Func, e.Flags = shape.kind, shape.fn, shape.flags
			if x.freeStacks && !x.freeStack(t, e) {
				return true, false
			}
			ref := event.NoRef
			if shape.class == classFree {
				if uint(refAt) >= uint(len(refs)) {
					return true, false
				}
				back := refs[refAt]
				refAt++
				ref = firstAlloc + uint64(len(news)) - 1 - uint64(back)
				if back >= farRef {
					f := &c[colFarRef-perThread]
					t.lastRef += uint64(f.int())
					if ref = t.lastRef; f.bad {
						return true, false
					}
				}
				e.Ref = ref
				flip := event.Flags(0)
				if ref == t.lastNew {
					flip = shape.flip
				}
				e.Flags ^= flip
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
					return true, false
				}
			}
			if number < plain {
				if !yield(firstEvent+number, ref, e) {
					return false, true
				}
				continue
			}
			x.news = news
			if more, ok := x.special(t, number, e, yield); !more || !ok {
				return more, ok
			}
			plain = x.plain()
		}
	}
	c[colStack0-perThread].p, c[colSize-perThread].p, c[colRef-perThread].p = at, sizeAt, refAt
	x.news, x.now, x.number = news, now, number
	x.times[classAlloc].n, x.times[classFree].n = allocTimes.n, freeTimes.n
	return true, true
}

// plain returns the number of the next event that special must see.
func (x *eventDecoder) plain() uint64 {
	if x.sampled {
		return 0
	}
	return x.nextSparse
}

// special yields an event that has rare fields, or that may.
func (x *eventDecoder) special(t *threadCursors, number uint64, e *event.Event, yield take) (more, ok bool) {
	rare := false
	for number == x.nextSparse {
		if rare = true; !x.rare(e) {
			return true, false
		}
		x.nextSparse = math.MaxUint64
		if x.sparse.left() > 0 {
			x.nextSparse = number + x.sparse.uint()
		}
	}
	ref := e.Ref
	if e.Kind == event.Alloc {
		ref = t.lastNew
	}
	if x.sampled {
		x.sampling.Weigh(e, ref)
	}
	if !yield(x.head.firstEvent+number, ref, e) {
		return false, true
	}
	if rare {
		thread := e.Thread
		*e = event.Event{Ref: event.NoRef, Thread: thread}
	}
	return true, true
}

func (x *eventDecoder) stack(t *threadCursors, first columnID) *stackAt {
	c := (*[3]cursor)(t.cols[first-perThread:])
	at := c[0].p // and so is the second one
	if at >= len(c[0].b) || at >= len(c[1].b) {
		return nil
	}
	c[0].p++
	return x.appear(uint32(c[0].b[at]) | uint32(c[1].b[at])<<8 | uint32(c[2].lazy())<<16)
}

// appear returns a stack of the dictionary, or nil. Stacks appear in the dictionary's order.
func (x *eventDecoder) appear(local uint32) *stackAt {
	if local >= x.seen {
		if local > x.seen || local >= uint32(len(x.stacks)) {
			return nil
		}
		x.stacks[local].shape = x.newShape
		x.seen++
	}
	return &x.stacks[local]
}

func (x *eventDecoder) readUsable(t *threadCursors, size uint64, code uint8, learn bool) (uint64, bool) {
	s := &x.slack[size%uint64(len(x.slack))]
	if code == 0 {
		code = s.now
	}
	if code == wideSlack {
		w := &t.cols[colWideSlack-perThread]
		usable := size + uint64(w.int())
		return usable, !w.bad
	}
	if learn {
		s.learn(code)
	}
	return size + uint64(code) - 1, code != 0
}

// count reads how many elements an allocation is of.
func (x *eventDecoder) count(t *threadCursors, s *stackAt, e *event.Event) {
	c := &t.cols[colCount-perThread]
	e.Count = predictCount(s.unit, e.Size)
	if t.counts.zeros == 0 {
		e.Count = c.uint()
		t.counts.open(c)
	} else {
		t.counts.zeros--
	}
	s.unit = learnUnit(e.Size, e.Count)
}

func (x *eventDecoder) freeStack(t *threadCursors, e *event.Event) bool {
	c := &t.cols
	local := uint32(c[colFree0-perThread].lazy()) | uint32(c[colFree1-perThread].lazy())<<8 |
		uint32(c[colFree2-perThread].lazy())<<16
	if local == 0 {
		e.FreeStack = 0
		return true
	}
	s := x.appear(local - 1)
	if s == nil {
		return false
	}
	e.FreeStack = s.id
	return true
}
