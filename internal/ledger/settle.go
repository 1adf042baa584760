package ledger

import "github.com/heaptap/heaptap/internal/event"

// task is an address at which something is to be settled.
type task struct {
	*conflict
	force bool // first the first op, by its time, and then what is certain; else only that
	all   bool // and so on until nothing waits there
}

// settle settles what is certain at an address.
func (l *Ledger) settle(c *conflict) { l.work(task{conflict: c}) }

// forceFirst settles the first op of a conflict by its time, and what follows from it.
func (l *Ledger) forceFirst(c *conflict) {
	l.work(task{conflict: c, force: true})
}

// forceAll settles all ops of a conflict; there may be none.
func (l *Ledger) forceAll(c *conflict) { l.work(task{c, true, true}) }

// forceAt settles everything that waits at an address.
func (l *Ledger) forceAt(addr uint64) {
	if l.waits.ops == 0 {
		return
	}
	if c := l.waits.byAddr[addr]; c != nil {
		l.forceAll(c)
	}
}

// settleAt settles what is certain at an address, now that more is known of the block there.
func (l *Ledger) settleAt(addr uint64) {
	if l.waits.ops == 0 {
		return
	}
	if c := l.waits.byAddr[addr]; c != nil {
		l.settle(c)
	}
}

// work does a task, and what comes up meanwhile at other addresses: that first.
//
// The end of a block whose memory serves a pool comes back here, for the addresses in that pool. No memory of theirs
// serves a pool without being another block of one, so that it does not come back a second time.
func (l *Ledger) work(t task) {
	base := len(l.waits.tasks)
	l.waits.tasks = append(l.waits.tasks, t)
	for len(l.waits.tasks) > base {
		top := len(l.waits.tasks) - 1
		t := &l.waits.tasks[top]
		if len(t.ops) == 0 {
			l.waits.tasks = l.waits.tasks[:top]
			continue
		}
		s := l.situation(t.conflict)
		if t.force {
			t.force = false
			l.apply(t.conflict, s.force())
			continue
		}
		what := s.next()
		if what.n > 0 {
			l.apply(t.conflict, what)
			continue
		}
		if what.expires {
			l.expire(t.conflict, 0)
		}
		if t.force = t.all; !t.all {
			l.waits.tasks = l.waits.tasks[:top]
		}
	}
}

// situation collects what is known of an address.
func (l *Ledger) situation(c *conflict) situation {
	s := situation{key: c.addr, ops: c.ops, suspects: c.suspects, recent: &l.recent, skew: l.Skew}
	g, i, ok := l.live.find(c.addr)
	if !ok {
		return s
	}
	p := &g.slots[i]
	s.live = occupant{
		is: true, moving: p.ref&inRealloc != 0, by: l.streams.of(p),
		thread: uint32(p.key&0xffff) | uint32(p.ref&0xffff)<<16, born: int64(p.born >> howBits),
	}
	return s
}

// apply takes the steps of a story.
func (l *Ledger) apply(c *conflict, s story) {
	switch s.why {
	case tie:
		l.counts.Ties++
	case inversion:
		l.counts.Inversions++
	case exchange:
		l.counts.Ties++
		l.counts.Exchanges++
	}
	for _, x := range s.steps[:s.n] {
		switch x.what {
		case birth:
			l.birthOf(c, x.op)
		case end:
			l.alsoSettle(l.endBy(c, x.op))
		case endNothing:
			l.alsoSettle(l.endNothing(c, x.op))
		case beginWork:
			l.beginWork(c, x.op)
		case moveAway:
			g, i, _ := l.live.find(c.addr)
			l.moved(&c.ops[x.op].op, g, i)
		case endUnseen:
			l.endUnseen(c, x.op)
		case suspect:
			c.suspects = x.op
		case settleOther:
			if d := l.waits.byAddr[c.ops[x.op].other]; d != nil && d != c {
				l.waits.tasks = append(l.waits.tasks, task{d, true, true})
			} else {
				c.ops[x.op].other = 0
			}
		}
	}
}

// alsoSettle has what is certain at another address settled before the rest of the task under way; d may be nil.
func (l *Ledger) alsoSettle(d *conflict) {
	if d != nil {
		l.waits.tasks = append(l.waits.tasks, task{conflict: d})
	}
}

// birthOf: op j of c allocated a block.
func (l *Ledger) birthOf(c *conflict, j int) {
	w := c.ops[j]
	l.drop(c, j)
	if w.other != 0 {
		l.splitRealloc(&w)
	}
	g, i, _ := l.live.find(c.addr)
	l.born(&w.op, c.addr, g, i, w.flags)
}

// endBy: op j of c ended the live block. It returns the conflict in which more can be settled now, or nil.
func (l *Ledger) endBy(c *conflict, j int) *conflict {
	w := c.ops[j]
	l.drop(c, j)
	g, i, _ := l.live.find(c.addr)
	l.end(&w.op, g, i, w.flags)
	return l.resolveResult(c, &w, true)
}

// endNothing: op j of c ended no block of this ledger. It returns what endBy does.
func (l *Ledger) endNothing(c *conflict, j int) *conflict {
	w := c.ops[j]
	l.drop(c, j)
	kind := event.Unmatched
	if w.firstSeen {
		kind = event.Inherited
	}
	l.unknown(&w.op, c.addr, kind, w.flags)
	return l.resolveResult(c, &w, false)
}

// beginWork: the realloc that op j of c begins was given the live block, or none.
func (l *Ledger) beginWork(c *conflict, j int) {
	b := c.ops[j].begin
	if l.mark(b); b.fate == unknownBlock && c.ops[j].firstSeen {
		b.fate = inherited
	}
	l.drop(c, j)
}

// endUnseen: something that was not recorded ended the live block before op j of c.
func (l *Ledger) endUnseen(c *conflict, j int) {
	g, i, _ := l.live.find(c.addr)
	if g.slots[i].ref&silent == 0 {
		l.counts.Unseen++
	}
	op := &c.ops[j].op
	nobody := Op{Time: op.Time, Late: op.Late, Thread: op.Thread, Stream: op.Stream, Region: op.Region}
	l.end(&nobody, g, i, 0)
}

// resolveResult: what became of the old block of a realloc is settled, so that its new block need not wait for that any
// more; known says whether there was an old block. It returns the conflict in which the new block waits, if that is
// another one than c, or nil.
func (l *Ledger) resolveResult(c *conflict, end *waiting, known bool) *conflict {
	if end.other == 0 {
		return nil
	}
	d := l.waits.byAddr[end.other]
	if d == nil {
		return nil
	}
	for j := range d.ops {
		w := &d.ops[j]
		if w.other != c.addr || !w.allocates() || w.op.Stream != end.op.Stream {
			continue
		}
		if w.other = 0; !known {
			w.flags = 0
		}
		if d == c {
			return nil
		}
		return d
	}
	return nil
}

// splitRealloc: a realloc's new block is born before it is settled what became of its old block, so that the two are
// not parts of one realloc any more.
func (l *Ledger) splitRealloc(birth *waiting) {
	c := l.waits.byAddr[birth.other]
	birth.flags, birth.other = 0, 0
	if c == nil {
		return
	}
	for j := range c.ops {
		if w := &c.ops[j]; !w.allocates() && w.other == birth.op.key() && w.op.Stream == birth.op.Stream {
			w.flags, w.other = 0, 0
			return
		}
	}
}
