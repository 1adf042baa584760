package record

import (
	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/record/order"
)

// overPiece is a piece that was read to its end and whose events are perhaps not in the recording yet.
type overPiece struct {
	stream *order.Stream
	piece  journal.Piece
}

// Over takes a piece that was read to its end.
func (p *process) Over(s *order.Stream, q *journal.Piece) {
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
	var moved []journal.StreamState
	for _, s := range p.order.Moved() {
		moved = append(moved, s.State())
	}
	var free []journal.Piece
	kept := p.overs[:0]
	for _, o := range p.overs {
		if o.stream.Position().Before(o.piece.End()) {
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
