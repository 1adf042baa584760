package recording

import (
	"encoding/binary"
	"math"

	"github.com/heaptap/heaptap/internal/event"
)

// encoder turns events into the columns of one block after another. It works as the events come; what it keeps is about
// as large as the block will be before it is packed.
type encoder struct {
	addresses bool

	// over the whole recording
	stacks    []stackState           // by stack id
	high      map[uint32]*stackState // stack ids beyond maxDenseStack
	epoch     uint32                 // number of the block, from 1: entries of another one are void
	nextAlloc uint64
	nextEvent uint64
	last      uint64 // time of the last event, in units
	live      int64  // bytes
	liveCount int64  // blocks

	// this block
	head       eventsHead
	threads    []*threadColumnsOf
	byThread   map[uint32]*threadColumnsOf
	idle       []*threadColumnsOf
	cur        *threadColumnsOf
	run        uint64
	runs       []byte
	times      []byte
	dict       []byte // stacks
	dictLast   uint32
	dictCount  uint32
	shapes     []byte
	shapeOf    [shapeSpace]uint8
	shapeCount int
	newShape   uint8 // of the stack that came last into the dictionary
	sparse     []byte
	sparseLast uint64
	slack      slackTable
	scratch    []byte
}

const maxDenseStack = 1 << 24

type stackState struct {
	size  uint64 // last one at this stack in this block
	epoch uint32
	local uint32
	shape uint8
}

type threadColumnsOf struct {
	index    uint32
	local    int
	class    uint8
	run      uint64 // of class
	lastRef  uint64
	lastNew  uint64 // number of the latest allocation, or NoRef
	shape    uint8  // of the latest deallocation
	allocs   gaps   // classAlloc events
	frees    gaps   // classFree and classOther events
	slacks   gaps
	farSlack gaps
	far      int
	lastBorn uint64
	lastAddr uint64
	lastFar  uint64
	cols     [threadColumns][]byte
}

func newEncoder(addresses bool) *encoder {
	e := &encoder{addresses: addresses, byThread: make(map[uint32]*threadColumnsOf)}
	e.begin()
	return e
}

// begin starts a new block.
func (x *encoder) begin() {
	x.head = eventsHead{firstEvent: x.nextEvent, firstAlloc: x.nextAlloc, begin: x.last, live: x.live,
		liveCount: x.liveCount, peak: x.live}
	x.epoch++
	x.idle = append(x.idle, x.threads...)
	x.threads = x.threads[:0]
	clear(x.byThread)
	x.cur, x.run = nil, 0
	x.runs, x.times, x.dict, x.shapes, x.sparse = x.runs[:0], x.times[:0], x.dict[:0], x.shapes[:0], x.sparse[:0]
	x.dictLast, x.dictCount, x.shapeCount, x.newShape, x.sparseLast = 0, 0, 0, 0, 0
	x.shapeOf = [shapeSpace]uint8{}
	x.slack = slackTable{}
}

// room reports whether the block takes another event.
func (x *encoder) room() bool { return x.head.events < BlockEvents && x.shapeCount < maxShapes }

func (x *encoder) thread(index uint32) *threadColumnsOf {
	if x.cur != nil {
		x.endRun()
	}
	t := x.byThread[index]
	if t == nil {
		if n := len(x.idle); n > 0 {
			t, x.idle = x.idle[n-1], x.idle[:n-1]
		} else {
			t = new(threadColumnsOf)
		}
		cols := t.cols
		for i := range cols {
			cols[i] = cols[i][:0]
		}
		*t = threadColumnsOf{index: index, local: len(x.threads), lastRef: x.head.firstAlloc, lastNew: event.NoRef,
			lastBorn: x.head.begin, cols: cols}
		x.threads = append(x.threads, t)
		x.byThread[index] = t
	}
	x.cur = t
	return t
}

func (x *encoder) endRun() {
	x.runs = binary.AppendUvarint(x.runs, uint64(x.cur.local))
	x.runs = binary.AppendUvarint(x.runs, x.run)
	x.run = 0
}

