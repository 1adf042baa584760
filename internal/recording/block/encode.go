package block

import (
	"encoding/binary"
	"math"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/column"
	"github.com/heaptap/heaptap/internal/tally"
)

// Encoder turns events into the columns of one block after another. It works as the events come; what it keeps is about
// as large as the block will be before it is packed.
type Encoder struct {
	place      *placement // nil: addresses are not kept
	keepBirths bool
	tracing    bool // addresses matter

	// over the whole recording
	Tally     *tally.Tally
	nextAlloc uint64
	nextEvent uint64
	last      uint64 // time of the last event, in units

	// this block
	Head       Head
	threads    []*threadColumnsOf
	threadAt   numbering // in threads, by index
	idle       []*threadColumnsOf
	cur        *threadColumnsOf
	run        uint64
	runs       []byte
	times      [2]column.Nibbles // before allocations, before other events
	longTimes  []byte
	block      *tally.Block // what the block's events sum up to
	counted    event.Batch  // what it is given
	stacks     []stackState // by local number
	stackAt    numbering    // by stack id
	dict       []byte       // stacks
	dictLast   uint32
	shapes     []byte
	shapeOf    [shapeSpace]uint8
	shapeCount int
	newShape   uint8 // of the stack that came last into the dictionary
	sparse     []byte
	sparseLast uint64
	distances  []byte   // of addresses
	births     []uint64 // addresses of the block's allocations, 0: ended; if they are kept
	slack      slackTable
	farSums    farSums
}

type stackState struct {
	size  uint64 // last one at this stack in this block
	unit  uint64 // last size divided by the count, if that came out even; else 0
	shape uint8
}

type threadColumnsOf struct {
	index    uint32
	local    int
	class    uint8       // classAlloc, or classFree for all others
	run      uint64      // of class
	allocRun uint64      // before it, if class is not classAlloc
	lastRef  uint64      // that is in colFarRef
	lastNew  uint64      // number of the latest allocation, or NoRef
	shape    uint8       // of the latest deallocation
	allocs   column.Gaps // classAlloc events
	frees    column.Gaps // classFree and classOther events
	slacks   column.Gaps
	farSlack column.Gaps
	counts   column.Gaps // events of functions that take a count
	far      int
	lastBorn uint64
	behind   uint64 // where the latest block ends
	lastFar  uint64
	cols     [threadColumns][]byte
}

// NewEncoder returns an encoder, which keeps the addresses of blocks if addresses asks for it, and of births, see
// sealed, if births does.
func NewEncoder(addresses, births bool) *Encoder {
	e := &Encoder{keepBirths: births, Tally: tally.New()}
	if addresses {
		e.place = new(placement)
	}
	e.tracing = e.keepBirths || e.place != nil
	e.block = e.Tally.Block()
	e.begin()
	return e
}

// begin starts a new block.
func (x *Encoder) begin() {
	bytes, blocks := x.block.Live()
	x.Head = Head{FirstEvent: x.nextEvent, FirstAlloc: x.nextAlloc, Begin: x.last, Live: int64(bytes),
		LiveCount: int64(blocks)}
	x.stackAt.forget()
	x.threadAt.forget()
	x.idle = append(x.idle, x.threads...)
	x.threads = x.threads[:0]
	x.cur, x.run = nil, 0
	x.runs, x.longTimes, x.dict = x.runs[:0], x.longTimes[:0], x.dict[:0]
	x.shapes, x.sparse = x.shapes[:0], x.sparse[:0]
	x.times[classAlloc].Reset()
	x.times[classFree].Reset()
	x.stacks = x.stacks[:0]
	x.dictLast, x.shapeCount, x.newShape, x.sparseLast = 0, 0, 0, 0
	x.shapeOf = [shapeSpace]uint8{}
	x.slack = slackTable{}
	x.distances = x.distances[:0]
	if x.place != nil {
		x.place.reset()
	}
}

// Room reports whether the block takes another event.
func (x *Encoder) Room() bool { return x.Head.Events < MaxEvents && x.shapeCount < maxShapes }

