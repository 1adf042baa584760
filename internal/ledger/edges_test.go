package ledger_test

import (
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
)

// settled is an event with its region.
type settled struct {
	event.Event
	region uint32
}

// feed gives ops to a ledger, and returns the events.
func feed(l *ledger.Ledger, ops ...ledger.Op) (list []settled) {
	for i := range ops {
		l.Add(&ops[i], func(e *ledger.Event) { list = append(list, settled{e.Event, e.Region}) })
	}
	return list
}

func malloc(time int64, thread uint32, addr, size uint64) ledger.Op {
	return ledger.Op{Time: time, Kind: ledger.OpAlloc, Func: event.Malloc, Thread: thread, Stream: thread, Addr: addr,
		Size: size}
}

func free(time int64, thread uint32, addr uint64) ledger.Op {
	return ledger.Op{Time: time, Kind: ledger.OpFree, Func: event.FreeFunc, Thread: thread, Stream: thread, Addr: addr}
}

func begin(time int64, thread uint32, addr uint64) ledger.Op {
	return ledger.Op{Time: time, Kind: ledger.OpReallocBegin, Func: event.ReallocFunc, Thread: thread, Stream: thread,
		Addr: addr}
}

func result(time int64, thread uint32, addr, size uint64) ledger.Op {
	return ledger.Op{Time: time, Kind: ledger.OpReallocResult, Func: event.ReallocFunc, Thread: thread, Stream: thread,
		Addr: addr, Size: size}
}

// TestWaitingIsBounded: many threads free what nobody has allocated. Each might be explained later; but what waits at
// one address has a bound.
func TestWaitingIsBounded(t *testing.T) {
	l := ledger.New(false)
	l.Skew = 1000
	for thread := range uint32(200) {
		feed(l, free(int64(thread), thread, 0x1000))
	}
	if n := l.Counts(); l.Waiting() > 64 || n.Overflows == 0 || n.Overflows != n.Unmatched {
		t.Errorf("%d ops wait at one address: %+v", l.Waiting(), n)
	}
}

// TestMovedInRegion: an allocation proves that another thread's realloc has moved the block before. The end of that
// block belongs to the region in which the realloc was called.
func TestMovedInRegion(t *testing.T) {
	l := ledger.New(false)
	in := func(region uint32, op ledger.Op) ledger.Op {
		op.Region = region
		return op
	}
	list := feed(l, in(1, malloc(1, 0, 0x1000, 10)), in(2, begin(2, 0, 0x1000)), in(3, malloc(3, 1, 0x1000, 20)),
		in(4, result(4, 0, 0x2000, 30)))
	want := []struct {
		kind   event.Kind
		region uint32
	}{{event.Alloc, 1}, {event.Free, 2}, {event.Alloc, 3}, {event.Alloc, 4}}
	if len(list) != len(want) {
		t.Fatalf("%d events, expected %d: %+v", len(list), len(want), list)
	}
	for i, w := range want {
		if list[i].Kind != w.kind || list[i].region != w.region {
			t.Errorf("event %d: %v in region %d, expected %v in region %d", i, list[i].Kind, list[i].region, w.kind,
				w.region)
		}
	}
}

// TestLateResult: the result of a realloc of nothing came late. Its time does not say that an allocation may still
// explain the begin, so that both are settled at once.
func TestLateResult(t *testing.T) {
	l := ledger.New(false)
	l.Skew = 5
	late := result(3, 0, 0, 0)
	late.Late = true
	list := feed(l, begin(3, 0, 0x1000), late)
	if len(list) != 1 || list[0].Kind != event.Unmatched || l.Waiting() != 0 {
		t.Errorf("%d ops wait, events %+v", l.Waiting(), list)
	}
}

// TestReallocsOfPoolsAndOthers: a realloc of a block that serves a pool is no event of its own; a later realloc of
// another thread is one, though its block was not recorded.
func TestReallocsOfPoolsAndOthers(t *testing.T) {
	l := ledger.New(false)
	l.Partial = true
	serves := func(op ledger.Op) ledger.Op {
		op.Serves = 1
		return op
	}
	list := feed(l, serves(malloc(1, 0, 0x1000, 10)), begin(2, 0, 0x1000), serves(result(3, 0, 0x2000, 20)),
		begin(4, 1, 0x5000), result(5, 1, 0x6000, 30))
	if len(list) != 2 || list[0].Kind != event.Unrecorded || list[1].Kind != event.Alloc {
		t.Fatalf("events %+v", list)
	}
	for _, e := range list {
		if e.Flags&event.Realloc == 0 {
			t.Errorf("%v is not part of a realloc: %+v", e.Kind, e)
		}
	}
}

// TestPoolsInPools: a pool gives out memory that serves another pool, and then so much else that it forgets what has
// ended. When it is cleared, what the other pool has given out ends, too.
func TestPoolsInPools(t *testing.T) {
	l := ledger.New(false)
	now := int64(0)
	op := func(kind ledger.OpKind, f event.Func, pool, addr, size uint64) {
		now++
		feed(l, ledger.Op{Time: now, Kind: kind, Func: f, Pool: pool, Addr: addr, Size: size})
	}
	op(ledger.OpBacking, event.PoolBacking, 1, 0x100000, 0x10000)
	op(ledger.OpAlloc, event.PoolAlloc, 1, 0x100000, 0x1000)
	op(ledger.OpBacking, event.PoolBacking, 2, 0x100000, 0x1000)
	op(ledger.OpAlloc, event.PoolAlloc, 2, 0x100100, 16)
	for range 200 {
		op(ledger.OpAlloc, event.PoolAlloc, 1, 0x102000, 32)
		op(ledger.OpFree, event.PoolFree, 1, 0x102000, 0)
	}
	if blocks, bytes := l.Live(); blocks != 1 || bytes != 16 {
		t.Fatalf("%d blocks of %d bytes are live", blocks, bytes)
	}
	op(ledger.OpPoolClear, event.PoolClear, 1, 0, 0)
	if blocks, bytes := l.Live(); blocks != 0 || bytes != 0 {
		t.Errorf("%d blocks of %d bytes are live after the outer pool was cleared", blocks, bytes)
	}
}

