package record

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/wire"
)

// Records are merged into a batch before the ledger sees them, so that each of the loops that they go through is short, and where the ledger's
// table is large, the processor waits for many places of it at once.

const batchSize = 256

type batch struct {
	list [batchSize]ready
	n    int
	at   int // how many of them are settled
	told int // how many of them runs tells of
	runs []batchRun
	run  int // that of list[at]
	more []extras

	op ledger.Op // memory for settle
}

// ready is a record in its order.
type ready struct {
	w0    uint64 // address, kind, slack
	time  uint64
	size  uint32
	stack uint32 // the recording's id
	extra uint32 // number in batch.more plus 1, or 0
}

// batchRun is records of one stream in a row.
type batchRun struct {
	stream *stream
	end    int // in the batch
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
	for b.at < b.n {
		s := b.stream()
		if !s.known {
			p.newThread(s, p.now(b.list[b.at].time)*recording.Quantum)
		}
		room := p.out.Space()
		if watched || p.ledger.Waiting() > 0 { // then one may be looked at, or settled, at a time
			room = room[:1]
		}
		n := p.plain(room)
		if n > 0 {
			n = p.settlePlain(room[:n])
		}
		if n == 0 {
			r := &b.list[b.at]
			p.long(b.stream(), &meanings[uint8(r.w0>>wire.KindShift)], r)
			b.at++
		}
		if watched {
			p.watchBooks()
		}
	}
	clear(b.runs)
	b.n, b.at, b.told, b.runs, b.run, b.more = 0, 0, 0, b.runs[:0], 0, b.more[:0]
	if err := p.out.Err(); err != nil && !p.failed {
		p.fail(err)
	}
	// Before the block is full, since here, and not within a batch, it is known what the block has of each stream.
	if p.out.Room() < 8*batchSize {
		p.checkpoint(p.out.FlushLater)
	}
}

// stream is that of the record that is to be settled next.
func (b *batch) stream() *stream {
	for b.runs[b.run].end <= b.at {
		b.run++
	}
	return b.runs[b.run].stream
}

// plain turns the records that are to be settled next into plain events, up to the first that is none, or of a stream that is not known, and
// returns their number.
func (p *process) plain(room []event.Plain) int {
	b, c := &p.w.batch, p.clock
	at, latest, now := b.at, p.latest, p.time
	most := min(b.n, at+len(room))
	for k := b.run; at < most; k++ {
		run := &b.runs[k]
		s := run.stream
		if !s.known {
			break
		}
		end, thread := min(run.end, most), s.thread
		list := b.list[at:end]
		out := room[at-b.at:][:len(list)]
		for i := range list {
			r, e := &list[i], &out[i]
			m := &meanings[uint8(r.w0>>wire.KindShift)]
			addr, slack := r.w0&wire.AddrMask, uint8(r.w0>>wire.SlackShift)
			if m.plain == event.NotPlain || r.time < latest || addr == 0 || r.size == wire.SizeExtra || slack == wire.SlackExtra && m.plain == event.PlainAlloc {
				return at + i - b.at
			}
			e.Born = 0
			if r.extra != 0 {
				if !p.onlyCount(m, r) {
					return at + i - b.at
				}
				e.Born = b.more[r.extra-1].count
			}
			latest = r.time
			if d := latest - c.counter; d < nearTicks {
				now = max(now, c.near(d)/recording.Quantum)
			} else {
				now = max(now, c.far(latest)/recording.Quantum)
			}
			e.Time = uint64(now)
			e.Addr = addr
			e.Size = uint64(r.size)
			e.Ref = uint64(slack)
			e.Stack = r.stack
			e.Thread = thread
			e.Way = m.plain
			e.Func = m.fn
		}
		at = end
	}
	return at - b.at
}

// settlePlain hands the records that have become plain events to the ledger. It returns how many of them are settled with it.
func (p *process) settlePlain(list []event.Plain) int {
	l, b := p.ledger, &p.w.batch
	allocs, bytes := l.Sums()
	n := l.Plain(list)
	if n > 0 {
		b.at += n
		p.latest, p.time = b.list[b.at-1].time, int64(list[n-1].Time)
		a, v := l.Sums()
		p.out.Filled(n, a-allocs, v-bytes)
	}
	return n
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