func (x *Encoder) thread(index uint32) *threadColumnsOf {
	if x.cur != nil {
		x.endRun()
	}
	var t *threadColumnsOf
	if i, ok := x.threadAt.of(index); ok {
		t = x.threads[i]
	} else {
		if n := len(x.idle); n > 0 {
			t, x.idle = x.idle[n-1], x.idle[:n-1]
		} else {
			t = new(threadColumnsOf)
		}
		cols := t.cols
		for i := range cols {
			cols[i] = cols[i][:0]
		}
		*t = threadColumnsOf{index: index, local: len(x.threads), lastRef: x.Head.FirstAlloc, lastNew: event.NoRef,
			lastBorn: x.Head.Begin, cols: cols}
		x.threadAt.set(index, uint32(len(x.threads)))
		x.threads = append(x.threads, t)
	}
	x.cur = t
	return t
}

func (x *Encoder) endRun() {
	local := uint64(x.cur.local)
	x.runs = append(x.runs, byte(min(x.run, column.MaxNibble))|byte(min(local, column.MaxNibble))<<4)
	if x.run >= column.MaxNibble {
		x.runs = binary.AppendUvarint(x.runs, x.run-column.MaxNibble)
	}
	if local >= column.MaxNibble {
		x.runs = binary.AppendUvarint(x.runs, local-column.MaxNibble)
	}
	x.run = 0
}

// endRuns writes a run of allocations and the run of other events after it.
func (t *threadColumnsOf) endRuns(allocs, others uint64) {
	c := &t.cols[colClass-perThread]
	*c = append(*c, byte(min(allocs, column.MaxNibble))|byte(min(others, column.MaxNibble))<<4)
	if allocs >= column.MaxNibble || others >= column.MaxNibble {
		for _, n := range [...]uint64{allocs, others} {
			if n >= column.MaxNibble {
				r := &t.cols[colLongRun-perThread]
				*r = binary.AppendUvarint(*r, n-column.MaxNibble)
			}
		}
	}
}

// turn ends a run of allocations or of other events and begins one of class.
func (t *threadColumnsOf) turn(class uint8) {
	if class == classAlloc {
		t.endRuns(t.allocRun, t.run)
	} else {
		t.allocRun = t.run
	}
	t.class, t.run = class, 1
}

// end writes the runs that the block's end cuts off.
func (t *threadColumnsOf) end() {
	if t.class == classAlloc {
		t.endRuns(t.run, 0)
	} else {
		t.endRuns(t.allocRun, t.run)
	}
}

// local returns the number of a stack in the block, and puts the stack into the block's dictionary when it is new
// there.
func (x *Encoder) local(id uint32) uint32 {
	if n, ok := x.stackAt.of(id); ok {
		return n
	}
	return x.newLocal(id)
}

func (x *Encoder) newLocal(id uint32) uint32 {
	n := uint32(len(x.stacks))
	x.stackAt.set(id, n)
	x.stacks = append(x.stacks, stackState{shape: x.newShape})
	x.block.Open(id)
	x.dict = binary.AppendUvarint(x.dict, column.Zigzag(int64(id)-int64(x.dictLast)))
	x.dictLast = id
	return n
}

func (x *Encoder) newShapeOf(key uint32) uint8 {
	x.shapeCount++
	x.shapeOf[key] = uint8(x.shapeCount)
	x.shapes = append(x.shapes, byte(key&(1<<kindBits-1)), byte(key>>kindBits&(1<<FuncBits-1)), byte(key>>flagShift))
	return uint8(x.shapeCount)
}

// enter makes the thread of the next event, which is at time now, in units, the present one.
func (x *Encoder) enter(now uint64, thread uint32) *threadColumnsOf {
	if x.Head.Events == 0 {
		x.last = uint64(max(int64(now), int64(x.last)))
		x.Head.Begin = x.last
	}
	if t := x.cur; t != nil && t.index == thread {
		return t
	}
	return x.thread(thread)
}

// leap takes a time that is not simply a little later than the one before, and returns what of the difference goes into
// the half of a byte.
func (x *Encoder) leap(now uint64) uint64 {
	d := now - x.last
	if int64(d) < 0 {
		return 0
	}
	x.last = now
	if d >= column.MaxNibble {
		x.longTimes = column.AppendUint(x.longTimes, d-column.MaxNibble)
		d = column.MaxNibble
	}
	return d
}

