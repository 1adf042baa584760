package record

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/record/sampler"
	"github.com/heaptap/heaptap/internal/spool"
)

// item is what a queue carries to a worker.
type item struct {
	kind      itemKind
	slot      uint32
	n         uint64
	stream    *stream
	piece     journal.Piece
	round     *round
	proc      spool.Process
	status    Status
	sample    event.Sample
	residency []event.Residency
	stacks    []sampler.StackReading
	layout    *sampler.Layout
	text      string
	source    event.MarkSource
	flushed   func(stack uint32, err error)
	nodes     *[]uint32 // if not nil: gets the recording's numbers of the process's nodes
}

type itemKind uint8

const (
	itemPiece     itemKind = iota // records of a stream
	itemLost                      // n events of a stream were not kept
	itemRound                     // all streams were looked at
	itemProc                      // a process has appeared
	itemPartial                   // of a process not every allocation is recorded from now on
	itemEnd                       // a process has ended; all of its records have come
	itemSample                    // memory of a process
	itemResidency                 // which pages of its modules are in memory
	itemStacks                    // how far down its threads' stacks were touched
	itemStream                    // a stream has ended; n events were lost by its writer
	itemMain                      // the spool is the main process's
	itemMark                      // a moment that has a name
	itemFlush                     // what has come is to be written, and flushed to be called with the recording's number of stack n
	itemNote                      // a sentence for all recordings of the spool
)

// round is one look at all streams of a spool.
type round struct {
	number  uint64
	clock   uint64    // read before the look
	at      time.Time // likewise
	busy    []*stream // whose writers were amid an event
	counter uint64    // a reading of both clocks, if not 0
	mono    uint64
}

// worker turns what was drained from one spool into recordings.
type worker struct {
	run     *run
	spool   *spool.Spool
	tables  *spool.Tables
	meta    spool.Meta
	metaErr error
	path    string // of the recording of slot 0
	main    bool
	user    uint32 // as whom the program runs
	queue   *queue
	procs   []*process // by slot
	batch   batch      // of the process that is being merged
	done    chan struct{}
	buffers [][]byte // of streams that have no piece loaded from disk at the moment

	modules    []spool.Module
	badModules bool
	final      bool                      // nobody writes to the spool any more
	saved      map[uint32]*journal.Saved // of a recorder that was killed, by slot
	restored   map[uint64]*stream        // by uid
	endCounter uint64                    // counter when the latest process was found to have ended
	flushed    time.Time
	progresses sync.Map     // *namedProgress by slot
	finished   atomic.Int32 // processes whose recordings are finished
	counter0   uint64       // a reading of both clocks when the worker started
	mono0      uint64
}

func (r *run) newWorker(s *spool.Spool, main bool) *worker {
	w := &worker{
		run: r, spool: s, tables: s.Tables(), main: main, queue: newQueue(), done: make(chan struct{}),
		flushed: time.Now(),
	}
	w.meta, w.metaErr = s.Meta()
	// Here and not when the worker gets to it: the drain opens spools in the order in which they were made.
	w.path = r.names.Next(s.Info().PID, &w.meta)
	return w
}

// later returns a moment on two clocks that is far enough from the spool's start to tell the counter's frequency.
func (w *worker) later() (counter, mono uint64) {
	counter, mono = w.spool.Later()
	if w.counter0 > counter {
		counter, mono = w.counter0, w.mono0
	}
	if w.run.counter0 != 0 && counter-w.spool.Info().Counter < 1e7 && w.counter0 > w.run.counter0 {
		// A young spool on a recorder that has run for a while: the recorder's own readings are further apart.
		ticks, ns := w.counter0-w.run.counter0, w.mono0-w.run.mono0
		if ticks > counter-w.spool.Info().Counter {
			return w.spool.Info().Counter + ticks, w.spool.Info().Mono + ns
		}
	}
	return counter, mono
}

// giveBuffer takes the buffer of a stream that does not need it now, for whichever stream does next.
func (w *worker) giveBuffer(s *stream) {
	if s.buf != nil && len(w.buffers) < 4 {
		w.buffers = append(w.buffers, s.buf)
	}
	s.buf = nil
}

func (w *worker) takeBuffer() (b []byte) {
	if n := len(w.buffers); n > 0 {
		b = w.buffers[n-1]
		w.buffers = w.buffers[:n-1]
	}
	return b
}

func (w *worker) work() {
	defer w.run.alarm.ring()
	defer close(w.done)
	defer w.tables.Close()
	if w.metaErr != nil {
		w.note(w.metaErr.Error())
	}
	var items []item
	for {
		items = w.queue.take(items)
		if len(items) == 0 {
			return
		}
		for i := range items {
			w.item(&items[i])
		}
		if time.Since(w.flushed) > cmp.Or(w.run.config.Flush, flushInterval) {
			w.flushed = time.Now()
			for _, p := range w.procs {
				if p != nil && !p.ended {
					p.loadModules()
					p.tellCounts(false)
					p.checkpoint(p.flush) // an error shows again with the next events
				}
			}
		}
	}
}

// flushInterval bounds how long what happened stays in the journal only, if little happens.
const flushInterval = 5 * time.Second

