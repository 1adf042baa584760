package ledger

import "iter"

// Restore gives a new ledger the state of another one: the live blocks, the number of allocations so far, the number of
// each thread's latest allocation, the time of the latest event, and the memory that serves pools.
func (l *Ledger) Restore(
	blocks iter.Seq[Block], allocs uint64, latest map[uint32]uint64, now int64, backings []Backing,
) {
	l.written = now
	var pooled []Block
	for b := range blocks {
		if b.Func.InPool() {
			b.Addr |= poolBit
			pooled = append(pooled, b)
		}
		g, i, ok := l.live.find(b.Addr)
		if ok {
			continue // two at one address: one of them is wrong
		}
		op := Op{Func: b.Func, Thread: b.Thread, Stack: b.Stack, Size: b.Size, Sampled: b.Sampled}
		l.live.set(g, i, b.Addr, &op, b.Ref, b.Born)
		if l.known != nil {
			l.known.add(b.Addr)
		}
	}
	l.restoreBackings(backings, pooled)
	l.allocs = allocs
	for thread, ref := range latest {
		l.latest.set(thread, ref)
	}
	l.seen, l.written = now, now
}
