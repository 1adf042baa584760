package ledger

import "github.com/heaptap/heaptap/internal/event"

// Bounds of what waits, so that a recording with gaps costs no more than these: beyond them the oldest are settled.
const (
	maxWaiting  = 1 << 16 // ops
	maxConflict = 32      // ops at one address
)

// waits holds the addresses at which ops wait.
type waits struct {
	byAddr   map[uint64]*conflict
	queue    []*conflict // all of them, and some that are over, in order of their beginning
	head     int         // of queue
	expiring []expiring  // those that wait only until the clock has moved on
	ops      int         // waiting, in all
	barrier  uint64      // barriers so far
	tasks    []task      // see Ledger.work
}

// conflict is an address at which ops wait.
type conflict struct {
	addr     uint64
	ops      []waiting
	suspects int // see situation
}

// waiting is an op that waits.
type waiting struct {
	op        Op
	time      int64 // of op; if it is the end of a realloc's old block, of the begin: op has the time of the result
	flags     event.Flags
	begin     *begin // if op is a realloc's begin
	late      bool   // it may have happened before what arrived before it, whatever its time
	firstSeen bool   // a deallocation or begin at an address that this ledger of a forked child had never seen
	expires   bool   // when the clock has moved on, it is settled as it stands
	barrier   uint64
	// If a realloc began at an address where ops wait, its deallocation of the old block and its allocation of the new
	// one wait apart, each with the address of the other. What becomes of the first shows whether it was a realloc of
	// a block.
	other uint64
}

func (w *waiting) allocates() bool { return w.op.Kind == OpAlloc || w.op.Kind == OpReallocResult }
func (w *waiting) begins() bool    { return w.op.Kind == OpReallocBegin }

// expiring is a conflict of which an op waits no longer than for the skew.
type expiring struct {
	*conflict
	since int64
}

// join lets op wait if others do at its address.
func (l *Ledger) join(op *Op, addr uint64, flags event.Flags) bool {
	c := l.waits.byAddr[addr]
	if c == nil {
		return false
	}
	l.wait(c, op, flags)
	l.settle(c)
	l.limit(c)
	return true
}

// conflict lets op wait, which contradicts what is live at its address.
func (l *Ledger) conflict(op *Op, addr uint64, flags event.Flags) {
	c := l.conflictAt(addr)
	if l.wait(c, op, flags).firstSeen {
		if op.Time < l.seen {
			l.forceFirst(c)
			return
		}
		l.expire(c, 0)
	}
	l.limitAll()
}

// conflictAt returns the conflict at an address; if there is none, it opens one.
func (l *Ledger) conflictAt(addr uint64) *conflict {
	c := l.waits.byAddr[addr]
	if c == nil {
		c = &conflict{addr: addr}
		l.waits.byAddr[addr] = c
		l.waits.queue = append(l.waits.queue, c)
	}
	return c
}

func (l *Ledger) wait(c *conflict, op *Op, flags event.Flags) *waiting {
	w := waiting{op: *op, time: op.Time, flags: flags, late: op.Late || op.Time < l.seen, barrier: l.waits.barrier}
	w.firstSeen = l.known != nil && !w.allocates() && l.known.add(c.addr)
	if w.begins() {
		w.begin = l.streams.innermost(op.Stream)
	}
	c.ops = append(c.ops, w)
	l.waits.ops++
	return &c.ops[len(c.ops)-1]
}

// drop removes op j of a conflict.
func (l *Ledger) drop(c *conflict, j int) {
	if j < c.suspects {
		c.suspects--
	}
	c.ops = append(c.ops[:j], c.ops[j+1:]...)
	l.waits.ops--
	if len(c.ops) == 0 {
		delete(l.waits.byAddr, c.addr)
	}
}

// limit keeps the ops that wait at an address, and all of them, within bounds.
func (l *Ledger) limit(c *conflict) {
	if len(c.ops) >= maxConflict {
		l.counts.Overflows++
		l.forceFirst(c)
	}
	l.limitAll()
}

// limitAll keeps the waiting ops and the memory of conflicts that are over within bounds.
func (l *Ledger) limitAll() {
	w := &l.waits
	for w.ops > maxWaiting && w.head < len(w.queue) {
		c := w.queue[w.head]
		if len(c.ops) == 0 {
			w.head++
			continue
		}
		l.counts.Overflows++
		l.forceFirst(c)
	}
	if len(w.byAddr) < len(w.queue)/2 && len(w.queue) > 1024 {
		w.compact()
	}
}

// compact drops the conflicts that are over from the queue.
func (w *waits) compact() {
	kept := w.queue[:0]
	for _, c := range w.queue[w.head:] {
		if len(c.ops) > 0 {
			kept = append(kept, c)
		}
	}
	clear(w.queue[len(kept):])
	w.queue, w.head = kept, 0
}

// expire has op j of a conflict wait only until the clock has moved on by the skew.
func (l *Ledger) expire(c *conflict, j int) {
	if w := &c.ops[j]; !w.expires {
		w.expires = true
		l.waits.expiring = append(l.waits.expiring, expiring{c, w.op.Time})
	}
}

// settleExpired settles what waited only until the clock has come to now.
func (l *Ledger) settleExpired(now int64) {
	w := &l.waits
	n := 0
	for ; n < len(w.expiring) && now-w.expiring[n].since > l.Skew; n++ { // others may be added meanwhile
		c := w.expiring[n].conflict
		if len(c.ops) > 0 && c.ops[0].expires && now-c.ops[0].op.Time > l.Skew && c.suspects == 0 {
			l.forceFirst(c)
		}
	}
	w.expiring = append(w.expiring[:0], w.expiring[n:]...)
}

// Barrier says that whatever was published before the previous call has been in a batch. What has waited since then is
// settled as it stands: the events replace what is in b.
func (l *Ledger) Barrier(b *Batch) {
	l.begin(b)
	defer l.handOver(b)
	w := &l.waits
	for _, c := range w.queue[w.head:] {
		for len(c.ops) > 0 && c.ops[0].barrier < w.barrier {
			l.forceFirst(c)
		}
	}
	w.barrier++
	w.compact()
}

// Finish settles everything that waits, as Barrier does: no more ops will come.
func (l *Ledger) Finish(b *Batch) {
	l.begin(b)
	defer l.handOver(b)
	for _, c := range l.waits.queue[l.waits.head:] {
		l.forceAll(c)
	}
	l.waits.compact()
}