// Append appends plain events and those after them, as many as the block has room for, counts them, and returns the
// others. Stacks of what was appended become the block's numbers.
func (x *Encoder) Append(rows []event.Row, full []event.Full) ([]event.Row, []event.Full) {
	for len(rows) > 0 && x.Room() {
		k := x.plain(rows)
		// At once: the processor has just learned where the thread changes.
		x.counted.Rows, rows = rows[:k], rows[k:]
		x.block.Add(&x.counted, Quantum)
	}
	x.counted.Rows = nil
	if len(rows) > 0 || len(full) == 0 {
		return rows, full
	}
	n := 0
	for ; n < len(full) && x.Room(); n++ {
		x.full(&full[n].Event)
	}
	x.counted.Full = full[:n]
	x.block.Add(&x.counted, Quantum)
	x.counted.Full = nil
	return nil, full[n:]
}

// full appends an event of any kind. There must be room.
func (x *Encoder) full(e *event.Event) {
	class := classOf[e.Kind]
	now := uint64(max(e.Time, 0)) / Quantum
	t := x.enter(now, e.Thread)
	times := &x.times[min(class, classFree)]
	times.Grow(1)
	times.Append(x.leap(now))
	x.Head.Events++
	x.run++
	if (class == classAlloc) == (t.class == classAlloc) {
		t.run++
	} else {
		t.turn(min(class, classFree))
	}
	key := shapeKey(e.Kind, e.Func, e.Flags)
	local := uint32(0)
	switch class {
	case classFree:
		local = x.free(t, e, key)
	case classOther:
		x.freeShape(t, key)
		if e.FreeStack != 0 {
			x.freeStack(t, e.FreeStack)
		}
		t.frees.N++
		x.rare(e, x.otherFields(e))
	default:
		local = x.alloc(t, e, key)
	}
	if e.Kind != event.Map { // see tally.Block.Add
		e.Stack = local
	}
}

func (x *Encoder) alloc(t *threadColumnsOf, e *event.Event, key uint32) uint32 {
	size := e.Size
	if size == math.MaxUint64 {
		size = 0 // it is in the sparse column
	}
	local := x.request(t, e.Stack, size, key)
	if e.Flags&event.HasUsable != 0 {
		x.usable(t, size, e.Usable-size)
	}
	if counted[e.Func] {
		x.count(t, local, size, e.Count)
	}
	if e.Kind == event.Alloc {
		x.born(t, size, e.Addr)
	}
	if e.Align|e.Count|e.OldAddr|e.OldSize != 0 || e.Kind == event.Map || e.Size == math.MaxUint64 || e.FreeStack != 0 {
		x.rare(e, x.allocFields(e))
	}
	return local
}

// request writes what every event of classAlloc has: a stack, a size and a shape. It returns the stack's local number.
func (x *Encoder) request(t *threadColumnsOf, stack uint32, size uint64, key uint32) uint32 {
	local := x.local(stack)
	c := &t.cols
	c[colStack0-perThread] = append(c[colStack0-perThread], byte(local))
	c[colStack1-perThread] = append(c[colStack1-perThread], byte(local>>8))
	s := &x.stacks[local]
	token := size + 1
	if size == s.size {
		token = 0
	}
	s.size = size
	c[colSize-perThread] = column.AppendUint(c[colSize-perThread], token)
	shape := x.shapeOf[key%shapeSpace]
	if shape != s.shape || shape == 0 || local > math.MaxUint16 {
		x.uncommon(t, s, local, key)
	}
	t.allocs.N++
	return local
}

// uncommon writes of a request what is mostly predicted.
func (x *Encoder) uncommon(t *threadColumnsOf, s *stackState, local, key uint32) {
	c := &t.cols
	if local > math.MaxUint16 {
		c[colStack2-perThread] = column.AppendLazy(c[colStack2-perThread], t.allocs.N, byte(local>>16))
	}
	shape := x.shapeOf[key%shapeSpace]
	if shape == 0 {
		shape = x.newShapeOf(key)
	}
	if shape != s.shape {
		c[colShape-perThread] = t.allocs.Append(c[colShape-perThread], shape)
		s.shape = shape
		x.newShape = shape
	}
}

