package order

import (
	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/record/records"
	"github.com/heaptap/heaptap/internal/record/ticks"
	"github.com/heaptap/heaptap/internal/wire"
)

// Sink takes what a Merger makes of a process's streams.
type Sink interface {
	// Stack returns the recording's number of a spool's stack that was not known yet; 0 if there is none.
	Stack(id uint32) uint32
	// Begin is called before the first record of a stream, with its time in the recording's units, and sets the
	// stream's Thread.
	Begin(s *Stream, time int64)
	// Settle takes a batch. It keeps the Merger's Past up to date.
	Settle(b *Batch)
	// Over takes a piece whose records are all in batches, and releases it.
	Over(s *Stream, p *journal.Piece)
	// Lost is called when so many events cannot be read. why is a sentence for the user, or "".
	Lost(events uint64, why string)
}

// Past is how far a process's records were settled.
type Past struct {
	Clock  *ticks.Map
	Latest uint64 // timestamp of the latest record
	Time   int64  // and its time, in the recording's units
}

// Now converts a timestamp to the recording's units of time. The result never goes back.
func (p *Past) Now(t uint64) int64 {
	p.Time = max(p.Time, p.Clock.Units(t))
	return p.Time
}

// Workspace is memory that the processes of a worker share.
type Workspace struct {
	batch   Batch    // of the process that is being merged
	buffers [][]byte // of streams that have no piece loaded from disk at the moment
}

// Merger merges the streams of a process.
type Merger struct {
	Past
	work   *Workspace
	to     Sink
	stacks *[]uint32
	track  bool
	heap   streams
	bound  uint64 // all older events are merged; at the latest round
	moved  []*Stream
}

// New returns a merger of no streams. stacks are the recording's numbers of the spool's stacks, 0 for those that the
// sink is to be asked for. track says whether Moved will be called.
func New(work *Workspace, clock *ticks.Map, stacks *[]uint32, track bool, to Sink) *Merger {
	return &Merger{Past: Past{Clock: clock}, work: work, stacks: stacks, track: track, to: to}
}

// Arrive adds a piece to a stream.
func (m *Merger) Arrive(s *Stream, p journal.Piece) {
	s.pieces = append(s.pieces, p)
	if !s.pending && m.consume(s, 0) {
		s.pending = true
		m.heap.push(s)
	}
}

// Round merges everything that is final by a look at all streams that has begun at a clock reading; busy are the
// process's streams whose writers were busy with an event. It returns before which time everything is merged.
func (m *Merger) Round(number, clock uint64, busy []*Stream) (limit uint64) {
	limit = clock
	for _, s := range busy {
		if s.held != number-1 || s.held == 0 {
			s.bound = max(m.bound, s.Start)
		}
		s.held = number
		if !s.pending {
			limit = min(limit, max(s.bound, s.last))
		}
	}
	m.merge(limit, number)
	m.bound = clock
	return limit
}

// Rest merges all that is left, since no more will come: about 10 ms at a time, after each of which it calls step.
func (m *Merger) Rest(step func()) {
	ticks := m.Clock.Ticks(10e6)
	for len(m.heap) > 0 {
		limit := m.heap[0].time + ticks
		if limit < ticks {
			limit = never
		}
		m.merge(limit, never)
		step()
	}
}

// Moved returns the streams of which records were merged since the latest call.
func (m *Merger) Moved() []*Stream {
	list := m.moved
	for _, s := range list {
		s.moved = false
	}
	m.moved = nil
	return list
}

// merge hands on everything that is older than limit, in order. A stream whose writer is busy may have more than what
// is here: it stops the merge where it ends.
func (m *Merger) merge(limit uint64, round uint64) {
	defer m.settle()
	for len(m.heap) > 0 {
		s := m.heap[0]
		if s.time >= limit {
			return
		}
		to := limit
		for _, i := range [2]int{1, 2} {
			if i < len(m.heap) {
				o := m.heap[i]
				// Up to the other's event, and beyond one of the same time if this stream comes first. In a damaged
				// spool two streams may have the same number: then neither waits for the other.
				t := o.time
				if s.UID <= o.UID && t != never {
					t++
				}
				to = min(to, t)
			}
		}
		if !s.Known {
			m.begin(s)
		}
		if m.consume(s, to) {
			m.heap.sink()
			continue
		}
		s.pending = false
		m.heap.pop()
		if s.held == round {
			limit = min(limit, max(s.bound, s.last))
		}
	}
}

// consume adds the stream's records that are older than limit to the batch. It returns false when nothing is left.
func (m *Merger) consume(s *Stream, limit uint64) bool {
	b := &m.work.batch
	if b.n == 0 {
		b.latest, b.time = m.Latest, m.Time
	}
	if s.lastBegins = -1; s.x.None() { // else the next record begins where what belongs to it does
		s.begins = s.at
	}
	for {
		if m.decodePlain(s, limit) || b.n < BatchSize && len(s.b)-s.at >= 16 && m.decodeSlow(s, limit) {
			m.closeRun(s)
			return true
		}
		if b.n == BatchSize {
			m.closeRun(s)
			m.settle()
		}
		if len(s.b)-s.at >= 16 {
			continue
		}
		m.closeRun(s)
		if s.at < len(s.b) {
			m.skipDamaged(s)
		}
		if m.isLater(s, limit) {
			return true
		}
		if !m.nextPiece(s) {
			return false
		}
		s.begins, s.lastBegins = s.at, -1
	}
}

// closeRun says that the latest records of the batch, up to the run before, are a stream's.
func (m *Merger) closeRun(s *Stream) {
	b := &m.work.batch
	if b.n == b.inRuns {
		return
	}
	if s.lastBegins >= 0 {
		q := &s.pieces[s.head]
		s.done, s.latest = q.At, q.At
		s.done.Off += uint32(s.begins)
		s.latest.Off += uint32(s.lastBegins)
		s.began = records.Meanings[uint8(b.raw[b.n-1].word>>wire.KindShift)].Op == ledger.OpReallocBegin
		if !s.moved && m.track {
			s.moved = true
			m.moved = append(m.moved, s)
		}
	}
	b.inRuns = b.n
	if k := len(b.runs); k > 0 && b.runs[k-1].stream == s {
		b.runs[k-1].end = b.n
		return
	}
	b.runs = append(b.runs, run{s, b.n})
}

// settle hands the batch on.
func (m *Merger) settle() {
	if b := &m.work.batch; b.n > 0 {
		m.to.Settle(b)
		b.clear()
	}
}

// begin announces a stream whose first record comes next.
func (m *Merger) begin(s *Stream) {
	now := m.Clock.Units(s.time)
	if b := &m.work.batch; b.n > 0 {
		now = max(now, b.time)
	}
	m.to.Begin(s, max(now, m.Time))
}
