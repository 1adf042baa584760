package tally_test

import (
	"math/rand/v2"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
)

// program is a random program: it runs against a make-believe allocator, writes down the ops that an agent would
// record, and, since it knows which block it frees, the events that ought to come of them. It is slow and obvious: it
// searches lists, keeps no table, and knows nothing of how package ledger works.
type program struct {
	rng     *rand.Rand
	threads []*thread
	now     int64
	ops     []step
	want    []event.Event
	written int64
	blocks  []*block // all there ever were; index is the number of the allocation
	reuse   []uint64 // addresses that the allocator gives out again, latest first
	next    uint64   // the next fresh address
	parents []uint64 // blocks of the parent process, not freed yet
	freed   []uint64 // addresses that were freed at some time
	forked  bool
	foreign bool // frees what is not live
	losses  bool // some deallocations go unrecorded
	late    bool // some ops come late
}

// step is an op, or two barriers if op is nil.
type step struct{ op *ledger.Op }

type thread struct {
	index    uint32
	stream   uint32
	reallocs []*realloc // under way
}

type realloc struct {
	addr    uint64
	old     *block // nil: not of this process
	size    uint64
	outcome int
	result  uint64
	gone    bool // the old block's address was given out again
}

type block struct {
	number uint64
	addr   uint64
	size   uint64
	stack  uint32
	thread uint32
	born   int64
	dead   bool // freed or being freed as far as the program knows
	lost   bool // freed, but that was not recorded
}

const (
	moves = iota
	stays
	fails
	frees
	outcomes
)

func newProgram(seed uint64) *program {
	rng := rand.New(rand.NewPCG(seed, 17))
	p := &program{rng: rng, next: 0x10000, forked: rng.IntN(3) == 0, foreign: rng.IntN(3) == 0,
		losses: rng.IntN(4) == 0, late: rng.IntN(3) == 0}
	for i := range 1 + rng.IntN(4) {
		p.threads = append(p.threads, &thread{index: uint32(i), stream: uint32(10 + 2*i)})
		if rng.IntN(4) == 0 { // a stream for signal handlers
			p.threads = append(p.threads, &thread{index: uint32(i), stream: uint32(11 + 2*i)})
		}
	}
	if p.forked {
		for i := range rng.IntN(10) {
			p.parents = append(p.parents, 0x4000+uint64(i)*8)
		}
	}
	return p
}

// run lets the program take n steps.
func (p *program) run(n int) {
	for range n {
		t := p.threads[p.rng.IntN(len(p.threads))]
		if len(t.reallocs) > 0 && p.rng.IntN(2) == 0 {
			p.reallocResult(t)
			continue
		}
		switch k := p.rng.IntN(100); {
		case k < 40:
			p.malloc(t)
		case k < 70:
			p.free(t)
		case k < 80:
			p.reallocBegin(t)
		case k < 84:
			p.reallocNull(t)
		case k < 88:
			p.failing(t)
		case k < 92:
			p.mmap(t)
		case k < 96 && p.foreign:
			p.freeForeign(t)
		case k < 98 && len(p.parents) > 0:
			p.freeParents(t)
		default:
			p.ops = append(p.ops, step{})
		}
	}
	for _, t := range p.threads {
		for len(t.reallocs) > 0 && p.rng.IntN(4) > 0 {
			p.reallocResult(t)
		}
	}
}

// op records an op and says when its event is to be written, and how that is flagged.
func (p *program) op(t *thread, op ledger.Op) (int64, event.Flags) {
	p.now += 1 + p.rng.Int64N(20)
	op.Time, op.Thread, op.Stream = p.now, t.index, t.stream
	var flags event.Flags
	if p.late && p.rng.IntN(10) == 0 {
		op.Late, flags = true, event.Late
		op.Time -= p.rng.Int64N(100)
	}
	p.ops = append(p.ops, step{&op})
	return max(op.Time, p.written), flags
}

func (p *program) write(e event.Event) {
	if e.Kind != event.Free {
		e.Ref = event.NoRef
	}
	p.written = max(p.written, e.Time)
	p.want = append(p.want, e)
}

func (p *program) size() uint64 {
	switch p.rng.IntN(12) {
	case 0:
		return 0
	case 1:
		return 1<<32 - 2 + uint64(p.rng.IntN(4))
	}
	return uint64(p.rng.IntN(200))
}

func (p *program) stack() uint32 {
	if p.rng.IntN(50) == 0 {
		return 70000
	}
	return uint32(p.rng.IntN(8))
}

// place takes an address from the allocator.
func (p *program) place() uint64 {
	if n := len(p.reuse); n > 0 && p.rng.IntN(5) > 0 {
		addr := p.reuse[n-1]
		p.reuse = p.reuse[:n-1]
		return addr
	}
	p.next += 16
	if p.rng.IntN(100) == 0 {
		p.next++ // odd
	}
	return p.next
}

