package record

import (
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/wire"
)

// TestWaitingPairs judges deallocations that the ledger settles later, and after others: by what each was told.
func TestWaitingPairs(t *testing.T) {
	const addr = 0x7000
	var p pairs
	add := func(thread uint32, size uint64) {
		p.listen(&ready{rest: rest{w0: addr | size&255<<wire.SlackShift}}, event.DeleteSized, thread, &extras{have: 1 << (wire.XSize & 7), size: size})
	}
	settle := func(thread uint32) {
		e := event.Event{Kind: event.Free, Func: event.DeleteSized, Thread: thread, Addr: addr}
		p.event(&e, &event.Block{Addr: addr, Size: 100, Func: event.New})
	}
	same := func(what string, pairs int, last, unknown uint64) {
		t.Helper()
		list := p.list()
		if len(list) != pairs || pairs > 0 && list[0].FreeSize != last || p.unknown != unknown {
			t.Errorf("%s: %+v, %d not known, want %d pairs, %d bytes, %d", what, list, p.unknown, pairs, last, unknown)
		}
	}

	add(1, 100)
	settle(1)
	p.keep()
	same("settled at once", 0, 0, 0)
	add(1, 90) // waits
	p.keep()
	add(2, 100) // waits, too
	p.keep()
	add(1, 100) // the same address, thread and function as the first
	settle(1)   // that one
	p.keep()
	same("settled later", 1, 90, 0)
	settle(2)
	settle(1)
	same("all settled", 1, 90, 0)
	settle(1)
	same("one that nobody has told of", 1, 90, 1)
	if p.waits != 0 || len(p.waiting) != 0 {
		t.Errorf("%d wait, %v", p.waits, p.waiting)
	}
	add(1, 70)
	p.keep()
	p.event(&event.Event{Kind: event.Inherited, Func: event.DeleteSized, Thread: 1, Addr: addr}, nil)
	settle(1)
	same("a block of the parent's, and another one", 1, 90, 2)
}
