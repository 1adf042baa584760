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

// of returns the realloc under way of the block at a place, or nil.
func (s *streams) of(p *slot) *begin {
	if p.ref&inRealloc == 0 {
		return nil
	}
	ref := p.ref >> 16 & refMask
	for _, b := range s.open {
		if b.fate == marked && b.ref == ref {
			return b
		}
	}
	return nil
}
