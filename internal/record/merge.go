package record

import (
	"encoding/binary"

	"github.com/heaptap/heaptap/internal/event"
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

	pieces []piece
	head   int // first of them
	b      []byte
	at     int
	buf    []byte
	x      extras

	time    uint64 // of the event at the head, if the stream is in the heap
	last    uint64 // of the latest event that was merged
	bound   uint64 // no event can come that is older
	held    uint64 // latest round in which its writer was amid an event
	pending bool   // it is in the heap

	// For the state that outlives the recorder: up to where the stream's records were handed over, where the latest of
	// them begins, and whether that is the begin of a realloc.
	done, latest position
	began        bool
	touched      bool // since the latest state

	thread   uint32 // index in the recording
	known    bool   // thread is valid
	badBytes bool   // the recording has a note about it
}

// consume hands over the stream's events that are older than limit. It returns false when nothing is left.
func (p *process) consume(s *stream, limit uint64) bool {
	bt, c, thread := &p.w.batch, p.clock, s.thread
	if bt.n == 0 {
		bt.latest, bt.time = p.latest, p.time
	}
	latest, now := bt.latest, bt.time
	for {
		b, at, last := s.b, s.at, s.last
		begins, lastBegins := at, -1 // of the record that comes, with what belongs to it; of the latest one
		for len(b)-at >= 16 {
			w0 := binary.LittleEndian.Uint64(b[at:])
			w1 := binary.LittleEndian.Uint64(b[at+8:])
			class := w0 >> (wire.KindShift + wire.ClassShift) & 3
			var t uint64
			var n int
			if class <= wire.ClassShort && len(b)-at >= 24 {
				// Which of the two it is has no pattern that a processor could learn: without a branch.
				stacked := wire.ClassShort - class
				n = 16 + 8*int(stacked)
				w1 &= -stacked
				t = binary.LittleEndian.Uint64(b[at+n-8:])
			} else {
				switch class {
				case wire.ClassShort, wire.ClassNote:
					t, w1, n = w1, 0, 16
				case wire.ClassExtra:
					s.x.add(uint8(w0>>wire.KindShift), w1)
					at += 16
					continue
				default: // a record is cut off
					at = p.broken(s, b, at)
					continue
				}
			}
			stack := uint32(w1 >> 32)
			if t < last {
				t = last // within a stream the order is beyond doubt
			} else if t == never {
				t-- // the writer is broken, and never is for ever
			}
			if t >= limit {
				s.time, s.at, s.last = t, at, last
				bt.latest, bt.time = latest, now
				p.until(s, begins, lastBegins)
				return true
			}
			last = t
			at += n
			id := uint32(0)
			if uint64(stack) < uint64(len(p.nodeID)) {
				id = p.nodeID[stack]
			}
			if id == 0 && stack != 0 {
				id = p.newNode(stack)
			}
			// Field by field: a composite literal is built elsewhere and copied, which takes longer than all else.
			r, e := &bt.rest[bt.n&(batchSize-1)], &bt.list[bt.n&(batchSize-1)]
			bt.n++
			r.w0 = w0
			r.time = t
			r.extra = 0
			m := &meanings[uint8(w0>>wire.KindShift)]
			addr, size, slack := w0&wire.AddrMask, uint32(w1), w0>>wire.SlackShift
			e.Addr = addr
			e.Size = uint64(size)
			e.Ref = slack
			e.Born = 0
			e.Stack = id
			e.Thread = thread
			e.Way = m.plain
			e.Func = m.fn
			if t < latest || addr == 0 || size == wire.SizeExtra || slack == wire.SlackExtra && m.plain == event.PlainAlloc {
				e.Way = event.NotPlain
			}
			if t >= latest {
				latest = t
				if d := t - c.counter; d < nearTicks {
					now = max(now, c.near(d)/recording.Quantum)
				} else {
					now = max(now, c.far(t)/recording.Quantum)
				}
			}
			e.Time = uint64(now)
			if s.x.have != 0 {
				bt.extend(&s.x)
			}
			begins, lastBegins = at, begins
			if bt.n == batchSize {
				s.at, s.last = at, last
				p.until(s, begins, lastBegins)
				p.settle()
			}
		}
		s.last = last
		bt.latest, bt.time = latest, now
		p.until(s, begins, lastBegins)
		if at < len(b) {
			p.broken(s, b, at)
		}
		if !p.nextPiece(s) {
			return false
		}
	}
}

// broken is called where no record is: the rest of the piece cannot be read.
func (p *process) broken(s *stream, b []byte, at int) int {
	p.lost++
	if !s.badBytes {
		s.badBytes = true
		p.note("Some events of thread %d were damaged in the target's memory and are missing.", s.tid)
	}
	return len(b)
}

// nextPiece loads the stream's next piece and gives the one before it back.
func (p *process) nextPiece(s *stream) bool {
	for {
		if s.b != nil {
			p.over(s, &s.pieces[s.head])
			s.head++
			s.b = nil
		}
		if s.head == len(s.pieces) {
			s.pieces, s.head = s.pieces[:0], 0
			if cap(s.pieces) > 64 {
				s.pieces = nil
			}
			s.buf = nil
			return false
		}
		q := &s.pieces[s.head]
		b, err := q.load(s.buf)
		s.done = position{q.seq, q.off}
		if err != nil {
			// Its events were counted in the piece's bytes only: say at least that many of the shortest.
			p.lost += uint64(q.full / 24)
			p.note("%v; about %d events are missing.", err, q.full/24)
			b = []byte{}
		} else if q.data == nil {
			s.buf = b
		}
		s.b, s.at = b, 0
		if len(b) > 0 {
			return true
		}
	}
}

// arrive adds a piece to a stream.
func (p *process) arrive(s *stream, q piece) {
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
	now := p.clock.at(s.time) / recording.Quantum
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
