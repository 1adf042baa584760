package ledger_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
)

// world is a program of several threads on an allocator that gives addresses out again at once, an agent and a
// recorder. What a call consists of are steps of their own: reading the clock, publishing the record, the allocator's
// doing. Between any two of them other threads run, or a debugger stops the thread for longer than the recorder waits
// for it. So records arrive late, in another order than things happened, and, if the clock is coarse, with equal
// times.
type world struct {
	rng     *rand.Rand
	now     int64
	tick    int64 // of the clock
	threads []*worker
	fresh   uint64
	reuse   []uint64 // addresses, latest first
	shared  []*block // that any thread may end
	parents []uint64 // blocks from before a fork, or that another allocator gave
	blocks  []*block // all there ever were
	acts    []*act   // by the number that the deallocation's op bears
	handed  map[uint64]*handing
	records int
	passes  int // addresses that went from one thread to another
}

type block struct {
	id    int
	addr  uint64
	size  uint64
	stack uint32
}

// act is a deallocation, or a realloc's end of its old block; nil: it ends no block of the program's.
type act struct {
	ends   *block
	thread uint32
	time   int64
}

// handing says what happened to an address within a tick.
type handing struct {
	tick   int64
	thread uint32
	ops    int  // of that thread, since it has the address
	passed bool // from one thread to another
}

type worker struct {
	index     uint32
	steps     []func() // of the call under way
	busy      bool     // between the clock and the record's publication
	stopped   int64    // until then
	published []*ledger.Op
	stamp     *ledger.Op // the record that is being made
	tight     int64      // a tick in which a realloc under way was given what has passed from another thread

	// The recorder's view.
	taken     int // of published
	busySince int64
	busyAt    int // published when it was first seen busy
	wasBusy   bool
	bound     int64
}

func newWorld(seed uint64) *world {
	rng := rand.New(rand.NewPCG(seed, 91))
	w := &world{rng: rng, now: 1000, fresh: 0x1000, handed: make(map[uint64]*handing)}
	w.tick = []int64{1, 2, 8, 8, 40}[rng.IntN(5)]
	for i := range 2 + rng.IntN(5) {
		w.threads = append(w.threads, &worker{index: uint32(i)})
	}
	for i := range rng.IntN(6) {
		w.parents = append(w.parents, 0x100+uint64(i)*16)
	}
	return w
}

func (w *world) clock() int64 { return w.now - w.now%w.tick }

// read has a thread read the clock for an op. Within one tick an address goes to another thread after one op at most,
// and no realloc of it is both begun and over then: for more, a tick would have to be longer than a cache line's way
// between cores.
func (w *world) read(t *worker, op ledger.Op, addrs ...uint64) *ledger.Op {
	if op.Kind == ledger.OpReallocResult && t.tight == w.clock() {
		w.turn()
	}
	for _, a := range addrs {
		h := w.handed[a]
		if h == nil {
			h = &handing{thread: t.index}
			w.handed[a] = h
		}
		other := h.thread != t.index
		if other {
			w.passes++
		}
		if h.tick == w.clock() && other && h.ops > 1 {
			w.turn()
		}
	}
	for _, a := range addrs {
		h := w.handed[a]
		if h.tick != w.clock() {
			h.ops, h.passed = 0, false
		}
		h.passed = h.passed || h.thread != t.index && h.ops > 0
		h.ops++
		h.tick, h.thread = w.clock(), t.index
		if op.Kind == ledger.OpReallocBegin && h.passed {
			t.tight = w.clock()
		}
	}
	t.busy = true
	op.Time, op.Thread, op.Stream = w.clock(), t.index, t.index
	t.stamp = &op
	return t.stamp
}

// turn lets the clock go on.
func (w *world) turn() { w.now += w.tick - w.now%w.tick }

func (w *world) publish(t *worker) {
	t.published = append(t.published, t.stamp)
	t.busy = false
	w.records++
}

