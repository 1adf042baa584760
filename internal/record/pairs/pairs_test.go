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
	of := func(kind event.Kind, thread uint32) event.Full {
		return event.Full{Event: event.Event{
			Kind: kind, Func: event.DeleteSized, Thread: thread, Addr: addr, Size: 100,
		}, Ended: event.New}
	}
	free := func(thread uint32) event.Full { return of(event.Free, thread) }
	// settle gives it a batch of a deallocation, which a thread calls with a size, and of what the ledger settles.
	settle := func(thread uint32, size uint64, full ...event.Full) {
		var x records.Extras
		x.Add(wire.XSize, size)
		r := event.Row{Kind: event.RowOther, Func: event.DeleteSized, Thread: thread, Addr: addr, Ref: size & 0xff}
		p.Settle(&event.Batch{
			Rows: []event.Row{r}, Others: []event.Other{{Row: 0, End: len(full)}}, Full: full,
		}, []pairs.Arguments{{Row: 0, Extras: &x}})
	}
	// later gives it events of deallocations that have waited.
	later := func(full ...event.Full) { p.Settle(&event.Batch{Full: full}, nil) }
	same := func(what string, pairs int, last, unknown uint64) {
		t.Helper()
		list := p.List()
		if len(list) != pairs || pairs > 0 && list[0].FreeSize != last || p.Unknown != unknown {
			t.Errorf("%s: %+v, %d not known, want %d pairs, %d bytes, %d", what, list, p.Unknown, pairs, last, unknown)
		}
	}

	settle(1, 100, free(1))
	same("settled at once", 0, 0, 0)
	settle(1, 90)           // waits
	settle(2, 100)          // waits, too
	settle(1, 100, free(1)) // the same address, thread and function as the first: that one
	same("settled later", 1, 90, 0)
	later(free(2), free(1))
	same("all settled", 1, 90, 0)
	later(free(1))
	same("one that nobody has expected", 1, 90, 1)
	settle(1, 70)
	later(of(event.Inherited, 1), free(1))
	same("a block of the parent's, and another one", 1, 90, 2)
}
