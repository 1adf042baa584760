package ledger

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// checker holds events to what must be true whatever the ops were. Ops carry their own number: an allocation in Align,
// a deallocation in FreeStack; threads are streams.
type checker struct {
	allocs  []event.Event
	ended   []bool
	at      map[uint64]uint64 // live block by address
	bytes   uint64
	last    int64
	order   map[[2]uint64]uint64 // number of the latest op by stream and address
	frees   int                  // events of OpFree
	born    int
	fails   int
	swapped int            // deallocations that come later among their stream's than they happened
	halves  map[uint32]int // of a thread's reallocs: ends without births
	problem string
}

func (c *checker) fail(e *event.Event, format string, args ...any) {
	if c.problem == "" {
		c.problem = fmt.Sprintf("event %+v: ", *e) + fmt.Sprintf(format, args...)
	}
}

func (c *checker) emit(x *Event) {
	e := &x.Event
	if e.Time < c.last {
		c.fail(e, "earlier than the one before, at %d", c.last)
	}
	c.last = e.Time
	number := e.Align
	switch {
	case e.Flags&event.Realloc == 0:
	case e.Kind == event.Alloc:
		if c.halves[e.Thread]--; c.halves[e.Thread] < 0 {
			c.fail(e, "half of a realloc, without the other")
		}
	case e.Kind == event.Free:
		c.halves[e.Thread]++
	}
	switch e.Kind {
	case event.Alloc:
		c.born++
		if n, ok := c.at[e.Addr]; ok {
			c.fail(e, "over live block %d", n)
		}
		c.at[e.Addr] = uint64(len(c.allocs))
		c.allocs, c.ended = append(c.allocs, *e), append(c.ended, false)
		c.bytes += e.Size
	case event.Free:
		if e.Ref >= uint64(len(c.allocs)) || c.ended[e.Ref] {
			c.fail(e, "ends what is not live")
			return
		}
		a := c.allocs[e.Ref]
		if a.Addr != e.Addr || a.Size != e.Size || a.Stack != e.Stack || a.Time != e.Born || a.Thread != e.BornBy {
			c.fail(e, "does not fit its allocation %+v", a)
		}
		c.ended[e.Ref] = true
		delete(c.at, e.Addr)
		c.bytes -= e.Size
		number = uint64(e.FreeStack)
	case event.Unmatched, event.Inherited:
		if e.Ref != event.NoRef {
			c.fail(e, "has a Ref")
		}
		number = uint64(e.FreeStack)
	case event.Fail:
		c.fails++
	}
	if e.Func == event.FreeFunc {
		c.frees++
	}
	if e.Func == event.Malloc && e.Kind == event.Alloc || e.Func == event.FreeFunc {
		key := [2]uint64{uint64(e.Thread), e.Addr}
		if number < c.order[key] {
			c.swapped++
			return
		}
		if number <= c.order[key] {
			c.fail(e, "op %d of this stream on this address after op %d", number, c.order[key])
		}
		c.order[key] = number
	}
}

// opsOf reads ops from bytes: kind and stream, address, time.
func opsOf(data []byte) (ops []*Op) {
	now := int64(0)
	for ; len(data) >= 3; data = data[3:] {
		now += int64(data[2] % 4)
		number := uint32(len(ops) + 1)
		op := &Op{Time: now, Stream: uint32(data[0] >> 4 & 3), Addr: uint64(data[1]%6) * 8, Late: data[2] >= 0xf0}
		if data[1] >= 0xf0 {
			op.Addr = uint64(data[1]) << 44
		}
		op.Thread = op.Stream
		switch data[0] & 15 {
		case 0, 1, 2, 3, 4:
			op.Kind, op.Func, op.Align, op.Stack = OpAlloc, event.Malloc, uint64(number), number
			op.Size = uint64(data[2])<<uint(data[1]>>3) | 1
		case 5, 6, 7, 8, 9:
			op.Kind, op.Func, op.FreeStack = OpFree, event.FreeFunc, number
		case 10, 11:
			op.Kind, op.Func = OpReallocBegin, event.ReallocFunc
		case 12, 13:
			op.Kind, op.Func, op.Size, op.Stack = OpReallocResult, event.ReallocFunc, uint64(data[2]>>5), number
		case 14:
			op = nil // a barrier
		case 15:
			op.Time -= int64(data[1])
		}
		ops = append(ops, op)
	}
	return ops
}

