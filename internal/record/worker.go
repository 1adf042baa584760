package record

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/record/order"
	"github.com/heaptap/heaptap/internal/record/pairs"
	"github.com/heaptap/heaptap/internal/spool"
)

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
	done    chan struct{}
	work    order.Workspace
	batch   ledger.Batch      // that is being settled, of whatever process
	args    []pairs.Arguments // of its deallocations

	modules    []spool.Module
	badModules bool
	final      bool                      // no process writes to the spool any more
	saved      map[uint32]*journal.Saved // of a recorder that was killed, by slot
	restored   map[uint64]*order.Stream  // by uid
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
	if r.config.Unit == nil {
		w.path = r.names.Next(s.Info().PID, &w.meta)
	} else {
		r.openUnit(s.Info().PID)
	}
	return w
}

// later returns a moment on two clocks that is far enough from the spool's start to know the counter's frequency.
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

func (w *worker) serve() {
	defer w.run.alarm.Ring()
	defer close(w.done)
	defer w.tables.Close()
	if w.metaErr != nil {
		w.note(w.metaErr.Error())
	}
	var list []message
	for {
		list = w.queue.take(list)
		if len(list) == 0 {
			return
		}
		for _, m := range list {
			m.deliver(w)
		}
		if time.Since(w.flushed) > cmp.Or(w.run.config.Flush, flushInterval) {
			w.flushed = time.Now()
			for _, p := range w.procs {
				if p != nil && !p.ended {
					p.loadModules()
					p.writeCounts(false)
					p.checkpoint(p.flush) // an error shows again with the next events
					p.progressed()
				}
			}
		}
	}
}

// flushInterval bounds how long what happened stays in the journal only, if little happens.
const flushInterval = 5 * time.Second

// stateFiles are the states of the spool's processes.
func (w *worker) stateFiles() (names []string) {
	for _, p := range w.procs {
		if p != nil && p.checkpoints.state != nil {
			names = append(names, p.checkpoints.state.Name())
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

// process returns the process of a stream, and makes the stream known to it. A stream of a process that is not there
// (its slot was overwritten) is the first one's.
func (w *worker) process(s *order.Stream) *process {
	slot := s.Proc
	if slot >= uint32(len(w.procs)) || w.procs[slot] == nil {
		slot = 0
	}
	if len(w.procs) == 0 || w.procs[slot] == nil || w.procs[slot].ended {
		return nil
	}
	p := w.procs[slot]
	s.Proc = slot
	if p.streams[s.UID] != s {
		p.counted++
		s.Index = p.counted
		p.streams[s.UID] = s
	}
	return p
}

// note adds a sentence to all recordings of the spool.
func (w *worker) note(text string) {
	for _, p := range w.procs {
		if p != nil {
			p.Note("%s", text)
		}
	}
	w.run.report(Report{Kind: Note, PID: w.spool.Info().PID, Text: text})
}
