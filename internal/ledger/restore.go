package ledger

import (
	"iter"
	"math"

	"github.com/heaptap/heaptap/internal/event"
)

// Restore makes a new ledger what another one was: blocks are those that were live, allocs is the number of allocations so far,
// latest the number of each thread's latest allocation, and now the time of the latest event.
func (l *Ledger) Restore(blocks iter.Seq[Block], allocs uint64, latest map[uint32]uint64, now int64) {
	ignore := func(*event.Event) {}
	for b := range blocks {
		l.allocs = b.Ref
		l.alloc(&Op{Kind: OpAlloc, Time: b.Born, Thread: b.Thread, Stack: b.Stack, Addr: b.Addr, Size: b.Size}, b.Addr, 0, ignore)
		// Blocks come in any order of time; the table takes what it is given.
		l.written, l.seen = math.MinInt64, math.MinInt64
	}
	l.allocs = allocs
	for thread, ref := range latest {
		l.latest.set(thread, ref)
	}
	l.seen, l.written = now, now
	l.counts = Counts{}
}
