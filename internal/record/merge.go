package record

import (
	"encoding/binary"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/wire"
)

const never = ^uint64(0)

// stream is the worker's side of a spool's stream: what was drained and not merged yet.
type stream struct {
	uid, start uint64
	proc       uint32
	tid, level uint32
	name       string
	index      uint32 // number within its process, for the ledger

	pieces             []journal.Piece
	head               int // first of them
	b                  []byte
	at                 int
	begins, lastBegins int // while it is merged: where in b the next record begins, with what belongs to it, and the latest one; -1: none
	buf                []byte
	x                  extras

	time    uint64 // of the event at the head, if the stream is in the heap
	last    uint64 // of the latest event that was merged
	bound   uint64 // no event can come that is older
	held    uint64 // latest round in which its writer was amid an event
	pending bool   // it is in the heap

	// For the state that outlives the recorder: up to where the stream's records were handed over, where the latest of
	// them begins, and whether that is the begin of a realloc.
	done, latest journal.Position
	began        bool
	touched      bool // since the latest state

	thread   uint32 // index in the recording
	known    bool   // thread is valid
	badBytes bool   // the recording has a note about it
}

// consume hands over the stream's events that are older than limit. It returns false when nothing is left.
func (p *process) consume(s *stream, limit uint64) bool {
	b := &p.w.batch
	if b.n == 0 {
		b.latest, b.time = p.latest, p.time
	}
	if s.lastBegins = -1; s.x.have == 0 { // else the next record begins where what belongs to it does
		s.begins = s.at
	}
	for {
		if p.decode(s, limit) || b.n < batchSize && len(s.b)-s.at >= 16 && p.decodeAny(s, limit) {
			p.until(s)
			return true
		}
		if b.n == batchSize {
			p.until(s)
			p.settle()
		}
		if len(s.b)-s.at >= 16 {
			continue
		}
		p.until(s)
		if s.at < len(s.b) {
			p.broken(s)
		}
		if p.isLater(s, limit) {
			return true
		}
		if !p.nextPiece(s) {
			return false
		}
		s.begins, s.lastBegins = s.at, -1
	}
}

// decode adds the stream's next records to the batch, as long as there is room for them and nothing about them that only decodeAny
// understands. It returns true if the next record is not older than limit.
func (p *process) decode(s *stream, limit uint64) (done bool) {
	bt, c, nodes, thread := &p.w.batch, p.clock, p.nodeID, s.thread
	latest, now := bt.latest, bt.time
	if s.x.have != 0 || s.last > latest {
		return false
	}
	b, at, n := s.b, s.at, bt.n
	for ; n < batchSize && len(b)-at >= 24; n++ {
		d := b[at : at+24 : at+24]
		w0, w1 := binary.LittleEndian.Uint64(d), binary.LittleEndian.Uint64(d[8:])
		class := w0 >> (wire.KindShift + wire.ClassShift) & 3
		if class > wire.ClassShort {
			break
		}
		// What is known is written at once, whatever comes of the record: a composite literal, or all in the end, takes longer than all else.
		r, e, m := &bt.rest[n], &bt.list[n], &simple[uint8(w0>>wire.KindShift)]
		r.w0 = w0
		e.Way = m.way
		e.Func = m.fn
		e.Born = 0
		e.Thread = thread
		addr, slack := w0&wire.AddrMask, w0>>wire.SlackShift
		e.Addr = addr
		e.Ref = slack
		if addr == 0 || slack == wire.SlackExtra {
			break
		}
		// Whether a record is long or short has no pattern that a processor could learn: without a branch.
		stacked := wire.ClassShort - class
		t := w1 ^ (w1^binary.LittleEndian.Uint64(d[16:]))&-stacked
		if t < latest {
			break
		}
		if t >= limit {
			if t != never {
				s.time, done = t, true
			}
			break
		}
		r.time = t
		w1 &= -stacked
		stack, size := w1>>32, uint64(uint32(w1))
		e.Size = size
		if stack >= uint64(len(nodes)) || size == wire.SizeExtra {
			break
		}
		id := nodes[stack]
		e.Stack = id
		if id == 0 && stack != 0 {
			break
		}
		if ticks := t - c.from; ticks < c.span {
			now = max(now, c.quick(ticks))
		} else {
			now = max(now, c.unitsAnew(t))
		}
		e.Time = uint64(now)
		latest = t
		at += 16 + 8*int(stacked)
	}
	if n > bt.n {
		s.at, s.last, bt.n, bt.latest, bt.time = at, latest, n, latest, now
		class := bt.rest[n-1].w0 >> (wire.KindShift + wire.ClassShift) & 3
		s.begins, s.lastBegins = at, at-16-8*int(wire.ClassShort-class)
	}
	return done
}

