package ledger

import (
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// TestRecent: Plain and Add remember the same deallocations, however many come within Skew and however many at once.
func TestRecent(t *testing.T) {
	t.Parallel()
	var ops []*Op
	add := func(kind OpKind, f event.Func, thread uint32, addr uint64) {
		ops = append(ops, &Op{Kind: kind, Time: 10, Func: f, Thread: thread, Stream: thread, Addr: addr, Size: 1})
	}
	add(OpAlloc, event.Malloc, 1, 16)
	add(OpAlloc, event.Malloc, 2, 32)
	for n := range uint64(maxRecent + maxRecent/2) {
		add(OpAlloc, event.Malloc, 1, 64+16*n)
		add(OpFree, event.FreeFunc, 1, 64+16*n)
	}
	_, one, _ := settleAll(t, ops, false, 0)
	for _, most := range []int{1, 50, 100, 1000} {
		_, other, taken := settleAll(t, ops, false, most)
		if taken < len(ops)/2 {
			t.Errorf("%d at once: only %d are plain", most, taken)
		}
		for _, op := range ops {
			at, ok := one.recent.find(op.Addr, 0)
			if now, is := other.recent.find(op.Addr, 0); now != at || is != ok {
				t.Fatalf("%d at once: address %d at %d (%v), one by one: at %d (%v)", most, op.Addr, now, is, at, ok)
			}
		}
	}
}

// TestRecentAlone: the first op of a second thread shows that the clock of the first thread was read early.
func TestRecentAlone(t *testing.T) {
	t.Parallel()
	ops := []*Op{
		{Kind: OpAlloc, Time: 1, Func: event.Malloc, Addr: 16},
		{Kind: OpAlloc, Time: 2, Func: event.Malloc, Addr: 32},
		{Kind: OpFree, Time: 10, Func: event.FreeFunc, Addr: 32},
		{Kind: OpFree, Time: 14, Func: event.FreeFunc, Thread: 1, Stream: 1, Addr: 32},
		{Kind: OpAlloc, Time: 16, Func: event.Malloc, Thread: 1, Stream: 1, Addr: 32},
	}
	for _, most := range []int{0, 4, 10} {
		_, l, _ := settleAll(t, ops, false, most)
		if l.Counts() != (Counts{Ties: 1, Exchanges: 1, Late: 1}) || l.live.count != 1 {
			t.Errorf("%d at once: %+v, %d live", most, l.Counts(), l.live.count)
		}
	}
}