// usable writes how many bytes beyond its size a block has.
func (x *Encoder) usable(t *threadColumnsOf, size, slack uint64) {
	s := &x.slack[size%uint64(len(x.slack))]
	t.slacks.N++
	if slack+1 == uint64(s.now) && s.other == s.now && slack < wideSlack-1 {
		return
	}
	code := uint8(wideSlack)
	if slack < wideSlack-1 {
		code = uint8(slack) + 1
	}
	if code != s.now || code == wideSlack {
		c := &t.cols
		t.slacks.N--
		c[colSlack-perThread] = t.slacks.Append(c[colSlack-perThread], code)
		t.slacks.N++
		if code == wideSlack {
			w := &c[colWideSlack-perThread]
			*w = binary.AppendUvarint(*w, column.Zigzag(int64(slack)))
		}
	}
	if code != wideSlack {
		s.learn(code)
	}
}

// count writes calloc's and reallocarray's first argument.
func (x *Encoder) count(t *threadColumnsOf, local uint32, size, count uint64) {
	s := &x.stacks[local]
	if count != s.predict(size) {
		c := &t.cols[colCount-perThread]
		*c = column.AppendUint(*c, uint64(t.counts.N-t.counts.Last))
		*c = column.AppendUint(*c, count)
		t.counts.Last = t.counts.N + 1
	}
	t.counts.N++
	s.learn(size, count)
}

// born takes note of a block that came to life.
func (x *Encoder) born(t *threadColumnsOf, size, addr uint64) {
	t.lastNew = x.nextAlloc
	x.nextAlloc++
	if x.tracing {
		x.trace(t, size, addr)
	}
}

// trace keeps the address of an allocation.
func (x *Encoder) trace(t *threadColumnsOf, size, addr uint64) {
	if x.keepBirths {
		x.births = append(x.births, addr)
	}
	if x.place != nil {
		x.lies(t, size, addr)
	}
}

func (x *Encoder) freeShape(t *threadColumnsOf, key uint32) {
	shape := x.shapeOf[key%shapeSpace]
	if shape == 0 {
		shape = x.newShapeOf(key)
	}
	if shape != t.shape {
		t.cols[colFreeShape-perThread] = t.frees.Append(t.cols[colFreeShape-perThread], shape)
		t.shape = shape
	}
}

func (x *Encoder) freeStack(t *threadColumnsOf, id uint32) {
	// 1 is added so that 0 stands for none.
	local := x.local(id) + 1
	for i := column.ID(0); i < 3; i++ {
		if b := byte(local >> (8 * i)); b != 0 {
			t.cols[colFree0+i-perThread] = column.AppendLazy(t.cols[colFree0+i-perThread], t.frees.N, b)
		}
	}
}

func (x *Encoder) free(t *threadColumnsOf, e *event.Event, key uint32) uint32 {
	x.ends(t, e.Ref, key)
	if e.FreeStack != 0 {
		x.freeStack(t, e.FreeStack)
	}
	t.frees.N++
	if e.Ref < x.Head.FirstAlloc || e.Ref >= x.nextAlloc {
		b := event.Block{Addr: e.Addr, Size: e.Size, Stack: e.Stack, Thread: e.BornBy, Ref: e.Ref,
			Born: max(e.Born, 0) / Quantum}
		x.far(t, e, &b)
	}
	if e.Align|e.Count|e.OldAddr|e.OldSize != 0 {
		x.rare(e, x.allocFields(e))
	}
	return x.local(e.Stack)
}

func (x *Encoder) farRef(t *threadColumnsOf, ref uint64) uint64 {
	c := &t.cols[colFarRef-perThread]
	*c = column.AppendUint(*c, column.Zigzag(int64(ref-t.lastRef)))
	t.lastRef = ref
	return farRef
}

// ends writes what every Free has: which allocation it ends, and a shape.
func (x *Encoder) ends(t *threadColumnsOf, ref uint64, key uint32) {
	back := x.nextAlloc - 1 - ref
	if back >= farRef {
		back = x.farRef(t, ref)
	}
	t.cols[colRef-perThread] = append(t.cols[colRef-perThread], byte(back))
	if x.tracing {
		x.ended(ref)
	}
	if ref == t.lastNew && key&reallocIn == 0 {
		key ^= temporaryIn
	}
	x.freeShape(t, key)
}

// ended forgets the address of an allocation.
func (x *Encoder) ended(ref uint64) {
	i := ref - x.Head.FirstAlloc
	if i < uint64(len(x.births)) {
		x.births[i] = 0
	}
	if x.place != nil && i < uint64(len(x.place.blocks)) {
		x.place.free(x.place.blocks[i])
	}
}
