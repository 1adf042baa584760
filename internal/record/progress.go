package record

import (
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/heaptap/heaptap/internal/control"
	unit "github.com/heaptap/heaptap/internal/run"
)

// progress is how far a process's recording is, for anybody to read.
type progress struct {
	events, live, blocks, lost atomic.Uint64
	round                      atomic.Uint64 // number of the latest one
	at                         atomic.Int64  // when that was, as time.Time.UnixNano
}

func (p *process) publish(r *roundEnded) {
	bytes, blocks := p.out.Live()
	g := p.progress
	g.events.Store(p.out.Handed())
	g.live.Store(bytes)
	g.blocks.Store(blocks)
	g.lost.Store(p.health.lost)
	g.round.Store(r.number)
	g.at.Store(r.at.UnixNano())
}

// statuses returns a function that says how far processes are when it is called. Any goroutine may do that, the
// spools' ends notwithstanding: what they say is read here.
func (r *run) statuses(list []addressed) func() []control.Process {
	out := make([]control.Process, len(list))
	for i, a := range list {
		mode, _ := a.o.spool.Mode()
		out[i] = control.Process{PID: a.m.PID, Program: filepath.Base(a.o.w.meta.Exe), Mode: modeNames[mode]}
	}
	return func() []control.Process {
		for i, a := range list {
			g, s := a.o.w.progressOf(a.slot), &out[i]
			if g == nil {
				continue
			}
			s.File, s.Events, s.LostEvents = unit.File(g.address), g.events.Load(), g.lost.Load()
			s.LiveBytes, s.LiveBlocks = g.live.Load(), g.blocks.Load()
			if g.round.Load() < a.o.sent.Load() {
				s.LagNS = max(0, time.Now().UnixNano()-g.at.Load())
			}
		}
		return out
	}
}

// progressOf finds the progress of a process; nil if the worker does not know it yet.
func (w *worker) progressOf(slot uint32) *namedProgress {
	if g, ok := w.progresses.Load(slot); ok {
		return g.(*namedProgress)
	}
	return nil
}

// addressOf is where a process's recording is; "" if the worker does not know it yet.
func (w *worker) addressOf(slot uint32) string {
	if g := w.progressOf(slot); g != nil {
		return g.address
	}
	return ""
}

// namedProgress is a progress and the recording that it is of.
type namedProgress struct {
	progress
	address string
}
