package ledger

import "github.com/heaptap/heaptap/internal/event"

// maxBegins is how many reallocs of one stream may be under way. They nest only when a signal handler or an allocator's
// hook reallocates within a realloc; more than a few are begins whose results were lost.
const maxBegins = 64

// maxIdle is how many streams without a realloc under way are remembered.
const maxIdle = 1024

// begin is a realloc whose result has not arrived.
type begin struct {
	addr      uint64 // of the old block
	ref       uint64 // its number, if fate is marked or moved
	stream    uint32
	thread    uint32
	freeStack uint32
	region    uint32
	time      int64
	index     int // in streams.open
	fate      fate
	silent    bool // the block serves a pool: its end is no event
	function  event.Func
}

// fate says what is known of the block that a realloc was given.
type fate uint8

const (
	unknownBlock fate = iota // not live at the begin
	inherited                // not live either, and of an address that this ledger had never seen
	undecided                // ops wait at its address, and the begin with them
	marked                   // live, and marked in the table
	movedAway                // ended: its address was given out again
)

// streams holds the reallocs under way, by stream, as brackets.
type streams struct {
	byID map[uint32]*brackets
	open []*begin // all of them, to find one by its block
	free []*begin
	last *brackets // the ones looked up last
}

// brackets are the reallocs under way of one stream.
type brackets struct {
	stream uint32
	begins []*begin
}

func (s *streams) brackets(stream uint32) *brackets {
	if s.last != nil && s.last.stream == stream {
		return s.last
	}
	if s.byID == nil {
		s.byID = make(map[uint32]*brackets)
	}
	k := s.byID[stream]
	if k == nil {
		k = &brackets{stream: stream}
		s.byID[stream] = k
	}
	s.last = k
	return k
}

// push opens a bracket. It returns the begin that it had to forget, or nil.
func (s *streams) push(op *Op, addr uint64) (b, forgotten *begin) {
	k := s.brackets(op.Stream)
	if len(k.begins) == maxBegins {
		forgotten = k.begins[0]
		s.close(forgotten)
		k.begins = append(k.begins[:0], k.begins[1:]...)
	}
	if n := len(s.free); n > 0 {
		b, s.free = s.free[n-1], s.free[:n-1]
	} else {
		b = new(begin)
	}
	b.addr, b.ref, b.time = addr, 0, op.Time
	b.stream, b.thread, b.freeStack, b.region, b.function = op.Stream, op.Thread, op.FreeStack, op.Region, op.Func
	b.index, b.fate, b.silent = len(s.open), unknownBlock, false
	s.open = append(s.open, b)
	k.begins = append(k.begins, b)
	return b, forgotten
}

// pop closes the innermost bracket of a stream, or returns nil. It is valid until the next push.
func (s *streams) pop(stream uint32) *begin {
	if len(s.open) == 0 {
		return nil
	}
	k := s.brackets(stream)
	n := len(k.begins)
	if n == 0 {
		return nil
	}
	b := k.begins[n-1]
	k.begins = k.begins[:n-1]
	if n == 1 && len(s.byID) > maxIdle {
		delete(s.byID, stream)
		s.last = nil
	}
	s.close(b)
	s.free = append(s.free, b)
	return b
}

func (s *streams) close(b *begin) {
	n := len(s.open) - 1
	s.open[b.index] = s.open[n]
	s.open[b.index].index = b.index
	s.open = s.open[:n]
}

// innermost returns the realloc under way that a stream began last.
func (s *streams) innermost(stream uint32) *begin {
	k := s.brackets(stream)
	return k.begins[len(k.begins)-1]
}

// of returns the realloc under way of the block with that number, or nil.
func (s *streams) of(ref uint64) *begin {
	for _, b := range s.open {
		if b.fate == marked && b.ref == ref {
			return b
		}
	}
	return nil
}

func (l *Ledger) reallocBegin(op *Op, addr uint64, emit func(*event.Event)) {
	if addr == 0 {
		return
	}
	b, forgotten := l.streams.push(op, addr)
	if forgotten != nil {
		l.counts.Reallocs++
		l.decide(forgotten, emit)
		l.unmark(forgotten, emit)
	}
	if op.Pool != 0 && l.returns(op, emit) {
		b.fate, b.silent = movedAway, true
		return
	}
	b.fate = undecided
	if l.waits.ops > 0 && l.join(op, addr, 0, emit) {
		return
	}
	if g, i, ok := l.live.find(addr); !ok || l.markedByOther(op, g, i) {
		l.contest(op, addr, 0, emit)
		return
	}
	l.mark(b)
}

