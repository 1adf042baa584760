package ledger

import "github.com/heaptap/heaptap/internal/event"

// Batch is ops that become events in place.
//
// Before Settle, a row is an op in the order of time, stream and sequence. One of kind RowAlloc is complete but for its
// stream. One of kind RowFree has Time, Addr, Func and Thread, and in Ref the lowest byte of the size that the program
// gave. Both have the stream in BornBy, see Row.Stream. Ops of other kinds, and those that say more, are in Ops.
//
// After it, the rows are events. Those of ops that did not fit are of kind RowOther, with their events in Full.
type Batch struct {
	event.Batch
	Ops []Op // of the rows of kind RowOther, in order
	// Regions is how often each thread has entered or left regions; nil: none has.
	Regions map[uint32]uint32
	// Backings are the changes of how many bytes serve the program's own pools.
	Backings []BackingChange
}

// BackingChange says that so many bytes more, or less, serve a pool.
type BackingChange struct {
	Pool  uint64
	Bytes int64
}

// keepFull is how many events a batch keeps memory for: it seldom has more, but a pool may be cleared.
const keepFull = 4096

// Settle turns the ops of b into the events that they settle.
func (l *Ledger) Settle(b *Batch) {
	l.fetch(b.Rows)
	l.begin(b)
	ops := b.Ops
	for at := 0; ; at++ {
		if at += l.plain(b.Rows[at:], &b.Batch); at == len(b.Rows) {
			break
		}
		op := &l.op
		if row := &b.Rows[at]; row.Kind == event.RowOther {
			op, ops = &ops[0], ops[1:]
		} else {
			op.become(row)
			row.Kind = event.RowOther
		}
		op.Region = b.Regions[op.Thread]
		l.add(op)
		b.Others = append(b.Others, event.Other{Row: at, End: len(l.settled)})
	}
	l.handOver(b)
}

// begin empties b of earlier events, and has the memory used for those that are settled next.
func (l *Ledger) begin(b *Batch) {
	b.Others, b.Plain, b.Allocs, b.Bytes = b.Others[:0], 0, 0, 0
	b.Trim()
	l.settled = b.Full[:0]
	b.Backings = b.Backings[:0]
}

// Trim gives back the memory of unusually many events. Everybody must have read them.
func (b *Batch) Trim() {
	if cap(b.Full) > keepFull {
		b.Full = nil
	}
}

// handOver gives b the events that were settled.
func (l *Ledger) handOver(b *Batch) {
	b.Full, l.settled = l.settled, nil
	b.Backings, l.pools.changed = append(b.Backings, l.pools.changed...), l.pools.changed[:0]
}

// become makes op the one that a row of kind RowAlloc or RowFree stands for.
func (op *Op) become(r *event.Row) {
	*op = Op{Kind: OpFree, Time: int64(r.Time), Func: r.Func, Thread: r.Thread, Stream: r.Stream(), Addr: r.Addr}
	if r.Kind == event.RowAlloc {
		op.Kind, op.Stack, op.Size, op.Count = OpAlloc, r.Stack, r.Size, r.Count()
		op.HasUsable, op.Usable = true, r.Size+r.Slack()
	}
}
