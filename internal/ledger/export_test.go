package ledger

import "github.com/heaptap/heaptap/internal/event"

// Event is what comes of ops.
type Event = event.Full

// Add settles one op, and gives the events to emit.
func (l *Ledger) Add(op *Op, emit func(*Event)) *Batch {
	b := Batch{Ops: []Op{*op}, Regions: map[uint32]uint32{op.Thread: op.Region}}
	b.Rows = []event.Row{{Kind: event.RowOther}}
	l.Settle(&b)
	return b.each(emit)
}

// BarrierTo is Barrier, and gives the events to emit.
func (l *Ledger) BarrierTo(emit func(*Event)) *Batch {
	var b Batch
	l.Barrier(&b)
	return b.each(emit)
}

// FinishTo is Finish, and gives the events to emit.
func (l *Ledger) FinishTo(emit func(*Event)) *Batch {
	var b Batch
	l.Finish(&b)
	return b.each(emit)
}

func (b *Batch) each(emit func(*Event)) *Batch {
	for i := range b.Full {
		emit(&b.Full[i])
	}
	return b
}
