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
