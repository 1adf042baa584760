package record

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/record/order"
	"github.com/heaptap/heaptap/internal/record/pools"
	"github.com/heaptap/heaptap/internal/record/records"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/wire"
)

// Settle hands a batch to the ledger and the writer.
func (p *process) Settle(b *order.Batch) {
	events := b.Events()
	watched := p.watch.MayMark(events, b.Extended())
	p.ledger.Fetch(events)
	var cursor order.Cursor
	for at := 0; at < len(events); {
		list := events[at:]
		if watched { // then each is looked at
			list = list[:1]
		}
		n := p.settlePlain(list)
		if n > 0 {
			at += n
			p.order.Latest, p.order.Time = b.Time(at-1), int64(list[n-1].Time)
		}
		if n < len(list) {
			p.settleSlow(b.Record(&cursor, at))
			at++
		}
		if watched {
			p.watch.Sums(p.order.Time * recording.Quantum)
		}
	}
	if err := p.out.Err(); err != nil && !p.failed {
		p.fail(err)
	}
	// Before the block is full, since here, and not within a batch, it is known what the block has of each stream.
	if p.out.Room() < 8*order.BatchSize {
		p.checkpoint(p.out.FlushLater)
	}
}

// settlePlain hands plain events to the ledger, as far as it takes them, and then to the writer. It returns their
// number.
func (p *process) settlePlain(list []event.Plain) int {
	allocs, bytes := p.ledger.Sums()
	n := p.ledger.Plain(list)
	if n > 0 {
		a, v := p.ledger.Sums()
		p.out.Plain(list[:n], a-allocs, v-bytes)
	}
	return n
}

// settleSlow settles one record, whatever it is.
func (p *process) settleSlow(r *order.Record) {
	kind := r.Kind()
	m := &records.Meanings[kind]
	switch {
	case kind>>wire.ClassShift == wire.ClassNote:
		p.takeNote(kind, r)
		return
	case kind == wire.KStack:
		p.deepened(r)
		return
	case !m.Known:
		p.health.unknownKind(kind)
		return
	}
	op := &p.w.op
	p.translate(op, m, r)
	if m.Op == ledger.OpFree {
		p.pairs.Expect(r.Addr(), r.Stream.Thread, m.Func, r.Slack(), r.Extras)
	}
	if x := r.Extras; x != nil {
		if x.Has(wire.XSampled) {
			p.sampled(x.Sampling)
		}
		x.Apply(op, r.Size, r.Slack())
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
	p.ledger.Add(op, p.emit)
	if m.Op == ledger.OpFree {
		p.pairs.Keep()
	}
}

// translate makes an op of a record, without what came before the record.
func (p *process) translate(op *ledger.Op, m *records.Meaning, r *order.Record) {
	s, slack := r.Stream, r.Slack()
	*op = ledger.Op{Kind: m.Op, Func: m.Func, Stream: s.Index, Thread: s.Thread, Addr: r.Addr(), Count: r.Count}
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
	if p.notes.Regions() {
		op.Region = p.notes.Moves(s.Thread)
	}
}

// write writes an event that the ledger has settled.
func (p *process) write(x *ledger.Event) {
	e := &x.Event
	e.Time *= recording.Quantum
	e.Born *= recording.Quantum
	p.pairs.Settle(e, x.Ended)
	if p.notes.Regions() {
		p.notes.Event(e, x.Region)
	}
	_ = p.out.Event(e) // its error is seen when the batch is settled
	p.pools.Event(e, x.Ended.Func)
}