// decodeAny adds the stream's next record, of which 16 bytes are there, to the batch, or takes what comes before it. It returns true if it is
// not older than limit.
func (p *process) decodeAny(s *stream, limit uint64) bool {
	bt, b := &p.w.batch, s.b[s.at:]
	w0, w1 := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	kind := uint8(w0 >> wire.KindShift)
	n, count := 0, uint64(0)
	if kind == wire.XCount && len(b) >= 16+24 && uint8(b[16+wire.KindShift/8]) == wire.KCalloc && s.x.have == 0 {
		// All that is told ahead of a calloc is, mostly, its first argument.
		n, count = 16, w1
		b = b[16:]
		w0, w1 = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		kind = wire.KCalloc
	}
	t := w1
	switch class := kind >> wire.ClassShift; {
	case class == wire.ClassExtra:
		s.x.add(kind, w1)
		s.at += 16
		return false
	case class == wire.ClassStack && len(b) >= 24:
		t = binary.LittleEndian.Uint64(b[16:])
		n += 24
	case class == wire.ClassStack: // it is cut off
		p.broken(s)
		return false
	default:
		w1 = 0
		n += 16
	}
	if t < s.last {
		t = s.last // within a stream the order is beyond doubt
	} else if t == never {
		t-- // the writer is broken, and never is for ever
	}
	if t >= limit {
		s.time = t
		return true
	}
	m := &meanings[kind]
	r, e := &bt.rest[bt.n], &bt.list[bt.n]
	e.Addr = w0 & wire.AddrMask
	e.Size = uint64(uint32(w1))
	e.Ref = w0 >> wire.SlackShift
	e.Born = count
	e.Stack = 0
	if stack := uint32(w1 >> 32); stack != 0 {
		e.Stack = p.stack(stack)
	}
	e.Thread = s.thread
	e.Way = m.plain
	e.Func = m.fn
	if t < bt.latest || e.Addr == 0 || e.Size == wire.SizeExtra || e.Ref == wire.SlackExtra && m.plain == event.PlainAlloc {
		e.Way = event.NotPlain
	} else {
		bt.time = max(bt.time, p.clock.units(t))
	}
	bt.latest = max(bt.latest, t)
	e.Time = uint64(bt.time)
	r.w0 = w0
	r.time = t
	bt.n++
	if s.x.have != 0 {
		bt.extend(&s.x)
	}
	s.at += n
	s.last = t
	s.begins, s.lastBegins = s.at, s.begins
	return false
}

// broken is called where no record is: the rest of the piece cannot be read.
func (p *process) broken(s *stream) {
	p.lost++
	if !s.badBytes {
		s.badBytes = true
		p.note("Some events of thread %d were damaged in the target's memory and are missing.", s.tid)
	}
	s.at = len(s.b)
}

// isLater says whether the stream's next piece begins at limit or later. Then it is not loaded before its time has come: of many
// threads, each would hold a piece in memory.
func (p *process) isLater(s *stream, limit uint64) bool {
	p.finishPiece(s)
	if s.head == len(s.pieces) || s.x.have != 0 {
		return false
	}
	t := max(s.pieces[s.head].First, s.last)
	if s.pieces[s.head].First == 0 || t < limit || t == never {
		return false
	}
	s.time = t
	p.w.giveBuffer(s)
	return true
}

// finishPiece gives the piece back that was read to its end.
func (p *process) finishPiece(s *stream) {
	if s.b != nil {
		p.over(s, &s.pieces[s.head])
		s.head++
		s.b, s.at = nil, 0
	}
}

// nextPiece loads the stream's next piece and gives the one before it back.
func (p *process) nextPiece(s *stream) bool {
	for {
		p.finishPiece(s)
		if s.head == len(s.pieces) {
			s.pieces, s.head = s.pieces[:0], 0
			if cap(s.pieces) > 64 {
				s.pieces = nil
			}
			p.w.giveBuffer(s)
			return false
		}
		q := &s.pieces[s.head]
		if s.buf == nil && q.OnDisk() {
			s.buf = p.w.takeBuffer()
		}
		b, err := q.Load(s.buf)
		s.done = q.At
		if err != nil {
			// Its events were counted in the piece's bytes only: say at least that many of the shortest.
			p.lost += uint64(q.Size / 24)
			p.note("%v; about %d events are missing.", err, q.Size/24)
			b = []byte{}
		} else if q.OnDisk() {
			s.buf = b
		}
		s.b, s.at = b, 0
		if len(b) > 0 {
			return true
		}
	}
}

// arrive adds a piece to a stream.
func (p *process) arrive(s *stream, q journal.Piece) {
	s.pieces = append(s.pieces, q)
	if s.pending {
		return
	}
	if p.consume(s, 0) {
		s.pending = true
		p.push(s)
	}
}

// merge hands over everything that is older than limit, in order. A stream that is held back is not the only one to have
// more: it stops the merge where it ends.
func (p *process) merge(limit uint64, round uint64) {
	defer p.settle()
	for len(p.heap) > 0 {
		s := p.heap[0]
		if s.time >= limit {
			return
		}
		to := limit
		for _, i := range [2]int{1, 2} {
			if i < len(p.heap) {
				o := p.heap[i]
				// Up to the other's event, and beyond one of the same time if this stream comes first.
				t := o.time
				if s.uid < o.uid && t != never {
					t++
				}
				to = min(to, t)
			}
		}
		if !s.known {
			p.begin(s)
		}
		if p.consume(s, to) {
			p.sift(0)
			continue
		}
		s.pending = false
		last := len(p.heap) - 1
		p.heap[0] = p.heap[last]
		p.heap[last] = nil
		p.heap = p.heap[:last]
		p.sift(0)
		if s.held == round {
			limit = min(limit, max(s.bound, s.last))
		}
	}
}

// begin adds the thread of a stream whose first record comes next.
func (p *process) begin(s *stream) {
	now := p.clock.units(s.time)
	if b := &p.w.batch; b.n > 0 {
		now = max(now, b.time)
	}
	p.newThread(s, max(now, p.time)*recording.Quantum)
}

func before(a, b *stream) bool { return a.time < b.time || a.time == b.time && a.uid < b.uid }

func (p *process) push(s *stream) {
	i := len(p.heap)
	p.heap = append(p.heap, s)
	for i > 0 {
		up := (i - 1) / 2
		if !before(p.heap[i], p.heap[up]) {
			return
		}
		p.heap[i], p.heap[up] = p.heap[up], p.heap[i]
		i = up
	}
}

func (p *process) sift(i int) {
	h := p.heap
	for {
		least := i
		for _, c := range [2]int{2*i + 1, 2*i + 2} {
			if c < len(h) && before(h[c], h[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
