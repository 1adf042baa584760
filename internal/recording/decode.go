package recording

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// eventDecoder is the reading twin of encoder: it gives back the events of one block.
type eventDecoder struct {
	quantum     int64
	known       func(stack uint32) bool // nil: all are
	threadCount int                     // in the recording's table
	sampling    event.Sampling
	sampled     bool // the block has Sampled events
	cols        columns
	head        eventsHead
	buf         []byte // payload
	bufs        map[columnID][]byte
	threads     []threadCursors
	stacks      []stackAt
	shapes      []shapeAt
	sparse      cursor
	slack       slackTable
	place       *placement // nil: the block has no addresses
	placement   *placement // for blocks that have
	distances   cursor     // of addresses
	seen        uint32     // stacks that have appeared so far
	newShape    uint8      // what a stack has when it appears
	news        []allocAt  // the allocations of this block so far
	// An event of each class: the fields that never apply to it stay as they are.
	events [3]event.Event
}

type stackAt struct {
	size  uint64
	unit  uint64
	id    uint32
	shape uint8
}

type shapeAt struct {
	class uint8
	kind  event.Kind
	fn    event.Func
	flags event.Flags
}

// allocAt is what a Free later in the block is known by.
type allocAt struct {
	size   uint64
	usable uint64
	born   int64
	stack  uint32
	thread uint32
}

// freeThreads is how many threads a block may name that are not in the recording's table: their block may be damaged.
const freeThreads = 1 << 16

var errEvents = errors.New("its columns contradict each other")

// open prepares a block; decode then yields its events.
func (x *eventDecoder) open(p []byte) error {
	if err := x.cols.parse(p); err != nil {
		return err
	}
	h := &x.head
	h.decode(&x.cols.head)
	if x.cols.head.bad || h.events == 0 || h.events > 4*BlockEvents || h.allocs > h.events ||
		h.threads > min(h.events, max(freeThreads, uint64(x.threadCount))) ||
		h.stacks > 2*h.events || h.shapes > maxShapes+1 || h.end < h.begin || h.end > math.MaxInt64/uint64(x.quantum) {
		return errors.New("its head is invalid")
	}
	if h.flags&^(headAddresses|headChanges) != 0 {
		return fmt.Errorf("it uses features that this heaptap does not know (flags %#x); update heaptap", h.flags)
	}
	return nil
}

func (x *eventDecoder) column(id columnID) (cursor, error) {
	if x.bufs == nil {
		x.bufs = make(map[columnID][]byte)
	}
	b, err := x.cols.unpack(id, x.bufs[id])
	if err != nil {
		return cursor{}, err
	}
	if x.cols.cols[id].method == methodZstd && cap(b) > cap(x.bufs[id]) {
		x.bufs[id] = b
	}
	return cursor{b: b}, nil
}

func (x *eventDecoder) dictionaries() error {
	h := &x.head
	c, err := x.column(colStacks)
	if err != nil {
		return err
	}
	x.stacks = x.stacks[:0]
	last := int64(0)
	for range h.stacks {
		last += c.int()
		if c.bad || last < 0 || last > math.MaxUint32 {
			return errors.New("its list of stacks is invalid")
		}
		id := uint32(last)
		if x.known != nil && !x.known(id) {
			id = 0
		}
		x.stacks = append(x.stacks, stackAt{id: id})
	}
	if c, err = x.column(colShapes); err != nil {
		return err
	}
	x.shapes, x.sampled = append(x.shapes[:0], shapeAt{}), false // shapes count from 1
	for range h.shapes {
		k, f, fl := c.byte(), c.byte(), c.byte()
		if c.bad || k >= uint8(event.KindCount) || f >= 1<<funcBits || fl >= 1<<flagBits {
			return errors.New("its list of kinds of events is invalid")
		}
		x.shapes = append(x.shapes, shapeAt{classOf[k], event.Kind(k), event.Func(f), event.Flags(fl)})
		x.sampled = x.sampled || event.Flags(fl)&event.Sampled != 0
	}
	return nil
}

// decode yields the events of the block that was opened last, in order, until yield returns false. The event that yield
// gets is used again for the next one.
func (x *eventDecoder) decode(yield func(*event.Event) bool) (more bool, err error) {
	if err := x.dictionaries(); err != nil {
		return true, err
	}
	if err := x.threadTable(); err != nil {
		return true, err
	}
	runs, err := x.column(colRuns)
	if err != nil {
		return true, err
	}
	var times [2]halfCursor
	for class, id := range [...]columnID{classAlloc: colTimes, classFree: colFreeTimes} {
		c, err := x.column(id)
		if err != nil {
			return true, err
		}
		times[class].b = c.b
	}
	long, err := x.column(colLongTimes)
	if err != nil {
		return true, err
	}
	if x.sparse, err = x.column(colSparse); err != nil {
		return true, err
	}
	if err := x.addresses(); err != nil {
		return true, err
	}
	x.slack, x.seen, x.newShape = slackTable{}, 0, 0
	x.news = x.news[:0]
	for i := range x.events {
		x.events[i] = event.Event{Ref: event.NoRef}
	}
	left := uint64(0)
	var t *threadCursors
	nextSparse := uint64(math.MaxUint64)
	if x.sparse.left() > 0 {
		nextSparse = x.sparse.uint()
	}
	now, quantum := x.head.begin, x.quantum
	freeStacks := x.cols.has(colFree0) || x.cols.has(colFree1) || x.cols.has(colFree2)
	for n := range x.head.events {
		for left == 0 {
			both := runs.byte()
			who := uint64(both >> 4)
			if left = uint64(both & half); left == half {
				left += runs.uint()
			}
			if who == half {
				who += runs.uint()
			}
			if runs.bad || who >= uint64(len(x.threads)) {
				return true, errEvents
			}
			t = &x.threads[who]
		}
		left--
		if t.run == 0 && !t.turn() {
			return true, errEvents
		}
		t.run--
		d := times[t.class&1].next()
		if d >= half {
			if d > half {
				return true, errEvents
			}
			if d += long.uint(); long.bad {
				return true, errEvents
			}
		}
		if d > x.head.end-now {
			return true, errEvents
		}
		now += d
		var e *event.Event
		ok := false
		if t.class == classAlloc {
			e = &x.events[classAlloc]
			e.Time, e.Thread = int64(now)*quantum, t.index
			ok = x.alloc(t, e)
		} else if s := x.freeShape(t); s != nil {
			e = &x.events[s.class]
			e.Time, e.Thread = int64(now)*quantum, t.index
			e.Kind, e.Func, e.Flags = s.kind, s.fn, s.flags
			ok = (!freeStacks || x.freeStack(t, e)) && (s.class != classFree || x.free(t, e))
		}
		if !ok {
			return true, errEvents
		}
		rare := false
		for n == nextSparse {
			if rare = true; !x.rare(e) {
				return true, errEvents
			}
			nextSparse = math.MaxUint64
			if x.sparse.left() > 0 {
				nextSparse = n + x.sparse.uint()
			}
		}
		if x.sampled {
			x.weigh(t, e)
		}
		if !yield(e) {
			return false, nil
		}
		if rare {
			*e = event.Event{Ref: event.NoRef}
		}
	}
	return true, nil
}

