package ledger

import "github.com/heaptap/heaptap/internal/event"

func (l *Ledger) reallocBegin(op *Op, addr uint64) {
	if addr == 0 {
		return
	}
	b, forgotten := l.streams.push(op, addr)
	if forgotten != nil {
		l.counts.Reallocs++
		l.decide(forgotten)
		l.unmark(forgotten)
	}
	if op.Pool != 0 && l.returns(op) {
		b.fate, b.silent = movedAway, true
		return
	}
	b.fate = undecided
	if l.waits.ops > 0 && l.join(op, addr, 0) {
		return
	}
	if g, i, ok := l.live.find(addr); !ok || l.markedByOther(op, g, i) {
		l.conflict(op, addr, 0)
		return
	}
	l.mark(b)
}

// markedByOther says whether another stream is reallocating the block at (g, i). Then op, which ends or reallocates it,
// contradicts.
func (l *Ledger) markedByOther(op *Op, g *segment, i int) bool {
	b := l.streams.of(&g.slots[i])
	return b != nil && b.stream != op.Stream
}

// mark finds the block that a realloc was given, and marks it, unless another realloc has.
func (l *Ledger) mark(b *begin) {
	b.fate = unknownBlock
	g, i, ok := l.live.find(b.addr)
	if !ok {
		return
	}
	if s := &g.slots[i]; s.ref&inRealloc == 0 {
		b.fate, b.ref, b.silent = marked, s.ref>>16&refMask, s.ref&silent != 0
		s.ref |= inRealloc
	}
}

// decide settles what a begin waits for.
func (l *Ledger) decide(b *begin) {
	if b.fate == undecided {
		l.forceAt(b.addr)
	}
}

// unmark removes the mark of a realloc that failed or whose result was lost.
func (l *Ledger) unmark(b *begin) {
	if b.fate == inherited {
		l.known.remove(b.addr)
	}
	if b.fate != marked {
		return
	}
	if g, i, ok := l.live.find(b.addr); ok && g.slots[i].ref>>16&refMask == b.ref {
		g.slots[i].ref &^= inRealloc
		l.settleAt(b.addr)
	}
}

// moved ends the marked block at (g, i), since op was given its address.
func (l *Ledger) moved(op *Op, g *segment, i int) {
	by := l.by(op, op.FreeStack)
	if b := l.streams.of(&g.slots[i]); b != nil {
		b.fate = movedAway
		by.Thread, by.FreeStack, by.Region, by.Func = b.thread, b.freeStack, b.region, b.function
	}
	l.end(by, g, i, event.Realloc)
}

// by returns op as a deallocation with a stack of its own. It is valid until the next call.
func (l *Ledger) by(op *Op, freeStack uint32) *Op {
	f := &l.freed
	f.Time, f.Late, f.Func, f.Thread = op.Time, op.Late, op.Func, op.Thread
	f.FreeStack, f.Region, f.Pool = freeStack, op.Region, op.Pool
	return f
}

func (l *Ledger) reallocResult(op *Op, addr uint64) {
	b := l.streams.pop(op.Stream)
	if b == nil {
		l.alloc(op, addr, 0)
		return
	}
	if b.fate == undecided && l.resultWaits(b, op, addr) {
		return
	}
	l.decide(b)
	if l.waits.ops > 0 && b.fate == marked {
		if c := l.waits.byAddr[b.addr]; c != nil {
			l.reallocBeganLater(c, b, op, addr)
		}
	}
	if addr == 0 && op.Size > 0 {
		l.unmark(b)
		l.fail(op)
		return
	}
	var half event.Flags // of both events
	if addr != 0 {
		half = event.Realloc
	}
	freed := l.by(op, b.freeStack)
	born := half
	switch b.fate {
	case marked:
		g, i, ok := l.live.find(b.addr)
		if !ok || g.slots[i].ref>>16&refMask != b.ref {
			born = 0 // it has been freed meanwhile
			break
		}
		l.end(freed, g, i, half)
		if addr == b.addr {
			born |= event.InPlace
		} else {
			l.settleAt(b.addr)
		}
	case unknownBlock, inherited:
		switch {
		case !l.Partial:
			born = 0
		case addr == b.addr: // there was a block, though it was not recorded
			born |= event.InPlace
		}
		if l.waits.ops > 0 {
			op := *freed
			l.forceAt(b.addr) // which may use it for another op
			*freed = op
		}
		kind := event.Unmatched
		if b.fate == inherited {
			kind = event.Inherited
		}
		l.unknown(freed, b.addr, kind, half)
	}
	if b.silent {
		born = 0 // the end of the old block was no event
	}
	if addr != 0 {
		l.alloc(op, addr, born)
	}
}

// resultWaits lets the result of a realloc wait whose begin does, as long as another op may show which block it was
// given: the begin becomes a deallocation, and the new block an allocation.
func (l *Ledger) resultWaits(b *begin, op *Op, addr uint64) bool {
	c := l.waits.byAddr[b.addr]
	if c == nil || op.Pool != 0 || op.Late || op.Time-b.time > l.Skew || l.Partial {
		return false // if Partial, many are of blocks that were not recorded
	}
	k := 0
	for ; k < len(c.ops) && c.ops[k].begin != b; k++ {
	}
	if k == len(c.ops) || k < c.suspects {
		return false
	}
	w := &c.ops[k]
	if addr == 0 && op.Size > 0 { // it has not ended anything
		if w.firstSeen {
			l.known.remove(b.addr)
		}
		l.drop(c, k)
		l.fail(op)
		l.settle(c)
		return true
	}
	freed := *l.by(op, b.freeStack)
	freed.Kind, freed.Stream, freed.Addr = OpFree, op.Stream, b.addr
	w.op, w.begin = freed, nil
	if addr != 0 {
		w.flags, w.other = event.Realloc, addr
	}
	l.expire(c, k)
	if addr != 0 {
		flags := event.Realloc
		if addr == b.addr {
			flags |= event.InPlace
		}
		d := l.conflictAt(addr)
		l.wait(d, op, flags).other = b.addr
		if l.settle(d); d != c {
			l.limit(d)
		}
	}
	l.settle(c)
	if len(c.ops) > 0 {
		l.limit(c)
	}
	return true
}

// sureBefore says whether a deallocation or begin that came before a realloc's result has certainly happened before it.
func (w *waiting) sureBefore(result *Op, skew int64) bool {
	return !w.allocates() && !w.late && !result.Late && result.Time-w.time > skew
}

// reallocBeganLater: ops wait at the address of a realloc whose result has come. It began after the first of them if
// its own clock was read too early, rather than theirs.
func (l *Ledger) reallocBeganLater(c *conflict, b *begin, result *Op, addr uint64) {
	if addr == 0 && result.Size > 0 {
		if c.ops[0].sureBefore(result, l.Skew) {
			l.forceAll(c)
		}
		return
	}
	s := l.situation(c)
	n := s.aheadOf(b.time, result, addr == b.addr)
	if n == 0 && c.ops[0].sureBefore(result, l.Skew) {
		l.forceAll(c) // it ended the block, though a realloc was under way
		return
	}
	for ; n > 0; n -= 2 {
		g, i, ok := l.live.find(c.addr)
		if !ok || g.slots[i].ref>>16&refMask != b.ref {
			return
		}
		g.slots[i].ref &^= inRealloc
		l.counts.Ties++
		if d := l.endBy(c, 0); d != nil {
			l.settle(d)
		}
		if _, _, live := l.live.find(c.addr); live || len(c.ops) == 0 || !c.ops[0].allocates() {
			return
		}
		l.birthOf(c, 0)
		l.mark(b)
	}
}
