package ledger_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
)

// early is a program whose threads hand blocks to each other as fast as they can, on an allocator that gives out at
// once what it gets back, and whose clocks are read too early: by nothing to nearly skew, since processors do not wait
// for the pointer that is to be freed.
type early struct {
	rng *rand.Rand
	// Any clock may be early by up to skew; else those that wait for another thread's pointer, and the next.
	wild    bool
	now     int64
	threads []*earlyThread
	reuse   []uint64 // addresses, latest first
	fresh   uint64
	boxes   []*earlyBlock
	foreign []uint64 // live addresses that the ledger has never heard of
	blocks  []*earlyBlock
	acts    []*earlyAct
	ops     []earlyOp
	quiet   []earlyQuiet
}

const (
	earlySkew    = 2000 // ns
	earlyQuantum = 100  // ns
)

type earlyBlock struct {
	id     int
	addr   uint64
	by     uint32
	ended  bool
	events int // of its end
}

type earlyAct struct {
	ends   *earlyBlock // nil: a foreign block
	thread uint32
	at     int64
}

// earlyOp is an op, or, if its kind is OpMap, a moment that is quiet.
type earlyOp struct {
	ledger.Op
	stamp int64
}

// earlyQuiet is what is live when nothing happens.
type earlyQuiet map[uint64]int // numbers of blocks by address

type earlyThread struct {
	index uint32
	stamp int64 // latest
	lag   int64 // of its clock at the latest op
	steps []func()
}

func newEarly(seed uint64) *early {
	w := &early{rng: rand.New(rand.NewPCG(seed, 17)), wild: seed%4 == 3, now: 1 << 20, fresh: 0x10000}
	for i := range 2 + w.rng.IntN(4) {
		w.threads = append(w.threads, &earlyThread{index: uint32(i)})
	}
	for i := range w.rng.IntN(6) {
		w.foreign = append(w.foreign, 0x100+uint64(i)*16)
	}
	return w
}

// lag draws by how much a thread's clock is early for an op about a block of the thread `of`.
func (w *early) lag(t *earlyThread, of uint32) int64 {
	switch k := w.rng.IntN(100); {
	case w.wild && k < 10, !w.wild && of != t.index && k < 2:
		return w.rng.Int64N(earlySkew - earlyQuantum)
	case of != t.index && k < 20:
		return w.rng.Int64N(150)
	case k < 40: // executed ahead, along with the op before
		return min(t.lag, w.rng.Int64N(100))
	}
	return w.rng.Int64N(10)
}

func (w *early) op(t *earlyThread, of uint32, op ledger.Op) {
	t.lag = w.lag(t, of)
	t.stamp = max(t.stamp+1, w.now-t.lag)
	t.lag = w.now - t.stamp
	op.Thread, op.Stream, op.Time = t.index, t.index, t.stamp/earlyQuantum
	w.ops = append(w.ops, earlyOp{op, t.stamp})
}

func (w *early) take() uint64 {
	if n := len(w.reuse); n > 0 && w.rng.IntN(10) > 0 {
		a := w.reuse[n-1]
		w.reuse = w.reuse[:n-1]
		return a
	}
	w.fresh += 16
	return w.fresh
}

func (w *early) give(addr uint64) { w.reuse = append(w.reuse, addr) }

func (w *early) block(t *earlyThread, addr uint64) *earlyBlock {
	b := &earlyBlock{id: len(w.blocks), addr: addr, by: t.index}
	w.blocks = append(w.blocks, b)
	return b
}

// act notes that a thread ends a block, and returns its number.
func (w *early) act(t *earlyThread, b *earlyBlock) uint32 {
	w.acts = append(w.acts, &earlyAct{b, t.index, w.now})
	return uint32(len(w.acts))
}

func (w *early) call(t *earlyThread) {
	i := 0
	if n := len(w.boxes); n > 0 {
		i = w.rng.IntN(n)
	}
	k := w.rng.IntN(100)
	switch n := len(w.foreign); {
	case k < 3 && n > 0:
		addr := w.foreign[n-1]
		w.foreign = w.foreign[:n-1]
		w.end(t, nil, addr, 1<<20)
	case k < 40 || len(w.boxes) == 0:
		addr := w.take()
		b := w.block(t, addr)
		op := ledger.Op{Kind: ledger.OpAlloc, Func: event.Malloc, Addr: addr, Size: 1, Align: uint64(b.id + 1)}
		w.op(t, t.index, op)
		t.steps = []func(){func() { w.boxes = append(w.boxes, b) }}
	case k < 75:
		b := w.boxes[i]
		w.boxes = slices.Delete(w.boxes, i, i+1)
		w.end(t, b, b.addr, b.by)
	default:
		b := w.boxes[i]
		w.boxes = slices.Delete(w.boxes, i, i+1)
		w.realloc(t, b)
	}
}

