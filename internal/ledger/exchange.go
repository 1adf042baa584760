package ledger

import "github.com/heaptap/heaptap/internal/event"

// lately remembers the latest deallocations, so that it can be told afterwards that two of them came in the other order.
type lately struct {
	list [latelyMax]ended
	next uint
}

const latelyMax = 128

// ended says that a thread has ended the block that was live at an address.
type ended struct {
	key    uint64
	time   int64 // of the op
	thread uint32
}

func (y *lately) add(key uint64, now int64, thread uint32) {
	y.list[y.next%latelyMax] = ended{key, now, thread}
	y.next++
}

// find returns when another thread than this one has last ended a block at an address, or false.
func (y *lately) find(key uint64, not uint32) (now int64, ok bool) {
	for i := range y.list {
		if e := &y.list[i]; e.key == key && e.thread != not && (!ok || e.time > now) {
			now, ok = e.time, true
		}
	}
	return now, ok
}

// exchangeable: nothing is live, and of a deallocation and an allocation that wait, both of one stream, the deallocation came first. So it ended
// the block before, and a deallocation of another thread, which belongs to the allocation and whose clock was read too early, had taken its
// place. That one's event has been written; which of the two ended which of the two blocks is all that will be wrong. The results are the
// waiting deallocation and allocation, or 0, 0, and by how much the clock must have been wrong.
func (l *Ledger) exchangeable(c *contest) (k, j int, early int64) {
	for j = 1; j < len(c.ops); j++ {
		w := &c.ops[j]
		if !w.allocates() || !c.before(j) {
			continue
		}
		n := 0
		for i := range j {
			if c.ops[i].op.Stream == w.op.Stream {
				k, n = i, n+1
			}
		}
		at, ok := l.lately.find(c.addr, w.op.Thread)
		if early = w.op.Time - at; ok && n == 1 && early <= l.Skew && c.ops[k].op.Kind == OpFree {
			return k, j, early
		}
		break
	}
	return 0, 0, 0
}

// exchange settles what is exchangeable.
func (l *Ledger) exchange(c *contest, emit func(*event.Event)) bool {
	k, j, _ := l.exchangeable(c)
	if j == 0 {
		return false
	}
	l.outOfOrder(true)
	l.counts.Exchanges++
	l.emitWaiting(c, j, emit)
	g, i, _ := l.live.find(c.addr)
	l.ends(c, k, g, i, emit)
	return true
}

// crossed: the first op allocates over the live block at (g, i), and its own stream ends what it has allocated. If another thread has allocated
// or deallocated at the address just before, its clock may have been read too early, so that the two have changed places. The result is the
// deallocation, or 0.
func (l *Ledger) crossed(c *contest, g *segment, i int) (end int) {
	first := &c.ops[0].op
	s := &g.slots[i]
	if s.ref&inRealloc != 0 {
		return 0
	}
	for j := 1; j < len(c.ops); j++ {
		op := &c.ops[j].op
		if op.Stream != first.Stream {
			continue
		}
		if op.Kind != OpFree {
			return 0
		}
		by, at := uint32(s.key&0xffff)|uint32(s.ref&0xffff)<<16, int64(s.born>>howBits)
		if now, ok := l.lately.find(c.addr, first.Thread); ok && (by == first.Thread || now > at) {
			by, at = first.Thread+1, now
		}
		if by == first.Thread || op.Time-at > l.Skew {
			return 0
		}
		return j
	}
	return 0
}