func checkOps(ops []*Op, forked bool, skew int64) error {
	l := New(forked)
	l.Skew = skew
	c := &checker{at: make(map[uint64]uint64), order: make(map[[2]uint64]uint64), halves: make(map[uint32]int)}
	var frees, mallocs, fails int
	for _, op := range ops {
		if op == nil {
			l.BarrierTo(c.emit)
			continue
		}
		switch {
		case op.Kind == OpFree && op.Addr&addrMask != 0:
			frees++
		case op.Kind == OpAlloc || op.Kind == OpReallocResult:
			if op.Addr&addrMask != 0 {
				mallocs++
			} else if op.Size > 0 {
				fails++
			}
		}
		l.Add(op, c.emit)
		if l.Waiting() > maxWaiting {
			return fmt.Errorf("%d ops wait", l.Waiting())
		}
	}
	l.FinishTo(c.emit)
	if c.problem != "" {
		return fmt.Errorf("%s", c.problem)
	}
	if n := l.Counts().Exchanges; uint64(c.swapped) > n {
		return fmt.Errorf("%d deallocations come after later ops of their stream, but %d were exchanged", c.swapped, n)
	}
	if c.frees != frees || c.born != mallocs || c.fails != fails {
		return fmt.Errorf("%d deallocations, %d allocations, %d failures went in, %d, %d, %d came out",
			frees, mallocs, fails, c.frees, c.born, c.fails)
	}
	if l.Waiting() != 0 || len(l.waits.byAddr) != 0 || len(l.waits.queue) != 0 {
		return fmt.Errorf("%d ops at %d of %d addresses wait at the end",
			l.Waiting(), len(l.waits.byAddr), len(l.waits.queue))
	}
	blocks, bytes := l.Live()
	if int(blocks) != len(c.at) || bytes != c.bytes {
		return fmt.Errorf("%d blocks, %d bytes are live, want %d, %d", blocks, bytes, len(c.at), c.bytes)
	}
	for b := range l.Blocks() {
		a := c.allocs[b.Ref]
		if c.ended[b.Ref] || a.Addr != b.Addr || a.Size != b.Size || a.Time != b.Born || a.Thread != b.Thread ||
			a.Stack != b.Stack {
			return fmt.Errorf("live block %+v is not allocation %+v", b, a)
		}
	}
	return nil
}

// TestNonsense feeds ops that no program could have made.
func TestNonsense(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for n := range 5000 {
		data := make([]byte, 3*rng.IntN(300))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		if err := checkOps(opsOf(data), n&1 == 0, int64(n%3)*5); err != nil {
			t.Fatalf("input %d: %v", n, err)
		}
	}
}

func FuzzLedger(f *testing.F) {
	f.Add([]byte("\x00\x01\x01\x05\x01\x01\x0e\x0e\x0e"), false, uint8(0))
	f.Add([]byte("\x00\x01\x01\x10\x01\x00\x05\x01\x00\x15\x01\x01"), true, uint8(0))
	f.Add([]byte("\x00\x01\x01\x0a\x01\x01\x10\x01\x01\x0c\x02\x80"), true, uint8(9))
	f.Fuzz(func(t *testing.T, data []byte, forked bool, skew uint8) {
		if err := checkOps(opsOf(data), forked, int64(skew%64)); err != nil {
			t.Fatal(err)
		}
	})
}

// TestGaps drops ops from a long recording: what waits stays bounded, and the live blocks do not grow without end.
func TestGaps(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]func(op *Op, n int) bool{
		"allocations only":   func(op *Op, n int) bool { return op.Kind == OpAlloc },
		"deallocations only": func(op *Op, n int) bool { return op.Kind == OpFree },
		"half":               func(op *Op, n int) bool { return n*7919%13 < 6 },
	} {
		l := New(false)
		var now int64
		most := 0
		events := 0
		emit := func(*Event) { events++ }
		ops := 0
		for n := range 500_000 {
			now++
			op := &Op{Time: now, Kind: OpAlloc + OpKind(n&1), Addr: 16 + 16*uint64(n/2%150_000), Stream: uint32(n % 5)}
			if !keep(op, n) {
				continue
			}
			ops++
			l.Add(op, emit)
			most = max(most, l.Waiting())
		}
		if most > maxWaiting {
			t.Errorf("%s: %d ops waited at once, at most %d may", name, most, maxWaiting)
		}
		if q := len(l.waits.queue); q > 3*maxWaiting {
			t.Errorf("%s: the queue holds %d addresses", name, q)
		}
		l.FinishTo(emit)
		if blocks, _ := l.Live(); blocks > 150_000 {
			t.Errorf("%s: %d blocks live at 150000 addresses", name, blocks)
		}
		if events < ops {
			t.Errorf("%s: %d ops went in, %d events came out", name, ops, events)
		}
	}
}

// TestStaleReallocs begins reallocs whose results never come.
func TestStaleReallocs(t *testing.T) {
	t.Parallel()
	l := New(false)
	emit := func(*Event) {}
	for n := range 1000 {
		addr := uint64(16 + 16*n)
		l.Add(&Op{Time: int64(n), Kind: OpAlloc, Addr: addr, Size: 1}, emit)
		l.Add(&Op{Time: int64(n), Kind: OpReallocBegin, Addr: addr}, emit)
	}
	if got := l.Counts().Reallocs; got != 1000-maxBegins {
		t.Errorf("%d begins were forgotten, want %d", got, 1000-maxBegins)
	}
	if n := len(l.streams.open); n != maxBegins {
		t.Errorf("%d reallocs are under way, want %d", n, maxBegins)
	}
	l.Add(&Op{Time: 1000, Kind: OpAlloc, Addr: 16}, emit)
	if l.Waiting() != 1 {
		t.Errorf("an allocation over the block of a begin that was forgotten does not wait")
	}
	l.FinishTo(emit)
	if blocks, bytes := l.Live(); blocks != 1000 || bytes != 999 {
		t.Errorf("%d blocks, %d bytes live, want 1000, 999", blocks, bytes)
	}
}