func (t *threadColumnsOf) endClass() {
	if t.run > 0 {
		c := &t.cols[colClass-perThread]
		*c = appendUint(*c, t.run<<2|uint64(t.class))
		t.run = 0
	}
}

// stack returns the state of a stack, and puts the stack into the block's dictionary when it is new there.
func (x *encoder) stack(id uint32) *stackState {
	var s *stackState
	switch {
	case id < uint32(len(x.stacks)):
		s = &x.stacks[id]
	case id < maxDenseStack:
		n := max(int(id)+1, 2*len(x.stacks), 1024)
		grown := make([]stackState, n)
		copy(grown, x.stacks)
		x.stacks = grown
		s = &x.stacks[id]
	default:
		if x.high == nil {
			x.high = make(map[uint32]*stackState)
		}
		if s = x.high[id]; s == nil {
			s = new(stackState)
			x.high[id] = s
		}
	}
	if s.epoch != x.epoch {
		*s = stackState{epoch: x.epoch, local: x.dictCount, shape: x.newShape}
		x.dictCount++
		x.dict = binary.AppendUvarint(x.dict, zigzag(int64(id)-int64(x.dictLast)))
		x.dictLast = id
	}
	return s
}

func (x *encoder) newShapeOf(key uint32) uint8 {
	x.shapeCount++
	x.shapeOf[key] = uint8(x.shapeCount)
	x.shapes = append(x.shapes, byte(key&(1<<kindBits-1)), byte(key>>kindBits&(1<<funcBits-1)), byte(key>>flagShift))
	return uint8(x.shapeCount)
}

// add appends an event. There must be room.
func (x *encoder) add(e *event.Event) {
	now := uint64(e.Time) / Quantum
	if now < x.last || e.Time < 0 {
		now = x.last
	}
	d := now - x.last
	if x.head.events == 0 {
		d = 0
		x.head.begin = now
	}
	x.last = now
	if d < 0x80 {
		x.times = append(x.times, byte(d))
	} else {
		x.times = binary.AppendUvarint(x.times, d)
	}

	t := x.cur
	if t == nil || t.index != e.Thread {
		t = x.thread(e.Thread)
	}
	x.run++

	key := shapeKey(e.Kind, e.Func, e.Flags)
	switch e.Kind {
	case event.Free:
		if t.class != classFree {
			t.endClass()
			t.class = classFree
		}
		t.run++
		x.free(t, e, key)
	case event.Unmatched, event.Inherited:
		if t.class != classOther {
			t.endClass()
			t.class = classOther
		}
		t.run++
		x.freeShape(t, key)
		if e.FreeStack != 0 {
			x.freeStack(t, e.FreeStack)
		}
		t.frees.n++
		x.rare(e, x.otherFields(e))
	default:
		if t.class != classAlloc {
			t.endClass()
			t.class = classAlloc
		}
		t.run++
		x.alloc(t, e, key)
	}
	x.head.events++
}

func (x *encoder) alloc(t *threadColumnsOf, e *event.Event, key uint32) {
	c := &t.cols
	s := x.stack(e.Stack)
	c[colStack0-perThread] = append(c[colStack0-perThread], byte(s.local))
	c[colStack1-perThread] = append(c[colStack1-perThread], byte(s.local>>8))
	if s.local > math.MaxUint16 {
		c[colStack2-perThread] = put(c[colStack2-perThread], t.allocs.n, byte(s.local>>16))
	}

	size := e.Size
	if size == math.MaxUint64 {
		size = 0 // it is in the sparse column
	}
	token := size + 1
	if size == s.size {
		token = 0
	}
	s.size = size
	c[colSize-perThread] = appendUint(c[colSize-perThread], token)

	shape := x.shapeOf[key]
	if shape == 0 {
		shape = x.newShapeOf(key)
	}
	if shape != s.shape {
		c[colShape-perThread] = t.allocs.put(c[colShape-perThread], shape)
		s.shape = shape
		x.newShape = shape
	}
	t.allocs.n++

	if e.Flags&event.HasUsable != 0 {
		code := slackCode(size, e.Usable)
		if code != x.slack[size%uint64(len(x.slack))].now || code == wideSlack {
			c[colSlack-perThread] = t.slacks.put(c[colSlack-perThread], code)
			if code == wideSlack {
				w := &c[colWideSlack-perThread]
				*w = binary.AppendUvarint(*w, zigzag(int64(e.Usable-size)))
			}
		}
		if code != wideSlack {
			x.slack.learn(size, code)
		}
		t.slacks.n++
	}

	if e.Kind == event.Alloc {
		t.lastNew = x.nextAlloc
		x.nextAlloc++
		x.head.allocs++
		x.live += int64(e.Size)
		x.liveCount++
		x.head.peak = max(x.head.peak, x.live)
		if x.addresses {
			a := &c[colAddr-perThread]
			*a = binary.AppendUvarint(*a, zigzag(int64(e.Addr-t.lastAddr)))
			t.lastAddr = e.Addr
		}
	}
	if e.Align|e.Count|e.OldAddr|e.OldSize != 0 || e.Kind == event.Map || e.Size == math.MaxUint64 || e.FreeStack != 0 {
		x.rare(e, x.allocFields(e))
	}
}