// markedByOther says whether another stream reallocates the block at (g, i): then op came after that, in the same tick, or
// has an unseen cause.
func (l *Ledger) markedByOther(op *Op, g *segment, i int) bool {
	if g.slots[i].ref&inRealloc == 0 {
		return false
	}
	b := l.streams.of(g.slots[i].ref >> 16 & refMask)
	return b != nil && b.stream != op.Stream
}

// mark finds the block that a realloc is given, and marks it unless another one has.
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
func (l *Ledger) decide(b *begin, emit func(*event.Event)) {
	if b.fate == undecided {
		l.settleAddr(b.addr, emit)
	}
}

// unmark makes the block of a realloc that came to nothing an ordinary one again.
func (l *Ledger) unmark(b *begin, emit func(*event.Event)) {
	if b.fate == inherited {
		l.known.remove(b.addr)
	}
	if b.fate != marked {
		return
	}
	if g, i, ok := l.live.find(b.addr); ok && g.slots[i].ref>>16&refMask == b.ref {
		g.slots[i].ref &^= inRealloc
		l.reconsider(b.addr, emit)
	}
}

// reconsider settles what can be settled at an address now that a realloc there is over.
func (l *Ledger) reconsider(addr uint64, emit func(*event.Event)) {
	if l.waits.ops == 0 {
		return
	}
	if c := l.waits.byAddr[addr]; c != nil {
		l.resolve(c, emit)
	}
}

// moved ends the marked block at (g, i), whose address op has just been given.
func (l *Ledger) moved(op *Op, g *segment, i int, emit func(*event.Event)) {
	by := l.by(op, op.FreeStack)
	if b := l.streams.of(g.slots[i].ref >> 16 & refMask); b != nil {
		b.fate = movedAway
		by.Thread, by.FreeStack, by.Region, by.Func = b.thread, b.freeStack, b.region, b.function
	}
	l.end(by, g, i, event.Realloc, emit)
}

// by returns op as a deallocation with a stack of its own. It is valid until the next call.
func (l *Ledger) by(op *Op, freeStack uint32) *Op {
	l.freed.Time, l.freed.Late = op.Time, op.Late
	l.freed.Func, l.freed.Thread, l.freed.FreeStack, l.freed.Region, l.freed.Pool = op.Func, op.Thread, freeStack, op.Region, op.Pool
	return &l.freed
}

func (l *Ledger) reallocResult(op *Op, addr uint64, emit func(*event.Event)) {
	b := l.streams.pop(op.Stream)
	if b == nil {
		l.alloc(op, addr, 0, emit)
		return
	}
	if b.fate == undecided && l.resultWaits(b, op, addr, emit) {
		return
	}
	l.decide(b, emit)
	if l.waits.ops > 0 && b.fate == marked {
		if c := l.waits.byAddr[b.addr]; c != nil {
			l.otherWay(c, b, op, addr, emit)
		}
	}
	if addr == 0 && op.Size > 0 {
		l.unmark(b, emit)
		l.fail(op, emit)
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
			born = 0 // somebody freed it meanwhile
			break
		}
		l.end(freed, g, i, half, emit)
		if addr == b.addr {
			born |= event.InPlace
		} else {
			l.reconsider(b.addr, emit)
		}
	case unknownBlock, inherited:
		switch {
		case !l.Partial:
			born = 0
		case addr == b.addr: // it was a block, though nobody recorded it
			born |= event.InPlace
		}
		if l.waits.ops > 0 {
			l.settleAddr(b.addr, emit)
		}
		kind := event.Unmatched
		if b.fate == inherited {
			kind = event.Inherited
		}
		l.unknown(freed, b.addr, kind, half, emit)
	}
	if b.silent {
		born = 0 // there was no other half
	}
	if addr != 0 {
		l.alloc(op, addr, born, emit)
	}
}