func (w *early) end(t *earlyThread, b *earlyBlock, addr uint64, of uint32) {
	w.op(t, of, ledger.Op{Kind: ledger.OpFree, Func: event.FreeFunc, Addr: addr, FreeStack: w.act(t, b)})
	if b != nil {
		b.ended = true
	}
	t.steps = []func(){func() {
		if b != nil { // if another thread got the address at once, it would look like an early clock
			w.give(addr)
		}
	}}
}

func (w *early) realloc(t *earlyThread, old *earlyBlock) {
	act := w.act(t, old)
	w.op(t, old.by, ledger.Op{Kind: ledger.OpReallocBegin, Func: event.ReallocFunc, Addr: old.addr, FreeStack: act})
	w.acts[act-1].ends = nil // unless it succeeds
	result := func(addr, size uint64) {
		op := ledger.Op{Kind: ledger.OpReallocResult, Func: event.ReallocFunc, Addr: addr, Size: size}
		var b *earlyBlock
		if addr != 0 {
			b = w.block(t, addr)
			op.Align = uint64(b.id + 1)
		}
		if addr != 0 || size == 0 {
			w.acts[act-1].ends, old.ended = old, true
		}
		w.op(t, t.index, op)
		t.steps = append(t.steps, func() {
			switch {
			case b != nil:
				w.boxes = append(w.boxes, b)
			case size > 0:
				w.boxes = append(w.boxes, old)
			}
		})
	}
	var to uint64
	switch w.rng.IntN(6) {
	case 0:
		t.steps = []func(){func() { w.give(old.addr) }, func() { to = w.take() }, func() { result(to, 1) }}
	case 1:
		t.steps = []func(){func() { to = w.take() }, func() { w.give(old.addr) }, func() { result(to, 1) }}
	case 2, 3:
		t.steps = []func(){func() { result(old.addr, 1) }}
	case 4:
		t.steps = []func(){func() { result(0, 1<<50) }}
	case 5:
		t.steps = []func(){func() { w.give(old.addr) }, func() { result(0, 0) }}
	}
}

// run makes the program run, and rest between bursts.
func (w *early) run(bursts, calls int) {
	for range bursts {
		busy := func(t *earlyThread) bool { return len(t.steps) > 0 }
		for left := calls; left > 0 || slices.ContainsFunc(w.threads, busy); {
			w.now += 5 + w.rng.Int64N(50)
			t := w.threads[w.rng.IntN(len(w.threads))]
			if len(t.steps) > 0 {
				s := t.steps[0]
				t.steps = t.steps[1:]
				s()
			} else if left > 0 {
				left--
				w.call(t)
			}
		}
		w.now += 3 * earlySkew
		q := earlyQuiet{}
		for _, b := range w.blocks {
			if !b.ended {
				q[b.addr] = b.id
			}
		}
		w.ops = append(w.ops, earlyOp{ledger.Op{Kind: ledger.OpMap, Time: w.now / earlyQuantum, Stream: 99}, w.now})
		w.quiet = append(w.quiet, q)
		w.now += 3 * earlySkew
	}
	slices.SortStableFunc(w.ops, func(a, b earlyOp) int {
		return cmp.Or(cmp.Compare(a.stamp, b.stamp), cmp.Compare(a.Stream, b.Stream))
	})
}

// earlyJudge compares events with what has happened.
type earlyJudge struct {
	w       *early
	refs    []int // numbers of blocks, by number of the allocation
	live    earlyQuiet
	halves  map[uint32]int
	ends    int // in all
	other   int // that ended another block than the program did
	wrong   int // blocks thought live when another one was, at its address, at a quiet moment
	unknown int
	problem string
}

func (j *earlyJudge) fail(format string, args ...any) {
	if j.problem == "" {
		j.problem = fmt.Sprintf(format, args...)
	}
}

