package record

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/record/order"
	"github.com/heaptap/heaptap/internal/record/pairs"
	"github.com/heaptap/heaptap/internal/record/pools"
	"github.com/heaptap/heaptap/internal/record/records"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/wire"
)

// Settle hands the records of a batch to the ledger, and what comes of them to the recording. A record that is not an
// op is taken between the events before it and those after it.
func (p *process) Settle(b *order.Batch) {
	rows := b.Rows()
	watched := p.watch.MayMark(rows, b.Extended())
	var cursor order.Cursor
	for at := 0; at < len(rows); {
		end, other := p.translate(b, &cursor, at)
		p.w.batch.Rows, p.w.batch.Regions = rows[at:end], p.notes.Moves()
		p.ledger.Settle(&p.w.batch)
		p.write(watched)
		if at = end; other != nil {
			p.takeOther(other)
			if watched {
				p.watch.Sums(p.out.Added(), p.order.Time*recording.Quantum)
			}
			at++
		}
	}
	if err := p.out.Err(); err != nil && !p.failed {
		p.fail(err)
	}
	p.divideUpTo(p.order.Time * recording.Quantum)
	// Before the block is full, since here, and not within a batch, it is known what the block has of each stream.
	if p.out.Room() < 8*order.BatchSize {
		p.checkpoint(p.out.FlushLater)
	}
}

// translate prepares the rows from at on for the ledger, up to one whose record is not an op. It returns that row's
// number and its record; nil: the batch ends.
func (p *process) translate(b *order.Batch, cursor *order.Cursor, at int) (end int, other *order.Record) {
	rows, begin := b.Rows(), at
	p.w.batch.Ops, p.w.args = p.w.batch.Ops[:0], p.w.args[:0]
	if b.Plain() {
		at = len(rows)
	}
	for ; at < len(rows); at++ {
		if rows[at].Kind != event.RowOther {
			continue
		}
		p.passed(b, begin, at)
		r := b.Record(cursor, at)
		m := &records.Meanings[r.Kind()]
		if !m.Known {
			return at, r
		}
		if m.Op == ledger.OpFree && r.Extras != nil {
			p.w.args = append(p.w.args, pairs.Arguments{Row: at - begin, Extras: r.Extras})
		}
		p.w.batch.Ops = append(p.w.batch.Ops, p.op(m, r))
		rows[at].Time = uint64(p.order.Time)
	}
	p.passed(b, begin, at)
	return at, nil
}

// passed notes up to when records were taken: those from begin to end.
func (p *process) passed(b *order.Batch, begin, end int) {
	if end == begin {
		return
	}
	if last := &b.Rows()[end-1]; last.Kind != event.RowOther {
		p.order.Latest, p.order.Time = b.Time(end-1), int64(last.Time)
	}
}

// op is the op that a record stands for.
func (p *process) op(m *records.Meaning, r *order.Record) ledger.Op {
	slack := r.Slack()
	op := ledger.Op{
		Kind: m.Op, Func: m.Func, Stream: r.Stream.Index, Thread: r.Stream.Thread, Addr: r.Addr(), Count: r.Count,
	}
	if r.Time < p.order.Latest {
		op.Late = true
		p.health.late++
	} else {
		p.order.Latest = r.Time
	}
	op.Time = p.order.Now(r.Time)
	if r.Kind()>>wire.ClassShift == wire.ClassStack {
		if m.Stacked {
			op.FreeStack = r.Stack
		} else {
			op.Stack = r.Stack
			op.Size = uint64(r.Size)
			if m.Slack && slack != wire.SlackExtra && op.Addr != 0 {
				op.HasUsable, op.Usable = true, op.Size+uint64(slack)
			}
		}
	}
	if x := r.Extras; x != nil {
		if x.Has(wire.XSampled) {
			p.sampled(x.Sampling)
		}
		x.Apply(&op, r.Size, slack)
	}
	switch {
	case !m.Pool:
		op.Serves, op.Pool = op.Pool, 0
	case op.Pool == 0: // damaged
		op.Pool = pools.Unknown
	}
	if m.Op == ledger.OpBacking {
		op.Size = op.OldSize
	}
	return op
}

// takeOther takes a record that is not an op.
func (p *process) takeOther(r *order.Record) {
	switch kind := r.Kind(); {
	case kind>>wire.ClassShift == wire.ClassNote:
		p.takeNote(kind, r)
	case kind == wire.KStack:
		p.deepened(r)
	default:
		p.health.unknownKind(kind)
	}
}

// write hands what the ledger has settled to the recording, and to all who follow the events.
func (p *process) write(watched bool) {
	b := &p.w.batch
	before := p.out.Added()
	for i := range b.Full {
		e := &b.Full[i]
		e.Time *= recording.Quantum
		e.Born *= recording.Quantum
		if e.Kind == event.Map {
			p.divideUpTo(e.Time - 1) // readings from before this change
			p.memory.set.Map(&e.Event)
		}
	}
	p.pairs.Settle(&b.Batch, p.w.args)
	p.notes.Settle(&b.Batch, before.Events)
	p.out.Append(&b.Batch) // an error is seen at the end of the batch of records
	p.pools.Settle(&b.Batch)
	for _, c := range b.Backings {
		p.backed(c.Pool, c.Bytes)
	}
	if watched {
		p.watch.Settle(&b.Batch, before)
	}
	b.Trim()
}

// barrier has the ledger settle what has waited for long enough.
func (p *process) barrier() {
	if p.ledger.Waiting() > 0 {
		p.settleRest(p.ledger.Barrier)
	}
}

// settleRest writes what the ledger settles without new records.
func (p *process) settleRest(settle func(*ledger.Batch)) {
	p.w.batch.Rows, p.w.args = nil, p.w.args[:0]
	settle(&p.w.batch)
	p.write(false)
}