// weigh gives an event of a block that has samples its weight.
func (x *eventDecoder) weigh(t *threadCursors, e *event.Event) {
	ref := e.Ref
	if e.Kind == event.Alloc {
		ref = t.lastNew
	}
	x.sampling.Weigh(e, ref)
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

func (x *eventDecoder) alloc(t *threadCursors, e *event.Event) bool {
	s := x.stack(t, colStack0)
	if s == nil {
		return false
	}
	c := &t.cols
	if sizes := &c[colSize-perThread]; !sizes.zero() {
		if size := sizes.uint(); size != 0 {
			s.size = size - 1
		}
		if sizes.bad {
			return false
		}
	}
	e.Stack, e.Size = s.id, s.size
	if shape := t.shapes.next(&c[colShape-perThread]); shape != 0 {
		s.shape, x.newShape = shape, shape
	}
	if int(s.shape) >= len(x.shapes) {
		return false
	}
	shape := &x.shapes[s.shape]
	e.Kind, e.Func, e.Flags = shape.kind, shape.fn, shape.flags
	if s.shape == 0 || shape.class != classAlloc {
		return false
	}
	e.Usable = 0
	if e.Flags&event.HasUsable != 0 {
		var ok bool
		if e.Usable, ok = x.readUsable(t, e.Size, t.slacks.next(&c[colSlack-perThread]), true); !ok {
			return false
		}
	}
	e.Count = 0
	if counted[e.Func] {
		e.Count = predictCount(s.unit, e.Size)
		if t.counts.zeros == 0 {
			e.Count = c[colCount-perThread].uint()
			t.counts.open(&c[colCount-perThread])
		} else {
			t.counts.zeros--
		}
		s.unit = learnUnit(e.Size, e.Count)
	}
	e.Addr = 0
	if e.Kind == event.Alloc {
		if uint64(len(x.news)) == x.head.allocs {
			return false
		}
		if x.place != nil && !x.lies(t, e) {
			return false
		}
		t.lastNew = x.head.firstAlloc + uint64(len(x.news))
		n := len(x.news)
		if n == cap(x.news) {
			x.news = slices.Grow(x.news, max(1024, n/2))
		}
		x.news = x.news[:n+1]
		a := &x.news[n] // field by field, since a literal is built elsewhere and copied
		a.size = e.Size
		a.usable = e.Usable
		a.born = e.Time
		a.stack = e.Stack
		a.thread = e.Thread
	}
	return true
}

// freeShape returns the shape of an event that is not of classAlloc, or nil.
func (x *eventDecoder) freeShape(t *threadCursors) *shapeAt {
	if shape := t.frees.next(&t.cols[colFreeShape-perThread]); shape != 0 {
		t.shape = shape
	}
	if int(t.shape) >= len(x.shapes) || x.shapes[t.shape].class == classAlloc {
		return nil
	}
	return &x.shapes[t.shape]
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

func (x *eventDecoder) free(t *threadCursors, e *event.Event) bool {
	c := &t.cols[colRef-perThread]
	back := c.byte()
	e.Ref = x.head.firstAlloc + uint64(len(x.news)) - 1 - uint64(back)
	if back >= farRef {
		f := &t.cols[colFarRef-perThread]
		t.lastRef += uint64(f.int())
		e.Ref, c.bad = t.lastRef, c.bad || f.bad
	}
	if c.bad {
		return false
	}
	if e.Ref == t.lastNew && e.Flags&event.Realloc == 0 {
		e.Flags ^= event.Temporary
	}
	if i := e.Ref - x.head.firstAlloc; e.Ref >= x.head.firstAlloc && i < uint64(len(x.news)) {
		a := &x.news[i]
		e.Stack, e.Size, e.Born, e.BornBy, e.Addr = a.stack, a.size, a.born, a.thread, 0
		if x.place != nil {
			e.Addr = x.place.blocks[i].addr
			x.place.free(x.place.blocks[i])
		}
		e.Usable = 0
		if e.Flags&event.HasUsable != 0 {
			e.Usable = a.usable
		}
		return true
	}
	e.Usable = 0
	return x.far(t, e)
}