func (j *earlyJudge) emit(e *ledger.Event) {
	switch e.Kind {
	case event.Alloc:
		b := j.w.blocks[e.Align-1]
		if _, ok := j.live[e.Addr]; ok || b.addr != e.Addr || b.by != e.Thread {
			j.fail("%+v: not block %+v, or over a live one", *e, *b)
		}
		if e.Flags&event.Realloc != 0 {
			if j.halves[e.Thread]--; j.halves[e.Thread] < 0 {
				j.fail("%+v: half of a realloc, without the other", *e)
			}
		}
		j.live[e.Addr] = b.id
		j.refs = append(j.refs, b.id)
	case event.Free:
		if e.FreeStack == 0 {
			j.fail("%+v: nobody did that", *e)
			return
		}
		if e.Flags&event.Realloc != 0 {
			j.halves[e.Thread]++
		}
		a, b := j.w.acts[e.FreeStack-1], j.w.blocks[j.refs[e.Ref]]
		if a.ends == nil || a.thread != e.Thread || a.ends.addr != b.addr {
			j.fail("%+v: ends %+v, not %+v", *e, *b, a)
			return
		}
		b.events++
		j.ends++
		if a.ends != b {
			j.other++
		}
		if id, ok := j.live[e.Addr]; !ok || id != b.id {
			j.fail("%+v: not live", *e)
		}
		delete(j.live, e.Addr)
	case event.Unmatched, event.Inherited:
		if a := j.w.acts[e.FreeStack-1]; a.ends != nil {
			j.fail("%+v: ends block %+v", *e, *a.ends)
		}
		j.unknown++
	}
}

// rest compares what is live at a quiet moment.
func (j *earlyJudge) rest(q earlyQuiet) {
	for addr, id := range q {
		is, ok := j.live[addr]
		if !ok {
			j.fail("block %+v ought to be live", *j.w.blocks[id])
		} else if is != id {
			j.wrong++
		}
	}
	for addr, id := range j.live {
		if _, ok := q[addr]; !ok {
			j.fail("block %+v ought not to be live", *j.w.blocks[id])
		}
	}
}

type earlySums struct {
	ends, other, wrong, quiet int
	exchanges, ties           uint64
}

func (s *earlySums) run(seed uint64) error {
	w := newEarly(seed)
	foreign := len(w.foreign)
	w.run(4, 20+int(seed%60))
	foreign -= len(w.foreign)
	l := ledger.New(seed%3 == 0)
	l.Skew = earlySkew / earlyQuantum
	j := &earlyJudge{w: w, live: earlyQuiet{}, halves: map[uint32]int{}}
	rests := 0
	for i := range w.ops {
		op := &w.ops[i]
		l.Add(&op.Op, j.emit)
		if op.Kind == ledger.OpMap {
			if rests&1 == 1 {
				l.BarrierTo(j.emit)
			}
			j.rest(w.quiet[rests])
			s.quiet += len(w.quiet[rests])
			rests++
		}
	}
	l.FinishTo(j.emit)
	j.rest(w.quiet[rests-1])
	for _, b := range w.blocks {
		if n := map[bool]int{true: 1}[b.ended]; j.problem == "" && b.events != n && j.other == 0 {
			j.fail("block %+v", *b)
		}
	}
	if c := l.Counts(); j.problem == "" && (c.Unseen+c.Inversions+c.Overflows > 0 || j.unknown != foreign) {
		j.fail("%+v, %d foreign", c, foreign)
	}
	s.ends += j.ends
	s.other += j.other
	s.wrong += j.wrong
	s.exchanges += l.Counts().Exchanges
	s.ties += l.Counts().Ties
	if j.problem != "" {
		return fmt.Errorf("%s", j.problem)
	}
	return nil
}

// TestEarly runs random programs whose clocks are read too early. HEAPTAP_SEEDS sets their number.
func TestEarly(t *testing.T) {
	t.Parallel()
	seeds := uint64(5000)
	if n, err := strconv.ParseUint(os.Getenv("HEAPTAP_SEEDS"), 10, 64); err == nil {
		seeds = n
	} else if testing.Short() {
		seeds = 500
	}
	var likely, wild earlySums
	lost := 0
	for seed := range seeds {
		if seed%4 != 3 {
			if err := likely.run(seed); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		} else if err := wild.run(seed); err != nil {
			t.Logf("seed %d: %v", seed, err)
			lost++
		}
	}
	for name, s := range map[string]earlySums{"likely clocks": likely, "wild clocks": wild} {
		t.Logf("%s: %d deallocations, %d of another block than in truth; %d blocks live at quiet moments, "+
			"%d of them another one; %d ties put right, %d exchanges",
			name, s.ends, s.other, s.quiet, s.wrong, s.ties, s.exchanges)
	}
	if likely.other > likely.ends/500 || likely.wrong > likely.quiet/10_000 {
		t.Errorf("too much is wrong")
	}
	if likely.exchanges == 0 || likely.ties == 0 {
		t.Error("these clocks prove nothing")
	}
	// Where all clocks are wrong by as much as what happens in 2 us, not every story can be guessed.
	if lost > int(seeds/4)/200 || wild.other > wild.ends/50 || wild.wrong > wild.quiet/200 {
		t.Errorf("%d of %d programs with wild clocks are not right", lost, seeds/4)
	}
}
