package ledger

import (
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// TestSkew: a clock that was read a little early, at the last use of an address, so that nothing later tells what happened.
func TestSkew(t *testing.T) {
	t.Parallel()
	alloc := func(now int64, thread uint32) *Op {
		return &Op{Kind: OpAlloc, Time: now, Thread: thread, Stream: thread, Addr: 64, Size: 1, Func: event.Malloc}
	}
	free := func(now int64, thread uint32) *Op {
		return &Op{Kind: OpFree, Time: now, Thread: thread, Stream: thread, Addr: 64, Func: event.FreeFunc}
	}
	for _, c := range []struct {
		what              string
		ops               []*Op
		live              uint64
		unmatched, unseen uint64
	}{
		{"a deallocation read early", []*Op{alloc(10, 1), free(20, 1), free(30, 2), alloc(35, 1)}, 0, 0, 0},
		{"the same, too early for that: freed twice, and leaked", []*Op{alloc(10, 1), free(20, 1), free(30, 2), alloc(90, 1)}, 1, 1, 0},
		{"of the thread that allocates next: its own order is certain", []*Op{alloc(10, 1), free(20, 1), free(30, 1), alloc(35, 1)}, 1, 1, 0},
		{"an allocation read early", []*Op{alloc(10, 1), alloc(20, 2), free(25, 1)}, 1, 0, 0},
		{"the same, too early for that: a deallocation was not recorded", []*Op{alloc(10, 1), alloc(20, 2), free(85, 1)}, 0, 0, 1},
	} {
		l := New(false)
		l.Skew = 20
		none := func(*event.Event) {}
		for _, o := range c.ops {
			l.Add(o, none)
		}
		l.Barrier(none)
		l.Barrier(none)
		l.Finish(none)
		blocks, _ := l.Live()
		if n := l.Counts(); blocks != c.live || n.Unmatched != c.unmatched || n.Unseen != c.unseen {
			t.Errorf("%s: %d live, %+v", c.what, blocks, n)
		}
	}
}
