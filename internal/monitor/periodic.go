package monitor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/run"
)

// periodicEvery is the interval at which the file of the periodic monitor is written.
const periodicEvery = 200 * time.Millisecond

// periodicTable writes periods as CSV.
type periodicTable struct {
	out     *bufio.Writer
	counter *query.PeriodCounter
}

func (m *monitor) newPeriodicTable(w io.Writer) (*periodicTable, error) {
	every, err := m.every()
	if err != nil {
		return nil, err
	}
	t := &periodicTable{out: bufio.NewWriter(w)}
	t.counter = query.NewPeriodCounter(every.Nanoseconds(), func(p *query.Period) error {
		_, err := fmt.Fprintf(t.out, "%d,%d,%d,%d,%d,%d,%d,%d\n", p.End, p.Bytes, p.Live, p.LiveBlocks, p.Peak,
			p.Largest, p.Allocations, p.Deallocations)
		return err
	})
	_, err = fmt.Fprintln(t.out, "time_ns,requested,live,live_blocks,peak,largest,allocations,deallocations")
	return t, err
}

// wholePeriodic writes the table of a complete recording.
func (m *monitor) wholePeriodic(ctx context.Context, w io.Writer, s *query.Source) error {
	t, err := m.newPeriodicTable(w)
	if err != nil {
		return err
	}
	return errors.Join(t.counter.Whole(ctx, s), t.out.Flush())
}

// livePeriods write the tables of the periodic monitor while the programs run, from unfinished recordings. Errors are
// ignored: a table that is not complete at the end is written again from the complete recording.
type livePeriods struct {
	mu   sync.Mutex
	list map[livePeriod]*periodicTrail
}

type livePeriod struct {
	m    *monitor
	path string
}

// Periodic reports whether a table is written while the program runs: then OnRecording must be called.
func (all *Monitors) Periodic() bool {
	for _, m := range all.list {
		if m.library == "" && m.name == "periodic" {
			return true
		}
	}
	return false
}

// OnRecording is for launch.Config.OnRecording: a recording begins, or is complete.
func (all *Monitors) OnRecording(rec launch.Recording, finished bool) {
	l := &all.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list == nil {
		l.list = map[livePeriod]*periodicTrail{}
	}
	for _, m := range all.list {
		if m.library != "" || m.name != "periodic" {
			continue
		}
		key := livePeriod{m, rec.Path}
		t := l.list[key]
		if t == nil && !finished {
			t = &periodicTrail{path: rec.Path, file: m.file(rec.Path, rec.PID), stop: make(chan struct{}),
				done: make(chan struct{})}
			l.list[key] = t
			go t.follow(m)
		} else if t != nil && finished && rec.Dropped {
			delete(l.list, key)
			t.end()
			_ = os.Remove(t.file)
		}
	}
}

// finish completes the table of a complete recording. It reports false if the table must be written again.
func (l *livePeriods) finish(m *monitor, path string, s *query.Source) bool {
	l.mu.Lock()
	t := l.list[livePeriod{m, path}]
	delete(l.list, livePeriod{m, path})
	l.mu.Unlock()
	if t == nil {
		return false
	}
	t.end()
	if t.err != nil || !t.ended {
		return false
	}
	f, err := os.OpenFile(t.file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return false
	}
	t.table.out.Reset(f)
	err = t.table.counter.Finish(s.Profile.Duration)
	return errors.Join(err, t.table.out.Flush(), f.Close()) == nil
}

// close stops the remaining tables.
func (l *livePeriods) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.list {
		t.end()
	}
	l.list = nil
}

// periodicTrail follows an unfinished recording and writes its table.
type periodicTrail struct {
	path, file string
	stop, done chan struct{}
	once       sync.Once
	r          *recording.Reader
	table      *periodicTable
	cut        uint64
	ended      bool // the end of the recording was reached
	err        error
}

// end stops following, after everything so far has been written.
func (t *periodicTrail) end() {
	t.once.Do(func() { close(t.stop) })
	<-t.done
}

func (t *periodicTrail) follow(m *monitor) {
	defer close(t.done)
	f, err := os.Create(t.file)
	if err != nil {
		t.err = err
		return
	}
	defer f.Close()
	if t.table, t.err = m.newPeriodicTable(f); t.err == nil {
		t.err = t.table.out.Flush()
	}
	tick := time.NewTicker(periodicEvery)
	defer tick.Stop()
	for last := false; !last && t.err == nil; {
		select {
		case <-tick.C:
		case <-t.stop:
			last = true
		}
		t.err = t.catchUp()
	}
	if t.r != nil {
		t.r.Close()
	}
}

// catchUp writes the periods of new events.
func (t *periodicTrail) catchUp() error {
	if t.r == nil {
		r, err := run.OpenRecording(t.path)
		if err != nil {
			return nil // it may appear later
		}
		t.r = r
	} else if _, err := t.r.Refresh(); err != nil {
		return err
	}
	_, last := t.r.Cuts()
	var failed error
	err := t.r.EventsBetween(context.Background(), t.cut, last, func(_, _ uint64, e *event.Event) bool {
		failed = t.table.counter.Add(e)
		return failed == nil
	})
	t.cut = last
	_, t.ended = t.r.Ending()
	return errors.Join(err, failed, t.table.out.Flush())
}