// unoccupy writes what an allocation at an address says of the block that was there.
func (p *program) unoccupy(t *thread, addr uint64, time int64, late event.Flags) (lost bool) {
	for _, o := range p.threads {
		for _, r := range o.reallocs {
			if r.old != nil && !r.gone && r.addr == addr {
				r.gone = true
				f := p.freeEvent(o, r.old, time, event.Realloc|late)
				f.Func = event.ReallocFunc
				p.write(f)
			}
		}
	}
	for _, b := range p.blocks {
		if b.lost && b.addr == addr {
			b.lost, lost = false, true
			f := p.freeEvent(t, b, time, late)
			f.Func, f.Flags = event.FuncUnknown, late
			p.write(f)
		}
	}
	return lost
}

func (p *program) freeEvent(t *thread, b *block, time int64, flags event.Flags) event.Event {
	e := event.Event{Time: time, Kind: event.Free, Func: event.FreeFunc, Thread: t.index, Stack: b.stack, Flags: flags,
		Ref: b.number, Addr: b.addr, Size: b.size, Born: b.born, BornBy: b.thread}
	if flags&event.Realloc == 0 {
		for i, w := range slices.Backward(p.want) { // was that the thread's latest allocation?
			if w.Kind == event.Alloc && w.Thread == t.index {
				if p.numberOf(i) == b.number {
					e.Flags |= event.Temporary
				}
				break
			}
		}
	}
	return e
}

func (p *program) numberOf(i int) (n uint64) {
	for _, w := range p.want[:i] {
		if w.Kind == event.Alloc {
			n++
		}
	}
	return n
}

func (p *program) birth(t *thread, addr, size uint64, f event.Func, flags event.Flags, kind ledger.OpKind) {
	op := ledger.Op{Kind: kind, Func: f, Addr: addr, Size: size, Stack: p.stack()}
	if f == event.Memalign {
		op.Align = 64
	}
	if p.rng.IntN(3) > 0 {
		op.HasUsable, op.Usable = true, size+uint64(p.rng.IntN(20))
		flags |= event.HasUsable
	}
	if f == event.Calloc {
		op.Count = 3
	}
	time, late := p.op(t, op)
	p.bear(t, &op, time, flags, late)
}

func (p *program) bear(t *thread, op *ledger.Op, time int64, flags, late event.Flags) {
	lost := p.unoccupy(t, op.Addr, time, late)
	b := &block{number: uint64(len(p.blocks)), addr: op.Addr, size: op.Size, stack: op.Stack, thread: t.index,
		born: time}
	p.blocks = append(p.blocks, b)
	p.write(event.Event{Time: time, Kind: event.Alloc, Func: op.Func, Thread: t.index, Stack: op.Stack,
		Flags: flags | late,
		Addr:  op.Addr, Size: op.Size, Usable: op.Usable, Align: op.Align, Count: op.Count})
	if lost {
		p.ops = append(p.ops, step{}) // settled by barriers
	}
}

func (p *program) malloc(t *thread) {
	f := []event.Func{event.Malloc, event.Calloc, event.NewArray, event.Memalign}[p.rng.IntN(4)]
	p.birth(t, p.place(), p.size(), f, 0, ledger.OpAlloc)
}

func (p *program) reallocNull(t *thread) {
	if len(t.reallocs) > 0 {
		return // it would look like the result of that one
	}
	p.birth(t, p.place(), p.size(), event.ReallocFunc, 0, ledger.OpReallocResult)
}

func (p *program) failing(t *thread) {
	op := ledger.Op{Kind: ledger.OpAlloc, Func: event.Malloc, Size: uint64(p.rng.IntN(2)) << 50, Stack: p.stack()}
	time, late := p.op(t, op)
	if op.Size > 0 {
		p.write(event.Event{Time: time, Kind: event.Fail, Func: op.Func, Thread: t.index, Stack: op.Stack,
			Size: op.Size, Flags: late})
	}
}

func (p *program) mmap(t *thread) {
	op := ledger.Op{Kind: ledger.OpMap, Func: event.Mmap + event.Func(p.rng.IntN(4)), Addr: uint64(p.rng.IntN(3)) << 12,
		Size: uint64(p.rng.IntN(9999)), Stack: p.stack(), OldAddr: uint64(p.rng.IntN(3)) << 12, OldSize: 5}
	time, late := p.op(t, op)
	p.write(event.Event{Time: time, Kind: event.Map, Func: op.Func, Thread: t.index, Stack: op.Stack, Addr: op.Addr,
		Size: op.Size, OldAddr: op.OldAddr, OldSize: op.OldSize, Flags: late})
}

// pick returns a block that the program may free, or nil: mostly one of the latest.
func (p *program) pick() *block {
	var alive []*block
	for _, b := range p.blocks {
		if !b.dead {
			alive = append(alive, b)
		}
	}
	if len(alive) == 0 {
		return nil
	}
	if p.rng.IntN(2) == 0 {
		return alive[len(alive)-1]
	}
	return alive[p.rng.IntN(len(alive))]
}