func (w *worker) item(it *item) {
	switch it.kind {
	case itemPiece:
		if p := w.process(it.stream); p != nil {
			p.arrive(it.stream, it.piece)
		} else {
			it.piece.Release()
		}
	case itemLost:
		if p := w.process(it.stream); p != nil {
			p.lost += it.n
		}
	case itemStream:
		if p := w.process(it.stream); p != nil {
			if it.n > 0 {
				p.lostBy[it.stream.uid] = it.n
			}
			delete(p.streams, it.stream.uid)
			if it.stream.level == 0 && it.stream.known {
				p.layout.DropStack(it.stream.thread)
			}
		}
	case itemRound:
		for _, p := range w.procs {
			if p != nil && !p.ended {
				p.round(it.round)
			}
		}
	case itemProc:
		for uint32(len(w.procs)) <= it.slot {
			w.procs = append(w.procs, nil)
		}
		if w.procs[it.slot] == nil {
			w.procs[it.slot] = w.newProcess(it.proc, it.layout, w.main && it.slot == 0)
		}
	case itemEnd:
		w.endCounter = it.n
		if p := w.at(it.slot); p != nil {
			p.finish(it.status)
		}
		w.finished.Add(1)
		w.run.alarm.ring()
	case itemPartial:
		if p := w.at(it.slot); p != nil && !p.ended {
			p.ledger.Partial = true
		}
	case itemMain:
		w.main = true
		if p := w.at(0); p != nil {
			p.main = true
		}
	case itemSample:
		if p := w.at(it.slot); p != nil {
			p.sample(it)
		}
	case itemResidency:
		if p := w.at(it.slot); p != nil {
			p.resided(it)
		}
	case itemStacks:
		if p := w.at(it.slot); p != nil {
			p.stackRead(it)
		}
	case itemMark:
		w.marked(it)
	case itemFlush:
		var stack uint32
		var err error
		if p := w.at(it.slot); p != nil {
			if it.n != 0 && !p.ended {
				stack = p.stack(uint32(it.n))
			}
			if it.nodes != nil {
				*it.nodes = slices.Clone(p.nodeID)
			}
			err = p.flushNow()
		}
		it.flushed(stack, err)
	case itemNote:
		w.note(it.text)
	}
}

// stateFiles are the states of the spool's processes.
func (w *worker) stateFiles() (names []string) {
	for _, p := range w.procs {
		if p != nil && p.state != nil {
			names = append(names, p.state.Name())
		}
	}
	return names
}

// at returns the process of a slot; nil if there is none.
func (w *worker) at(slot uint32) *process {
	if slot < uint32(len(w.procs)) {
		return w.procs[slot]
	}
	return nil
}

// process returns the process of a stream, and makes the stream known to it. A stream of a process that is not there (its
// slot was overwritten) is the first one's.
func (w *worker) process(s *stream) *process {
	slot := s.proc
	if slot >= uint32(len(w.procs)) || w.procs[slot] == nil {
		slot = 0
	}
	if len(w.procs) == 0 || w.procs[slot] == nil || w.procs[slot].ended {
		return nil
	}
	p := w.procs[slot]
	s.proc = slot
	if p.streams[s.uid] != s {
		p.counted++
		s.index = p.counted
		p.streams[s.uid] = s
	}
	return p
}

// note adds a sentence to all recordings of the spool.
func (w *worker) note(text string) {
	for _, p := range w.procs {
		if p != nil {
			p.note("%s", text)
		}
	}
	w.run.report(Report{Kind: Note, PID: w.spool.Info().PID, Text: text})
}

func (p *process) sample(it *item) {
	if p.ended {
		return
	}
	s := it.sample
	s.Time = p.since(it.n)
	p.mostRSS = max(p.mostRSS, s.RSS)
	p.out.Sample(s)
	p.watchSample(&s)
}

// peakAtEnd adds the largest resident set that the kernel has counted of a process that has ended, if no sample has
// come near its end.
func (p *process) peakAtEnd(most, end int64) {
	if most > p.mostRSS {
		s := sampler.Unknown
		s.Time, s.RSS = end, most
		p.out.Sample(s)
	}
}

// sink takes what a spool's reader finds and makes items of it. It belongs to the drain.
type sink struct {
	run   *run
	w     *worker
	items []item
	full  bool // the user was told that events are lost
}

var _ spool.Sink = (*sink)(nil)

func (k *sink) stream(st *spool.Stream) *stream {
	if s, ok := st.Tag.(*stream); ok {
		return s
	}
	s := k.w.restored[st.UID]
	if s == nil {
		s = &stream{uid: st.UID, start: st.Start, proc: st.Proc, tid: st.TID, level: st.Level}
	}
	s.name = st.Name
	st.Tag = s
	return s
}

// Buffer returns room for records.
func (k *sink) Buffer(n int) []byte { return k.run.store.Buffer(n) }

// Data takes records.
func (k *sink) Data(st *spool.Stream, b []byte) {
	of := journal.OriginOf(k.w.spool.Info().Inode, st)
	q, lost, err := k.run.store.Keep(b, &of)
	if err != nil && !k.full {
		k.full = true
		k.items = append(k.items, item{kind: itemNote, text: fmt.Sprintf(
			"The recorder could not keep up: %v. Events are being lost from here on; they are counted.", err)})
	}
	if lost > 0 {
		k.items = append(k.items, item{kind: itemLost, stream: k.stream(st), n: uint64(lost)})
	}
	if q.Size == 0 {
		return
	}
	k.items = append(k.items, item{kind: itemPiece, stream: k.stream(st), piece: q})
}

// End takes the end of a stream.
func (k *sink) End(st *spool.Stream) {
	k.items = append(k.items, item{kind: itemStream, stream: k.stream(st), n: st.Lost})
}

// Doubtful takes the reason why events of a stream are left out.
func (k *sink) Doubtful(st *spool.Stream, events int, err error) {
	k.items = append(k.items, item{kind: itemLost, stream: k.stream(st), n: uint64(events)}, item{kind: itemNote, text: err.Error()})
}

// Damaged takes the reason why a stream ends early.
func (k *sink) Damaged(st *spool.Stream, err error) {
	k.items = append(k.items, item{kind: itemNote, text: fmt.Sprintf("%v. Its later events are missing.", err)})
}
