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

// checkpoints note how far a process's recording is, for Recover.
type checkpoints struct {
	state *journal.State // nil: none
	overs []overPiece
}

// over takes a piece that was read to its end.
func (c *checkpoints) over(s *order.Stream, q *journal.Piece) {
	if c.state == nil {
		q.Release()
		return
	}
	c.overs = append(c.overs, overPiece{s, *q})
	*q = journal.Piece{}
}

// finish says that nothing has to be recovered any more.
func (c *checkpoints) finish() {
	c.state.Finish()
	for i := range c.overs {
		c.overs[i].piece.Release()
	}
	c.overs = nil
}

// covered returns the pieces whose records are all before where their streams are.
func (c *checkpoints) covered() (free []journal.Piece) {
	kept := c.overs[:0]
	for _, o := range c.overs {
		if o.stream.Position().Before(o.piece.End()) {
			kept = append(kept, o)
		} else {
			free = append(free, o.piece)
		}
	}
	clear(c.overs[len(kept):])
	c.overs = kept
	return free
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
	if p.checkpoints.state == nil {
		flush(func() {})
		return
	}
	if !p.ledger.Settled() && len(p.checkpoints.overs) < maxOvers {
		return // ops wait that are in no event yet; they are settled in a moment
	}
	var moved []journal.StreamState
	for _, s := range p.order.Moved() {
		moved = append(moved, s.State())
	}
	free := p.checkpoints.covered()
	write, whole := p.checkpoints.state.Checkpoint(p.out.Handed(), moved, p.ledger)
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

// flushNow writes all that has come, with the names of what has been called.
func (p *process) flushNow() error {
	p.loadModules()
	p.checkpoint(p.flush)
	if err := p.out.Flush(); err != nil { // even if a checkpoint was not possible
		return err
	}
	p.writeNames(nil)
	return p.out.Err()
}
