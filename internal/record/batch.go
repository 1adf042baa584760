package record

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/wire"
)

// Records are merged into a batch before the ledger sees them, so that each of the loops that they go through is short, and where the ledger's
// table is large, the processor waits for many places of it at once.

const batchSize = 256

// batch is records in their order: what they are as plain events, and what else they say.
type batch struct {
	list [batchSize]event.Plain // NotPlain: it goes to the ledger as an op
	rest [batchSize]rest
	n    int
	told int // how many of them runs tells of
	runs []batchRun
	more []batchExtras

	latest uint64 // timestamp of the latest of them
	time   int64  // and its time, in the recording's units

	op ledger.Op // memory for settle
}

// rest is what a plain event does not say of its record.
type rest struct {
	w0   uint64 // address, kind, slack
	time uint64
}

// ready is a record in its order.
type ready struct {
	rest
	size  uint32
	stack uint32  // the recording's id
	count uint64  // calloc's and reallocarray's first argument
	x     *extras // what came before it, or nil
}

// batchExtras is what came before a record.
type batchExtras struct {
	at int // the record, in the batch
	extras
}

// batchRun is records of one stream in a row.
type batchRun struct {
	stream *stream
	end    int // in the batch
}

// extend adds what came before the batch's last record.
func (b *batch) extend(x *extras) {
	e := &b.list[b.n-1]
	if x.have == 1<<(wire.XCount&15) && (e.Func == event.Calloc || e.Func == event.Reallocarray) {
		e.Born = x.count // which is all there is
	} else {
		b.more = append(b.more, batchExtras{b.n - 1, *x})
		e.Way = event.NotPlain
	}
	*x = extras{}
}

// until says that the records up to here which runs does not tell of are a stream's.
func (p *process) until(s *stream) {
	b := &p.w.batch
	if b.n == b.told {
		return
	}
	if s.lastBegins >= 0 {
		q := &s.pieces[s.head]
		s.done, s.latest = q.At, q.At
		s.done.Off += uint32(s.begins)
		s.latest.Off += uint32(s.lastBegins)
		s.began = meanings[uint8(b.rest[b.n-1].w0>>wire.KindShift)].op == ledger.OpReallocBegin
		if !s.touched && p.state != nil {
			s.touched = true
			p.touched = append(p.touched, s)
		}
	}
	b.told = b.n
	if k := len(b.runs); k > 0 && b.runs[k-1].stream == s {
		b.runs[k-1].end = b.n
		return
	}
	b.runs = append(b.runs, batchRun{s, b.n})
}

// settle hands the batch to the ledger and the writer.
func (p *process) settle() {
	b := &p.w.batch
	if b.n == 0 {
		return
	}
	watched := p.mayMark(b)
	p.ledger.Fetch(b.list[:b.n])
	run, more := 0, b.more
	for at := 0; at < b.n; {
		list := b.list[at:b.n]
		if watched { // then each is looked at
			list = list[:1]
		}
		n := p.settlePlain(list)
		if n > 0 {
			at += n
			p.latest, p.time = b.rest[at-1].time, int64(list[n-1].Time)
		}
		if n < len(list) {
			for b.runs[run].end <= at {
				run++
			}
			e := &b.list[at]
			r := ready{rest: b.rest[at], size: uint32(e.Size), stack: e.Stack, count: e.Born}
			if len(more) > 0 && more[0].at == at {
				r.x = &more[0].extras
				more = more[1:]
			}
			p.long(b.runs[run].stream, &r)
			at++
		}
		if watched {
			p.watchBooks()
		}
	}
	clear(b.runs)
	b.n, b.told, b.runs, b.more = 0, 0, b.runs[:0], b.more[:0]
	if err := p.out.Err(); err != nil && !p.failed {
		p.fail(err)
	}
	// Before the block is full, since here, and not within a batch, it is known what the block has of each stream.
	if p.out.Room() < 8*batchSize {
		p.checkpoint(p.out.FlushLater)
	}
}

// settlePlain hands plain events to the ledger, as far as it takes them, and then to the writer. It returns their number.
func (p *process) settlePlain(list []event.Plain) int {
	allocs, bytes := p.ledger.Sums()
	n := p.ledger.Plain(list)
	if n > 0 {
		a, v := p.ledger.Sums()
		p.out.Plain(list[:n], a-allocs, v-bytes)
	}
	return n
}

// now converts a timestamp into the recording's units of time; the result never goes back.
func (p *process) now(t uint64) int64 {
	p.time = max(p.time, p.clock.units(t))
	return p.time
}

// long turns one record into an op, whatever it is.
func (p *process) long(s *stream, r *ready) {
	kind, slack := uint8(r.w0>>wire.KindShift), uint8(r.w0>>wire.SlackShift)
	m := &meanings[kind]
	if kind>>wire.ClassShift == wire.ClassNote {
		p.noted(s, kind, r)
		return
	}
	if kind == wire.KStack {
		p.deeper(s, r)
		return
	}
	if !m.known {
		p.lost++
		if !p.strange {
			p.strange = true
			p.note("Some events are of a kind (%d) that this heaptap does not know and are missing.", kind)
		}
		return
	}
	op := &p.w.batch.op
	*op = ledger.Op{Kind: m.op, Func: m.fn, Stream: s.index, Thread: s.thread, Addr: r.w0 & wire.AddrMask}
	if r.time < p.latest {
		op.Late = true
		p.lateEvents++
	} else {
		p.latest = r.time
	}
	op.Time = p.now(r.time)
	if kind>>wire.ClassShift == wire.ClassStack {
		if m.stacked {
			op.FreeStack = r.stack
		} else {
			op.Stack = r.stack
			op.Size = uint64(r.size)
			if m.slack && slack != wire.SlackExtra && op.Addr != 0 {
				op.HasUsable, op.Usable = true, op.Size+uint64(slack)
			}
		}
	}
	if p.regions.moves != nil {
		op.Region = p.regions.moves[s.thread]
	}
	if m.op == ledger.OpFree {
		p.pairs.listen(r, m.fn, s.thread, r.x)
	}
	op.Count = r.count
	if x := r.x; x != nil {
		if x.has(wire.XSampled) {
			p.sampled(x.sampling)
		}
		x.apply(op, r.size, slack)
	}
	switch {
	case !m.pool:
		op.Serves, op.Pool = op.Pool, 0
	case op.Pool == 0: // damaged
		op.Pool = unknownPool
	}
	if m.op == ledger.OpBacking {
		op.Size = op.OldSize
	}
	p.ledger.Add(op, p.emit)
	if m.op == ledger.OpFree {
		p.pairs.keep()
	}
}