func (x *encoder) freeShape(t *threadColumnsOf, key uint32) {
	shape := x.shapeOf[key]
	if shape == 0 {
		shape = x.newShapeOf(key)
	}
	if shape != t.shape {
		t.cols[colFreeShape-perThread] = t.frees.put(t.cols[colFreeShape-perThread], shape)
		t.shape = shape
	}
}

func (x *encoder) freeStack(t *threadColumnsOf, id uint32) {
	// 1 is added so that 0 stands for none.
	local := x.stack(id).local + 1
	for i := columnID(0); i < 3; i++ {
		if b := byte(local >> (8 * i)); b != 0 {
			t.cols[colFree0+i-perThread] = put(t.cols[colFree0+i-perThread], t.frees.n, b)
		}
	}
}

func (x *encoder) free(t *threadColumnsOf, e *event.Event, key uint32) {
	c := &t.cols
	d := zigzag(int64(e.Ref - t.lastRef))
	t.lastRef = e.Ref
	c[colRef-perThread] = appendUint(c[colRef-perThread], d)
	if e.Ref == t.lastNew && key&reallocIn == 0 {
		key ^= temporaryIn
	}
	x.freeShape(t, key)
	if e.FreeStack != 0 {
		x.freeStack(t, e.FreeStack)
	}
	t.frees.n++
	if e.Ref < x.head.firstAlloc || e.Ref >= x.nextAlloc {
		x.far(t, e)
	}
	x.live -= int64(e.Size)
	x.liveCount--
	if e.Align|e.Count|e.OldAddr|e.OldSize != 0 {
		x.rare(e, x.allocFields(e))
	}
}

// finish writes the block into p and makes ready for the next one. It returns the block's head.
func (x *encoder) finish(p *payload) eventsHead {
	if x.cur != nil {
		x.endRun()
	}
	h := &x.head
	h.end = x.last
	h.threads, h.stacks, h.shapes = uint64(len(x.threads)), uint64(x.dictCount), uint64(x.shapeCount)
	if x.addresses {
		h.flags |= headAddresses
	}
	p.reset()
	h.encode(p)
	x.scratch = x.scratch[:0]
	for _, t := range x.threads {
		t.endClass()
		x.scratch = binary.AppendUvarint(x.scratch, uint64(t.index))
		for i := range t.cols {
			x.scratch = binary.AppendUvarint(x.scratch, uint64(len(t.cols[i])))
		}
	}
	p.column(colThreads, x.scratch)
	p.column(colRuns, x.runs)
	p.column(colTimes, x.times)
	p.column(colStacks, x.dict)
	p.column(colShapes, x.shapes)
	p.column(colSparse, x.sparse)
	for i := range threadColumns {
		raw := x.scratch[:0]
		if len(x.threads) == 1 {
			raw = x.threads[0].cols[i]
		} else {
			for _, t := range x.threads {
				raw = append(raw, t.cols[i]...)
			}
			x.scratch = raw
		}
		p.column(perThread+columnID(i), raw)
	}
	x.nextEvent += h.events
	done := *h
	x.begin()
	return done
}