func (w *world) take() uint64 {
	if n := len(w.reuse); n > 0 && w.rng.IntN(10) > 0 {
		a := w.reuse[n-1]
		w.reuse = w.reuse[:n-1]
		return a
	}
	w.fresh += 16
	return w.fresh
}

func (w *world) give(addr uint64) { w.reuse = append(w.reuse, addr) }

func (w *world) newBlock(addr, size uint64) *block {
	b := &block{id: len(w.blocks), addr: addr, size: size, stack: uint32(w.rng.IntN(5))}
	w.blocks = append(w.blocks, b)
	return b
}

// pick takes a block that nobody is about to end.
func (w *world) pick() *block {
	n := len(w.shared)
	if n == 0 {
		return nil
	}
	i := n - 1 - w.rng.IntN(min(n, 4))
	b := w.shared[i]
	w.shared = slices.Delete(w.shared, i, i+1)
	return b
}

func (w *world) act(t *worker, b *block) uint32 {
	w.acts = append(w.acts, &act{ends: b, thread: t.index, time: w.clock()})
	return uint32(len(w.acts))
}

func (w *world) size() uint64 {
	if w.rng.IntN(20) == 0 {
		return 1<<32 - 2 + uint64(w.rng.IntN(4))
	}
	return uint64(w.rng.IntN(200))
}

// call begins a call. An allocation's op bears its block's id plus 1 as the alignment, a deallocation's its act's
// number as the call stack.
func (w *world) call(t *worker) {
	switch k := w.rng.IntN(100); {
	case k < 40:
		w.malloc(t)
	case k < 70:
		if b := w.pick(); b != nil {
			w.free(t, b.addr, b)
		}
	case k < 92:
		if b := w.pick(); b != nil {
			w.realloc(t, b)
		}
	case k < 95:
		t.steps = []func(){
			func() { w.read(t, ledger.Op{Kind: ledger.OpAlloc, Func: event.Malloc, Size: 1 << 50}) },
			func() { w.publish(t) },
		}
	default:
		if n := len(w.parents); n > 0 {
			addr := w.parents[n-1]
			w.parents = w.parents[:n-1]
			w.free(t, addr, nil)
		}
	}
}

func (w *world) malloc(t *worker) {
	var b *block
	t.steps = []func(){
		func() { b = w.newBlock(w.take(), w.size()) },
		func() {
			op := ledger.Op{Kind: ledger.OpAlloc, Func: event.Malloc, Addr: b.addr, Size: b.size, Stack: b.stack}
			op.Align = uint64(b.id + 1)
			w.read(t, op, b.addr)
		},
		func() { w.publish(t) },
		func() { w.shared = append(w.shared, b) },
	}
}

func (w *world) free(t *worker, addr uint64, b *block) {
	t.steps = []func(){
		func() {
			op := w.read(t, ledger.Op{Kind: ledger.OpFree, Func: event.FreeFunc, Addr: addr}, addr)
			op.FreeStack = w.act(t, b)
		},
		func() { w.publish(t) },
		func() {
			if b != nil {
				w.give(addr)
			}
		},
	}
}

