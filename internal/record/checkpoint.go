package record

import "github.com/heaptap/heaptap/internal/record/journal"

// overPiece is a piece that was read to its end and whose events are perhaps not in the recording yet.
type overPiece struct {
	stream *stream
	piece  journal.Piece
}

// over is called when a piece was read to its end.
func (p *process) over(s *stream, q *journal.Piece) {
	if p.state == nil {
		q.Release()
		return
	}
	p.overs = append(p.overs, overPiece{s, *q})
	*q = journal.Piece{}
}

// flush has the recording written, and calls then.
func (p *process) flush(then func()) {
	_ = p.out.Flush()
	then()
}

// maxOvers bounds what is kept in the journal because no checkpoint was possible.
const maxOvers = 1024

// checkpoint has everything written that was merged, and then notes how far that is.
func (p *process) checkpoint(flush func(then func())) {
	if p.state == nil {
		flush(func() {})
		return
	}
	if !p.ledger.Settled() && len(p.overs) < maxOvers {
		return // ops wait that are in no event yet; they are settled in a moment
	}
	moved := make([]journal.StreamState, len(p.touched))
	for i, s := range p.touched {
		moved[i] = journal.StreamState{
			Origin: journal.Origin{UID: s.uid, Start: s.start, TID: s.tid, Proc: s.proc, Level: s.level, At: s.position()},
			Known:  s.known, Thread: s.thread,
		}
		s.touched = false
	}
	p.touched = p.touched[:0]
	var free []journal.Piece
	kept := p.overs[:0]
	for _, o := range p.overs {
		if o.stream.position().Before(o.piece.End()) {
			kept = append(kept, o)
		} else {
			free = append(free, o.piece)
		}
	}
	clear(p.overs[len(kept):])
	p.overs = kept
	write, whole := p.state.Checkpoint(p.out.Handed(), moved, p.ledger)
	if whole {
		flush = p.flush
	}
	flush(func() {
		write()
		for i := range free {
			free[i].Release()
		}
	})
}

// position is how far the stream is, for the purpose of going on from there: the begin of a realloc whose result has not come
// is read again.
func (s *stream) position() journal.Position {
	if s.began {
		return s.latest
	}
	return s.done
}
