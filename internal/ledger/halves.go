package ledger

import "github.com/heaptap/heaptap/internal/event"

// otherWay: ops wait at the address of a realloc whose result has come. It began after the first of them if its own clock, rather than theirs, was
// read too early.
func (l *Ledger) otherWay(c *contest, b *begin, result *Op, addr uint64, emit func(*event.Event)) {
	if w := &c.ops[0]; !w.late && !result.Late && !l.near(result, &w.op) && !w.allocates() {
		l.settleAddr(b.addr, emit) // a deallocation before the result
		return
	}
	if addr == 0 && result.Size > 0 {
		return
	}
	for n := c.ahead(b, result, addr == b.addr, l.Skew); n > 0; n -= 2 {
		g, i, ok := l.live.find(c.addr)
		if !ok || g.slots[i].ref>>16&refMask != b.ref {
			return
		}
		g.slots[i].ref &^= inRealloc
		l.outOfOrder(true)
		l.ends(c, 0, g, i, emit)
		if _, _, live := l.live.find(c.addr); live || len(c.ops) == 0 || !c.ops[0].allocates() {
			return
		}
		l.emitWaiting(c, 0, emit)
		l.mark(b)
	}
}

// ahead returns how many of the ops that wait, deallocations and allocations in turn, came before a realloc began whose result has come: as
// many as take the clocks to have been the least wrong.
func (c *contest) ahead(b *begin, result *Op, inPlace bool, skew int64) (n int) {
	after := int64(0) // what those are early by that come after it
	for i := range c.ops {
		after += max(0, result.Time-c.ops[i].op.Time)
	}
	least := after
	for k := 1; k < len(c.ops); k += 2 {
		end, born := &c.ops[k-1], &c.ops[k]
		if end.allocates() || end.begins() || !born.allocates() || born.op.Time-b.time > skew {
			break
		}
		after -= max(0, result.Time-end.op.Time) + max(0, result.Time-born.op.Time)
		if cost := after + max(0, born.op.Time-b.time); inPlace && cost < least { // nobody else had the address meanwhile
			least, n = cost, k+1
		} else if !inPlace && c.before(k) { // else that is what it was moved away from
			n = k + 1
		}
	}
	return n
}

// resultWaits lets the result of a realloc wait whose begin does, as long as another op may tell which block it was given: the begin becomes a
// deallocation, and the new block an allocation.
func (l *Ledger) resultWaits(b *begin, op *Op, addr uint64, emit func(*event.Event)) bool {
	c := l.waits.byAddr[b.addr]
	if c == nil || op.Pool != 0 || op.Late || op.Time-b.time > l.Skew || l.Partial { // many are of blocks that were not recorded
		return false
	}
	k := 0
	for ; k < len(c.ops) && c.ops[k].begin != b; k++ {
	}
	if k == len(c.ops) || k < c.candidates {
		return false
	}
	w := &c.ops[k]
	if addr == 0 && op.Size > 0 { // it has not ended anything
		if w.parents {
			l.known.remove(b.addr)
		}
		l.drop(c, k)
		l.fail(op, emit)
		l.resolve(c, emit)
		return true
	}
	freed := *l.by(op, b.freeStack)
	freed.Kind, freed.Stream, freed.Addr = OpFree, op.Stream, b.addr
	w.op, w.begin = freed, nil
	if addr != 0 {
		w.flags, w.other = event.Realloc, addr
	}
	l.hasten(c, k)
	if addr != 0 {
		flags := event.Realloc
		if addr == b.addr {
			flags |= event.InPlace
		}
		d := l.at(addr)
		l.wait(d, op, flags).other = b.addr
		if l.resolve(d, emit); d != c {
			l.crowded(d, emit)
		}
	}
	l.resolve(c, emit)
	if len(c.ops) > 0 {
		l.crowded(c, emit)
	}
	return true
}

// joined: what became of a waiting realloc's old block is known, so its new one need not wait for that any more.
func (l *Ledger) joined(c *contest, end *waiting, known bool, emit func(*event.Event)) {
	if end.other == 0 {
		return
	}
	d := l.waits.byAddr[end.other]
	if d == nil {
		return
	}
	for j := range d.ops {
		w := &d.ops[j]
		if w.other != c.addr || !w.allocates() || w.op.Stream != end.op.Stream {
			continue
		}
		if w.other = 0; !known {
			w.flags = 0
		}
		if d != c { // else that is what goes on
			l.resolve(d, emit)
		}
		return
	}
}

// part: a waiting realloc's new block is born before it is known what became of its old one, so they are no halves of one event.
func (l *Ledger) part(birth *waiting) {
	c := l.waits.byAddr[birth.other]
	birth.flags, birth.other = 0, 0
	if c != nil {
		for j := range c.ops {
			if w := &c.ops[j]; !w.allocates() && w.other == birth.op.key() && w.op.Stream == birth.op.Stream {
				w.flags, w.other = 0, 0
				return
			}
		}
	}
}