func (w *world) realloc(t *worker, old *block) {
	addr, size := old.addr, w.size()
	var b *block
	result := func(addr, size uint64) func() {
		return func() {
			op := ledger.Op{Kind: ledger.OpReallocResult, Func: event.ReallocFunc, Addr: addr, Size: size}
			if addr != 0 {
				b = w.newBlock(addr, size)
				op.Stack, op.Align = b.stack, uint64(b.id+1)
				w.read(t, op, addr)
				return
			}
			if size > 0 {
				w.read(t, op, old.addr) // it failed: the block is still there
				return
			}
			w.read(t, op)
		}
	}
	t.steps = []func(){
		func() {
			op := w.read(t, ledger.Op{Kind: ledger.OpReallocBegin, Func: event.ReallocFunc, Addr: addr}, addr)
			op.FreeStack = w.act(t, old)
		},
		func() { w.publish(t) },
	}
	live := func() { w.shared = append(w.shared, b) }
	switch w.rng.IntN(6) {
	case 0, 1: // moves: the old block is given back before the new one is taken, or after
		var to uint64
		moves := []func(){func() { w.give(addr) }, func() { to = w.take() }}
		if w.rng.IntN(2) == 0 {
			slices.Reverse(moves)
		}
		t.steps = append(append(t.steps, moves...), func() { result(to, size)() })
	case 2, 3: // stays
		t.steps = append(t.steps, result(addr, size))
	case 4: // fails
		live = func() { w.shared = append(w.shared, old) }
		t.steps = append(t.steps, result(0, 1<<50))
	case 5: // frees
		t.steps = append(t.steps, func() { w.give(addr) }, result(0, 0))
		live = func() {}
	}
	t.steps = append(t.steps, func() { w.publish(t) }, live)
}

// run lets the program make calls while the recorder looks now and then, and hands what comes in order to add.
func (w *world) run(calls int, r *recorder) {
	for calls > 0 || slices.ContainsFunc(w.threads, func(t *worker) bool { return len(t.steps) > 0 }) {
		w.now += w.rng.Int64N(4)
		t := w.threads[w.rng.IntN(len(w.threads))]
		switch {
		case w.rng.IntN(12) == 0:
			r.look(w)
		case t.stopped > w.now:
		case len(t.steps) > 0:
			s := t.steps[0]
			t.steps = t.steps[1:]
			s()
			if w.rng.IntN(60) == 0 {
				t.stopped = w.now + w.rng.Int64N(4*patience)
			}
		case calls > 0:
			calls--
			w.call(t)
		}
	}
	r.finish(w)
}

// patience is how long the recorder waits for a thread that is amid an event.
const patience = 100

// recorder merges the threads' records as package record does: what is older than anything that may still come.
type recorder struct {
	ledger *ledger.Ledger
	emit   func(*ledger.Event)
	clock  int64 // of the look before
	tick   int64
	latest int64
	late   int
}

func (r *recorder) look(w *world) {
	clock := w.clock()
	limit := clock
	for _, t := range w.threads {
		if !t.busy {
			t.wasBusy = false
			continue
		}
		if !t.wasBusy || t.busyAt != len(t.published) {
			if !t.wasBusy {
				t.bound = r.clock
			}
			t.wasBusy, t.busyAt, t.busySince = true, len(t.published), w.now
		}
		if w.now-t.busySince > patience {
			continue // it is left behind
		}
		bound := t.bound
		if n := len(t.published); n > 0 {
			bound = max(bound, t.published[n-1].Time)
		}
		limit = min(limit, bound)
	}
	r.merge(w, limit)
	r.clock = clock
	if limit >= r.tick {
		if r.ledger.Waiting() > 0 {
			r.ledger.BarrierTo(r.emit)
		}
		r.tick = clock
	}
}

func (r *recorder) finish(w *world) {
	r.merge(w, 1<<62)
	r.ledger.FinishTo(r.emit)
}

// merge hands over what is older than limit, by time and thread, each thread in its own order.
func (r *recorder) merge(w *world, limit int64) {
	for {
		var first *worker
		for _, t := range w.threads {
			if t.taken == len(t.published) {
				continue
			}
			next := t.published[t.taken].Time
			if next < limit && (first == nil || cmp.Less(next, first.published[first.taken].Time)) {
				first = t
			}
		}
		if first == nil {
			return
		}
		op := *first.published[first.taken]
		first.taken++
		if op.Time < r.latest {
			op.Time, op.Late = r.latest, true
			r.late++
		}
		r.latest = op.Time
		r.ledger.Add(&op, r.emit)
	}
}

func (b *block) String() string {
	if b == nil {
		return "no block"
	}
	return fmt.Sprintf("block %d of %d bytes at %#x", b.id, b.size, b.addr)
}