// TestOddAddressAfterFork: in a forked child, a realloc of one of the parent's blocks fails. Its deallocation is still
// the first of that block, whatever the address is a multiple of.
func TestOddAddressAfterFork(t *testing.T) {
	for _, addr := range []uint64{0x1000, 0x1004} {
		l := ledger.New(true)
		list := feed(l, begin(1, 0, addr), result(2, 0, 0, 100), free(3, 0, addr), malloc(4, 0, 0x2000, 1))
		if n := l.Counts(); n.Inherited != 1 || n.Unmatched != 0 {
			t.Errorf("address %#x: %+v, events %+v", addr, n, list)
		}
	}
}

// TestTimesNeverDecrease: a late op has a later time than an op that waited for it. What is written after it has no
// earlier time.
func TestTimesNeverDecrease(t *testing.T) {
	l := ledger.New(false)
	l.Skew = 5
	late := malloc(5, 1, 0x1000, 3)
	late.Late = true
	list := feed(l, free(3, 0, 0x1000), late)
	if len(list) != 2 || list[0].Kind != event.Alloc || list[1].Kind != event.Free {
		t.Fatalf("events %+v", list)
	}
	if list[0].Time != 5 || list[1].Time != 5 || list[1].Flags&event.Late == 0 {
		t.Errorf("events at %d and %d: %+v", list[0].Time, list[1].Time, list[1])
	}
}

// TestReallocsCross: two threads reallocate one unknown block, and get the same address. Each end comes before the
// birth that belongs to the same realloc.
func TestReallocsCross(t *testing.T) {
	l := ledger.New(false)
	l.Skew = 5
	list := feed(l, begin(1, 2, 0x1000), begin(1, 0, 0x1000), result(1, 0, 0x2000, 5), result(4, 2, 0x2000, 6),
		malloc(100, 1, 0x3000, 1), malloc(200, 1, 0x4000, 1)) // nothing waits for longer than that
	ended := map[uint32]bool{}
	for _, e := range list {
		switch e.Kind {
		case event.Unmatched:
			ended[e.Thread] = true
		case event.Alloc:
			if !ended[e.Thread] && e.Thread != 1 {
				t.Errorf("thread %d has its new block before the old one's end: %+v", e.Thread, list)
			}
		}
	}
	if n := l.Counts(); n.Unmatched != 2 {
		t.Errorf("%+v", n)
	}
}

// TestLargeSizes: sizes around the largest one that fits into half a word.
func TestLargeSizes(t *testing.T) {
	for _, size := range []uint64{1<<32 - 2, 1<<32 - 1, 1 << 32, 1<<63 + 5} {
		l := ledger.New(false)
		list := feed(l, malloc(1, 0, 0x1000, size), malloc(2, 0, 0x2000, 1), free(3, 0, 0x1000))
		if _, bytes := l.Live(); len(list) != 3 || list[2].Size != size || bytes != 1 {
			t.Errorf("size %d: %d bytes are live after %+v", size, bytes, list)
		}
	}
}

// TestRestoredTime: a restored ledger knows how far the one before was. What comes with an earlier time is late, and
// may have happened before what arrived before it, however far apart their times are.
func TestRestoredTime(t *testing.T) {
	l := ledger.New(false)
	l.Skew = 5
	l.Restore(func(yield func(ledger.Block) bool) {
		yield(ledger.Block{Addr: 0x1000, Size: 7, Func: event.Malloc, Born: 50})
	}, 1, nil, 100, nil)
	list := feed(l, malloc(80, 1, 0x1000, 9), free(90, 2, 0x1000))
	if len(list) != 2 || list[0].Kind != event.Free || list[0].Size != 7 || list[1].Kind != event.Alloc {
		t.Fatalf("%d ops wait, events %+v", l.Waiting(), list)
	}
	for _, e := range list {
		if e.Time != 100 || e.Flags&event.Late == 0 {
			t.Errorf("%v at %d, after an event at 100", e.Kind, e.Time)
		}
	}
}

// TestReallocFreedMeanwhile: while a realloc that frees a block is under way, one thread allocates at its address and
// another one, whose clock was read too early, frees that. The realloc ended the block that it was given.
func TestReallocFreedMeanwhile(t *testing.T) {
	l := ledger.New(false)
	l.Skew = 5
	list := feed(l, malloc(1, 0, 0x1000, 2), begin(2, 0, 0x1000), free(3, 1, 0x1000), malloc(3, 2, 0x1000, 5),
		result(3, 0, 0, 0))
	by := map[uint64]uint32{}
	for _, e := range list {
		if e.Kind == event.Free {
			by[e.Ref] = e.Thread
		}
	}
	if len(list) != 4 || len(by) != 2 || by[0] != 0 || by[1] != 1 {
		t.Errorf("blocks were ended by threads %v: %+v", by, list)
	}
}
