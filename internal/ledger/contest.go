package ledger

import (
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// Bounds of what waits, so that a recording with gaps costs no more than these: beyond them the oldest are settled.
const (
	maxWaiting = 1 << 16 // ops
	maxContest = 32      // ops at one address
)

// waits holds the addresses at which ops wait.
type waits struct {
	byAddr  map[uint64]*contest
	queue   []*contest // all of them, and some that are over, in order of their beginning
	head    int        // of queue
	hasty   []hasty    // those that only wait for time to move on
	ops     int        // waiting, in all
	barrier uint64     // barriers so far
}

// contest is an address at which ops wait. The first op contradicts the table, or candidates > 0.
type contest struct {
	addr uint64
	ops  []waiting
	// So many of the first ops are deallocations that came before the allocation of the block that is live now, and
	// that ended it only if their clock was wrong.
	candidates int
}

// waiting is an op that waits.
type waiting struct {
	op      Op
	flags   event.Flags
	begin   *begin // if op is a realloc's begin
	late    bool   // it may have happened before what arrived before it, whatever its time
	parents bool   // a deallocation or begin at an address that this ledger of a forked child had never seen
	hasty   bool   // when the clock has moved on, it is settled as it stands
	barrier uint64
	// The halves of a realloc that had begun at an address where ops wait know of each other: the end, where the birth waits, and the
	// birth, where the end does. What becomes of the end tells whether there was a block to reallocate.
	other uint64
}

func (w *waiting) allocates() bool { return w.op.Kind == OpAlloc || w.op.Kind == OpReallocResult }
func (w *waiting) begins() bool    { return w.op.Kind == OpReallocBegin }

// join lets op wait if others do at its address.
func (l *Ledger) join(op *Op, addr uint64, flags event.Flags, emit func(*event.Event)) bool {
	c := l.waits.byAddr[addr]
	if c == nil {
		return false
	}
	l.wait(c, op, flags)
	l.resolve(c, emit)
	l.crowded(c, emit)
	return true
}

// crowded keeps the ops that wait in a contest, and all of them, within bounds.
func (l *Ledger) crowded(c *contest, emit func(*event.Event)) {
	if len(c.ops) >= maxContest {
		l.counts.Overflows++
		l.settleHead(c, emit)
	}
	l.bound(emit)
}

// at returns the contest at an address; if there is none, it opens one.
func (l *Ledger) at(addr uint64) *contest {
	c := l.waits.byAddr[addr]
	if c == nil {
		c = &contest{addr: addr}
		l.waits.byAddr[addr] = c
		l.waits.queue = append(l.waits.queue, c)
	}
	return c
}

// contest opens a contest: op contradicts the table.
func (l *Ledger) contest(op *Op, addr uint64, flags event.Flags, emit func(*event.Event)) {
	c := l.at(addr)
	if l.wait(c, op, flags).parents {
		if op.Time < l.seen {
			l.settleHead(c, emit)
			return
		}
		l.hasten(c, 0)
	}
	l.bound(emit)
}

func (l *Ledger) wait(c *contest, op *Op, flags event.Flags) *waiting {
	w := waiting{op: *op, flags: flags, late: op.Late || op.Time < l.seen, barrier: l.waits.barrier}
	w.parents = l.known != nil && !w.allocates() && l.known.add(c.addr)
	if w.begins() {
		w.begin = l.streams.innermost(op.Stream)
	}
	c.ops = append(c.ops, w)
	l.waits.ops++
	return &c.ops[len(c.ops)-1]
}

// bound keeps the waiting ops and the memory of contests that are over within bounds.
func (l *Ledger) bound(emit func(*event.Event)) {
	w := &l.waits
	for w.ops > maxWaiting && w.head < len(w.queue) {
		c := w.queue[w.head]
		if len(c.ops) == 0 {
			w.head++
			continue
		}
		l.counts.Overflows++
		l.settleHead(c, emit)
	}
	if len(w.byAddr) < len(w.queue)/2 && len(w.queue) > 1024 {
		w.compact()
	}
}

// compact drops the contests that are over from the queue.
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

// Barrier says that whatever was published before the previous call has been added. What has waited since then is
// settled as it stands.
func (l *Ledger) Barrier(emit func(*event.Event)) {
	w := &l.waits
	for _, c := range w.queue[w.head:] {
		for len(c.ops) > 0 && c.ops[0].barrier < w.barrier {
			l.settleHead(c, emit)
		}
	}
	w.barrier++
	w.compact()
}

// Finish settles everything that waits: no more ops will come.
func (l *Ledger) Finish(emit func(*event.Event)) {
	for _, c := range l.waits.queue[l.waits.head:] {
		for len(c.ops) > 0 {
			l.settleHead(c, emit)
		}
	}
	l.waits.compact()
}

// settleAddr settles everything that waits at an address.
func (l *Ledger) settleAddr(addr uint64, emit func(*event.Event)) {
	if c := l.waits.byAddr[addr]; c != nil {
		for len(c.ops) > 0 {
			l.settleHead(c, emit)
		}
	}
}

// settleHead settles the first op of a contest by its time, and what follows from it.
func (l *Ledger) settleHead(c *contest, emit func(*event.Event)) {
	g, i, live := l.live.find(c.addr)
	switch {
	case c.ops[0].allocates():
		if from := c.ops[0].other; from != 0 { // an end comes to wait before its birth does, so they wait in no circle
			l.settleAddr(from, emit)
		} else {
			l.unseen(c, emit)
		}
	case c.ops[0].begins():
		l.begun(c)
	case c.candidates == 0 && !live && l.exchange(c, emit):
	case live && c.candidates == 0: // and in a realloc
		l.ends(c, 0, g, i, emit)
	default:
		l.endsNothing(c, emit)
	}
	l.resolve(c, emit)
}

// ends settles that op j of c ended the live block at (g, i).
func (l *Ledger) ends(c *contest, j int, g *segment, i int, emit func(*event.Event)) {
	w := c.ops[j]
	l.drop(c, j)
	l.end(&w.op, g, i, w.flags, emit)
	l.joined(c, &w, true, emit)
}

// begun settles that the realloc that is first in c was given the block that is live, or none.
func (l *Ledger) begun(c *contest) {
	b := c.ops[0].begin
	if l.mark(b); b.fate == unknownBlock && c.ops[0].parents {
		b.fate = inherited
	}
	l.drop(c, 0)
}

// endsNothing settles that the deallocation that is first in c ended no block of this ledger.
func (l *Ledger) endsNothing(c *contest, emit func(*event.Event)) {
	kind := event.Unmatched
	if c.ops[0].parents {
		kind = event.Inherited
	}
	w := c.ops[0]
	l.drop(c, 0)
	l.unknown(&w.op, c.addr, kind, w.flags, emit)
	l.joined(c, &w, false, emit)
}

// unseen ends the block below the allocation that is first in c.
func (l *Ledger) unseen(c *contest, emit func(*event.Event)) {
	g, i, ok := l.live.find(c.addr)
	if !ok {
		return
	}
	if j := l.crossed(c, g, i); j > 0 {
		l.outOfOrder(true)
		l.counts.Exchanges++
		l.ends(c, j, g, i, emit)
		return
	}
	first := &c.ops[0].op
	if g.slots[i].ref&inRealloc != 0 {
		l.moved(first, g, i, emit)
		return
	}
	if g.slots[i].ref&silent == 0 {
		l.counts.Unseen++
	}
	nobody := Op{Time: first.Time, Late: first.Late, Thread: first.Thread, Stream: first.Stream, Region: first.Region}
	l.end(&nobody, g, i, 0, emit)
}

// drop removes op j of a contest.
func (l *Ledger) drop(c *contest, j int) {
	if j < c.candidates {
		c.candidates--
	}
	c.ops = append(c.ops[:j], c.ops[j+1:]...)
	l.waits.ops--
	if len(c.ops) == 0 {
		delete(l.waits.byAddr, c.addr)
	}
}

// resolve settles what can be settled at an address by what is known now.
func (l *Ledger) resolve(c *contest, emit func(*event.Event)) {
	for len(c.ops) > 0 {
		g, i, live := l.live.find(c.addr)
		first := &c.ops[0]
		var progress bool
		switch {
		case c.candidates > 0 && live:
			progress = l.judgeCandidates(c, g, i, emit)
		case first.allocates() && live:
			progress = l.judgeAlloc(c, g, i, emit)
		case first.allocates():
			if progress = first.other == 0; progress {
				l.emitWaiting(c, 0, emit)
			}
		case live && g.slots[i].ref&inRealloc != 0:
			progress = l.judgeMarked(c, g, i, emit)
		case first.begins() && live:
			l.begun(c)
			progress = true
		case first.begins():
			progress = l.judgeBegin(c, emit)
		case live:
			l.ends(c, 0, g, i, emit)
			progress = true
		default:
			progress = l.judgeFree(c, emit)
		}
		if !progress {
			return
		}
	}
}

// before says whether an op ahead of j in c is of j's stream, so that j happened after it.
func (c *contest) before(j int) bool {
	for k := range j {
		if c.ops[k].op.Stream == c.ops[j].op.Stream {
			return true
		}
	}
	return false
}

// mayPrecede says whether the block at (g, i) may end, and another one be born, before the realloc that has marked it begins: what came last
// at its address is not too late for that. The result will tell.
func (l *Ledger) mayPrecede(last *Op, g *segment, i int) bool {
	b := l.streams.of(g.slots[i].ref >> 16 & refMask)
	return b != nil && last.Time-b.time <= l.Skew && !last.Late
}

// near says whether two ops happened at the same time, as far as their clocks can tell.
func (l *Ledger) near(later, earlier *Op) bool { return later.Time-earlier.Time <= l.Skew }

// judgeAlloc: the first op allocates over the live block at (g, i). Did one of the later ones end that?
func (l *Ledger) judgeAlloc(c *contest, g *segment, i int, emit func(*event.Event)) bool {
	if g.slots[i].ref&inRealloc != 0 {
		if l.mayPrecede(&c.ops[len(c.ops)-1].op, g, i) {
			return false
		}
		l.moved(&c.ops[0].op, g, i, emit)
		return true
	}
	allocs, frees, ender := 1, 0, 0
	for j := 1; j < len(c.ops); j++ {
		w := &c.ops[j]
		switch {
		case w.begins() && ender == 0 && !c.before(j) && (w.late || l.near(&w.op, &c.ops[0].op)):
			l.outOfOrder(true)
			l.mark(w.begin)
			l.drop(c, j)
			return true
		case w.begins():
			continue
		case w.allocates():
			allocs++
			if frees > 0 && ender == 0 && !l.near(&w.op, &c.ops[0].op) {
				// The allocation before this one has its deallocation: only that of the live block is missing.
				l.unseen(c, emit)
				return true
			}
			continue
		}
		frees++
		if ender == 0 && !c.before(j) {
			ender = j
		}
	}
	if ender == 0 {
		if l.crossed(c, g, i) > 0 {
			l.hasten(c, 0)
		}
		return false
	}
	w := &c.ops[ender]
	tie := w.late || l.near(&w.op, &c.ops[0].op)
	if !tie && frees < allocs+1 { // fewer than the live block and the allocations
		if !c.ops[len(c.ops)-1].allocates() {
			return false
		}
		l.unseen(c, emit)
		return true
	}
	l.outOfOrder(tie)
	l.ends(c, ender, g, i, emit)
	return true
}

// judgeMarked: the first op deallocates or reallocates a block that another stream is reallocating. If that has moved it, a
// later one has allocated at its address; if it has failed, the result says so. Both bear the same time or come late.
func (l *Ledger) judgeMarked(c *contest, g *segment, i int, emit func(*event.Event)) bool {
	first := &c.ops[0]
	if l.mayPrecede(&c.ops[len(c.ops)-1].op, g, i) {
		return false
	}
	for j := 1; j < len(c.ops); j++ {
		switch w := &c.ops[j]; {
		case !w.late && !l.near(&w.op, &first.op) && first.begins():
			l.begun(c)
			return true
		case !w.late && !l.near(&w.op, &first.op):
			l.ends(c, 0, g, i, emit)
			return true
		case w.allocates() && !c.before(j):
			l.moved(&w.op, g, i, emit)
			return true
		}
	}
	return false
}

// judgeFree: the first op deallocates what is not live. Did one of the later ones allocate it?
func (l *Ledger) judgeFree(c *contest, emit func(*event.Event)) bool {
	first := &c.ops[0]
	_, swap, cost := l.exchangeable(c)
	for j := 1; j < len(c.ops); j++ {
		w := &c.ops[j]
		if !w.allocates() {
			continue
		}
		last := &c.ops[len(c.ops)-1]
		switch tie := w.late || l.near(&w.op, &first.op); {
		case c.before(j):
			// Only another stream's op of the same time could still explain the first.
			if l.near(&last.op, &first.op) {
				continue
			}
			if !l.exchange(c, emit) {
				l.endsNothing(c, emit)
			}
		case tie:
			if swap > 0 && swap < j && cost < w.op.Time-first.op.Time+w.op.Time-c.ops[swap].op.Time {
				return l.exchange(c, emit)
			}
			l.outOfOrder(true)
			l.emitWaiting(c, j, emit)
			g, i, _ := l.live.find(c.addr)
			l.ends(c, 0, g, i, emit)
		case slices.ContainsFunc(c.ops[:j], func(w waiting) bool { return w.begins() }): // nor did that
			l.endsNothing(c, emit)
		default:
			l.emitWaiting(c, j, emit)
			c.candidates = j
		}
		return true
	}
	if swap > 0 {
		l.hasten(c, 0)
	}
	return false
}

// judgeBegin: the first op begins to reallocate what is not live. Did one of the later ones allocate it in the same tick?
func (l *Ledger) judgeBegin(c *contest, emit func(*event.Event)) bool {
	for j := 1; j < len(c.ops); j++ {
		w := &c.ops[j]
		if !w.allocates() {
			continue
		}
		if c.before(j) || !w.late && !l.near(&w.op, &c.ops[0].op) {
			l.begun(c)
			return true
		}
		l.outOfOrder(true)
		l.emitWaiting(c, j, emit)
		return true
	}
	return false
}

// judgeCandidates: the first ops came before the live block's allocation. What came after it tells whether one of them
// ended it nevertheless.
func (l *Ledger) judgeCandidates(c *contest, g *segment, i int, emit func(*event.Event)) bool {
	if c.candidates == len(c.ops) {
		return false
	}
	if c.ops[c.candidates].allocates() {
		l.outOfOrder(false)
		c.candidates = 0
		l.ends(c, 0, g, i, emit)
		return true
	}
	l.endsNothing(c, emit)
	return true
}

// emitWaiting gives birth to the block that op j of a contest allocated.
func (l *Ledger) emitWaiting(c *contest, j int, emit func(*event.Event)) {
	w := c.ops[j]
	l.drop(c, j)
	if w.other != 0 {
		l.part(&w)
	}
	g, i, _ := l.live.find(c.addr)
	l.born(&w.op, c.addr, g, i, w.flags, emit)
}

func (l *Ledger) outOfOrder(tie bool) {
	if tie {
		l.counts.Ties++
	} else {
		l.counts.Inversions++
	}
}
