package record

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/wire"
)

// Records are merged into a batch before the ledger sees them: so that a loop between can touch what will be needed of the ledger's
// table, and nothing else, which lets the processor wait for many places at once.

const batchSize = 256

type batch struct {
	list [batchSize]ready
	n    int
	told int // how many of them runs tells of
	runs []batchRun
	more []extras

	op ledger.Op // memory for settle
}

// ready is a record in its order.
type ready struct {
	w0    uint64 // address, kind, slack
	time  uint64
	hash  uint64 // of the address
	size  uint32
	stack uint32 // the recording's id
	extra uint32 // number in batch.more plus 1, or 0
}

// batchRun is n records of one stream in a row.
type batchRun struct {
	stream *stream
	n      int
}

// extend adds what came before the batch's last record.
func (b *batch) extend(x *extras) {
	b.more = append(b.more, *x)
	b.list[b.n-1].extra = uint32(len(b.more))
	*x = extras{}
}

// extrasOf are what came before a record; nil if nothing did.
func (b *batch) extrasOf(r *ready) *extras {
	if r.extra == 0 {
		return nil
	}
	return &b.more[r.extra-1]
}

// until says that the records up to here which runs does not tell of are a stream's, and where in its piece they end.
func (p *process) until(s *stream, at, latest int, kind uint8) {
	b := &p.w.batch
	n := b.n - b.told
	if n == 0 {
		return
	}
	if latest >= 0 {
		q := &s.pieces[s.head]
		s.done, s.latest = position{q.seq, q.off + uint32(at)}, position{q.seq, q.off + uint32(latest)}
		s.began = meanings[kind].op == ledger.OpReallocBegin
		if !s.touched && p.state != nil {
			s.touched = true
			p.touched = append(p.touched, s)
		}
	}
	b.told = b.n
	if k := len(b.runs); k > 0 && b.runs[k-1].stream == s {
		b.runs[k-1].n += n
		return
	}
	b.runs = append(b.runs, batchRun{s, n})
}

// settle hands the batch to the ledger and the writer.
func (p *process) settle() {
	b := &p.w.batch
	if b.n == 0 {
		return
	}
	if p.ledger.Far() {
		for i := range b.list[:b.n] {
			p.fetched += p.ledger.Fetch(b.list[i].hash)
		}
	}
	at, watched := 0, p.mayMark(b)
	for i := range b.runs {
		r := &b.runs[i]
		for end := at + r.n; at < end; {
			n := end - at
			if watched {
				n = 1
			}
			p.settleRun(r.stream, b.list[at:at+n])
			if at += n; watched {
				p.watchBooks()
			}
		}
		r.stream = nil
	}
	b.n, b.told, b.runs, b.more = 0, 0, b.runs[:0], b.more[:0]
	if err := p.out.Err(); err != nil && !p.failed {
		p.fail(err)
	}
	// Before the block is full, since here, and not within a batch, it is known what the block has of each stream.
	if p.out.Room() < 8*batchSize {
		p.checkpoint(p.out.FlushLater)
	}
}

func (p *process) settleRun(s *stream, list []ready) {
	if !s.known {
		p.newThread(s, p.now(list[0].time)*recording.Quantum)
	}
	l, w, c, thread := p.ledger, p.out, p.clock, s.thread
	for i := range list {
		r := &list[i]
		kind := uint8(r.w0 >> wire.KindShift)
		m := &meanings[kind]
		addr := r.w0 & wire.AddrMask
		if r.time < p.latest || m.way == wayLong || addr == 0 || r.extra != 0 && !p.onlyCount(m, r) {
			p.long(s, m, r)
			continue
		}
		p.latest = r.time
		now := p.time
		if d := r.time - c.counter; d < nearTicks {
			now = max(now, c.near(d)/recording.Quantum)
			p.time = now
		} else {
			now = p.now(r.time)
		}
		if m.way == wayFree {
			b, temporary := l.Died(r.hash, addr, thread, now)
			if b == nil {
				p.long(s, m, r)
				continue
			}
			w.Free(now, m.fn, thread, temporary, b)
			if m.family != plainPairs[b.Func&63] || m.sized && uint8(r.w0>>wire.SlackShift) != uint8(b.Size) {
				p.pairs.plain(r, m.fn, thread, now, b)
			}
			continue
		}
		slack := uint8(r.w0 >> wire.SlackShift)
		if slack == wire.SlackExtra || r.size == wire.SizeExtra || !l.Born(r.hash, addr, uint64(r.size), m.fn, r.stack, thread, now) {
			p.long(s, m, r)
			continue
		}
		count := uint64(0)
		if r.extra != 0 {
			count = p.w.batch.more[r.extra-1].count
		}
		w.Alloc(now, m.fn, thread, r.stack, addr, uint64(r.size), slack, count)
	}
}

// onlyCount says whether all that came before a record is the first argument of calloc or its like.
func (p *process) onlyCount(m *meaning, r *ready) bool {
	return p.w.batch.more[r.extra-1].have == 1<<(wire.XCount&15) && (m.fn == event.Calloc || m.fn == event.Reallocarray)
}

// now converts a timestamp into the recording's units of time; the result never goes back.
func (p *process) now(t uint64) int64 {
	p.time = max(p.time, p.clock.at(t)/recording.Quantum)
	return p.time
}

// long turns one record into an op, whatever it is.
func (p *process) long(s *stream, m *meaning, r *ready) {
	kind, slack := uint8(r.w0>>wire.KindShift), uint8(r.w0>>wire.SlackShift)
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
		p.pairs.listen(r, m.fn, s.thread, p.w.batch.extrasOf(r))
	}
	if r.extra != 0 {
		x := &p.w.batch.more[r.extra-1]
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
