package ledger

import (
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// TestManyExpiring: too many ops wait for the clock, and while they are settled, more come to wait for it.
func TestManyExpiring(t *testing.T) {
	t.Parallel()
	l := New(true)
	l.Skew = 20
	events := 0
	emit := func(*Event) { events++ }
	ops := 0
	add := func(now int64, kind OpKind, thread uint32, addr uint64) {
		f := event.Malloc
		if kind == OpFree {
			f = event.FreeFunc
		}
		l.Add(&Op{Kind: kind, Time: now, Thread: thread, Stream: thread, Addr: addr, Size: 1, Func: f}, emit)
		ops++
	}
	add(1, OpAlloc, 1, 64)
	for n := range uint64(maxWaiting) - 1 {
		add(20, OpFree, 0, 128+16*n)
		add(20, OpAlloc, 1, 128+16*n)
	}
	add(20, OpFree, 0, 64)
	for thread := range uint32(2) { // one clock may have been wrong, and then another one
		add(26, OpFree, thread+1, 64)
		add(26, OpAlloc, thread+1, 64)
	}
	add(26, OpFree, 0, 96)  // the parent's
	add(26, OpAlloc, 0, 48) // not to be looked at until there are too many
	if l.Waiting() > 2 || len(l.waits.expiring) > 2 {
		t.Errorf("%d ops wait, %d for the clock", l.Waiting(), len(l.waits.expiring))
	}
	add(47, OpAlloc, 0, 32)
	if l.Waiting() > 0 || len(l.waits.expiring) > 0 {
		t.Errorf("%d ops wait, %d for the clock, which has moved on", l.Waiting(), len(l.waits.expiring))
	}
	if n := l.Counts(); events != ops || n.Exchanges != 2 || n.Inherited != 1 || n.Unmatched+n.Unseen > 0 {
		t.Errorf("%d events of %d ops: %+v", events, ops, n)
	}
}
