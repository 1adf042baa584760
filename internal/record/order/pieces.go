package order

import "fmt"

// isLater says whether the stream's next piece begins at limit or later. Then it is not loaded before its time has
// come: of many threads, each would hold a piece in memory.
func (m *Merger) isLater(s *Stream, limit uint64) bool {
	m.finishPiece(s)
	if s.head == len(s.pieces) || !s.x.None() {
		return false
	}
	t := max(s.pieces[s.head].First, s.last)
	if s.pieces[s.head].First == 0 || t < limit || t == never {
		return false
	}
	s.time = t
	m.work.give(s)
	return true
}

// finishPiece hands back the piece that was read to its end.
func (m *Merger) finishPiece(s *Stream) {
	if s.b != nil {
		m.to.Over(s, &s.pieces[s.head])
		s.head++
		s.b, s.at = nil, 0
	}
}

// nextPiece loads the stream's next piece, and hands back the one before it.
func (m *Merger) nextPiece(s *Stream) bool {
	for {
		m.finishPiece(s)
		if s.head == len(s.pieces) {
			s.pieces, s.head = s.pieces[:0], 0
			if cap(s.pieces) > 64 {
				s.pieces = nil
			}
			m.work.give(s)
			return false
		}
		q := &s.pieces[s.head]
		if s.buf == nil && q.OnDisk() {
			s.buf = m.work.take()
		}
		b, err := q.Load(s.buf)
		s.done = q.At
		if err != nil {
			// How many events it had is not known, only its bytes: at least that many of the shortest.
			m.to.Lost(uint64(q.Size/24), fmt.Sprintf("%v; about %d events are missing.", err, q.Size/24))
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

// give takes the buffer of a stream that does not need it now, for whichever stream needs one next.
func (w *Workspace) give(s *Stream) {
	if s.buf != nil && len(w.buffers) < 4 {
		w.buffers = append(w.buffers, s.buf)
	}
	s.buf = nil
}

func (w *Workspace) take() (b []byte) {
	if n := len(w.buffers); n > 0 {
		b = w.buffers[n-1]
		w.buffers = w.buffers[:n-1]
	}
	return b
}
