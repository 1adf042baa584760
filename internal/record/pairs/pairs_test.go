package pairs_test

import (
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/pairs"
	"github.com/heaptap/heaptap/internal/record/records"
	"github.com/heaptap/heaptap/internal/wire"
)

// TestWaitingPairs judges deallocations that the ledger settles later, and after others: by what each was called with.
func TestWaitingPairs(t *testing.T) {
	const addr = 0x7000
	var p pairs.Checker
	add := func(thread uint32, size uint64) {
		var x records.Extras
		x.Add(wire.XSize, size)
		p.Expect(addr, thread, event.DeleteSized, uint8(size), &x)
	}
	settle := func(thread uint32) {
		e := event.Event{Kind: event.Free, Func: event.DeleteSized, Thread: thread, Addr: addr}
		p.Settle(&e, &event.Block{Addr: addr, Size: 100, Func: event.New})
	}
	same := func(what string, pairs int, last, unknown uint64) {
		t.Helper()
		list := p.List()
		if len(list) != pairs || pairs > 0 && list[0].FreeSize != last || p.Unknown != unknown {
			t.Errorf("%s: %+v, %d not known, want %d pairs, %d bytes, %d", what, list, p.Unknown, pairs, last, unknown)
		}
	}

	add(1, 100)
	settle(1)
	p.Keep()
	same("settled at once", 0, 0, 0)
	add(1, 90) // waits
	p.Keep()
	add(2, 100) // waits, too
	p.Keep()
	add(1, 100) // the same address, thread and function as the first
	settle(1)   // that one
	p.Keep()
	same("settled later", 1, 90, 0)
	settle(2)
	settle(1)
	same("all settled", 1, 90, 0)
	settle(1)
	same("an unexpected one", 1, 90, 1)
	add(1, 70)
	p.Keep()
	p.Settle(&event.Event{Kind: event.Inherited, Func: event.DeleteSized, Thread: 1, Addr: addr}, nil)
	settle(1)
	same("a block of the parent's, and another one", 1, 90, 2)
}