func (p *program) release(addr uint64) {
	p.reuse = append(p.reuse, addr)
	p.freed = append(p.freed, addr)
}

func (p *program) free(t *thread) {
	b := p.pick()
	if b == nil {
		return
	}
	b.dead = true
	if p.losses && p.rng.IntN(8) == 0 {
		b.lost = true
		p.reuse = append(p.reuse, b.addr)
		return
	}
	time, late := p.op(t, ledger.Op{Kind: ledger.OpFree, Func: event.FreeFunc, Addr: b.addr})
	p.write(p.freeEvent(t, b, time, late))
	p.release(b.addr)
}

// freeForeign frees an address that was never the program's, or no longer is.
func (p *program) freeForeign(t *thread) {
	addr := uint64(0x2000) + uint64(p.rng.IntN(4))*8
	if n := len(p.freed); n > 0 && p.rng.IntN(2) == 0 {
		addr = p.freed[p.rng.IntN(n)]
	}
	if p.occupied(addr) {
		return
	}
	kind := event.Unmatched
	if p.forked && addr < 0x3000 {
		kind = event.Inherited // as far as anybody can tell
		for _, w := range p.want {
			if w.Addr == addr && (w.Kind == event.Inherited || w.Kind == event.Alloc) {
				kind = event.Unmatched
			}
		}
	}
	time, late := p.op(t, ledger.Op{Kind: ledger.OpFree, Func: event.Delete, Addr: addr})
	p.ops = append(p.ops, step{}) // settled by barriers
	p.write(event.Event{Time: time, Kind: kind, Func: event.Delete, Thread: t.index, Addr: addr, Flags: late})
}

// occupied says whether a live block, or one whose end was not recorded yet, is at an address.
func (p *program) occupied(addr uint64) bool {
	for _, b := range p.blocks {
		if b.addr == addr && (!b.dead || b.lost) {
			return true
		}
	}
	for _, o := range p.threads {
		for _, r := range o.reallocs {
			if r.addr == addr || r.result == addr {
				return true
			}
		}
	}
	return false
}

func (p *program) freeParents(t *thread) {
	i := p.rng.IntN(len(p.parents))
	addr := p.parents[i]
	p.parents = slices.Delete(p.parents, i, i+1)
	time, late := p.op(t, ledger.Op{Kind: ledger.OpFree, Func: event.FreeFunc, Addr: addr})
	p.write(event.Event{Time: time, Kind: event.Inherited, Func: event.FreeFunc, Thread: t.index, Addr: addr,
		Flags: late})
	if p.late {
		p.ops = append(p.ops, step{}) // it waits for the clock, which a late op does not move on
	}
	p.release(addr)
}

func (p *program) reallocBegin(t *thread) {
	r := &realloc{size: p.size(), outcome: p.rng.IntN(outcomes)}
	if n := len(p.parents); n > 0 && p.rng.IntN(2) == 0 {
		r.addr = p.parents[n-1]
		p.parents = p.parents[:n-1]
	} else if b := p.pick(); b != nil {
		b.dead = true
		r.addr, r.old = b.addr, b
	} else {
		return
	}
	p.op(t, ledger.Op{Kind: ledger.OpReallocBegin, Func: event.ReallocFunc, Addr: r.addr})
	if p.late && r.old == nil {
		p.ops = append(p.ops, step{}) // as above
	}
	switch r.outcome { // what the real function does, before its result is recorded
	case moves:
		r.result = p.place()
		p.release(r.addr)
	case stays:
		r.result = r.addr
	case fails:
		r.size++
	case frees:
		r.size = 0
	}
	t.reallocs = append(t.reallocs, r)
}

func (p *program) reallocResult(t *thread) {
	r := t.reallocs[len(t.reallocs)-1]
	op := ledger.Op{Kind: ledger.OpReallocResult, Func: event.ReallocFunc, Addr: r.result, Size: r.size,
		Stack: p.stack()}
	time, late := p.op(t, op)
	t.reallocs = t.reallocs[:len(t.reallocs)-1]
	if r.outcome == fails {
		p.write(event.Event{Time: time, Kind: event.Fail, Func: op.Func, Thread: t.index, Stack: op.Stack,
			Size: op.Size, Flags: late})
		if r.old != nil {
			r.old.dead = false
		} else {
			p.parents = append(p.parents, r.addr)
		}
		return
	}
	half := event.Realloc
	if r.outcome == frees {
		half = 0
	}
	flags := half
	switch {
	case r.old == nil:
		flags = 0
		p.write(event.Event{Time: time, Kind: event.Inherited, Func: op.Func, Thread: t.index, Addr: r.addr,
			Flags: half | late})
	case !r.gone:
		f := p.freeEvent(t, r.old, time, half|late)
		f.Func = op.Func
		p.write(f)
		if r.outcome == stays {
			flags |= event.InPlace
		}
	}
	if r.outcome == frees {
		p.release(r.addr)
		return
	}
	p.bear(t, &op, time, flags, late)
}
