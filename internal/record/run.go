package record

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/control"
	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/record/alarm"
	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/record/names"
	"github.com/heaptap/heaptap/internal/record/procs"
	"github.com/heaptap/heaptap/internal/record/sampler"
	"github.com/heaptap/heaptap/internal/record/symbols"
	unit "github.com/heaptap/heaptap/internal/run"
	"github.com/heaptap/heaptap/internal/spill"
)

// run is one run's recorder. Its fields belong to the drain, except where they say otherwise.
type run struct {
	config  Config
	folder  *private.Folder // nil: no spools are made
	family  *procs.Family   // nil: all processes of the run can enter its folder
	door    *procs.Door     // likewise
	names   *names.Template
	unit    *unit.Writer // nil: each program is recorded to a file of its own, or none is recorded yet
	store   *journal.Store
	journal *journal.File // nil: none
	census  *procs.Census
	sources []*source
	seen    map[string]bool // names of spools
	opened  int

	hadOutput bool        // the folder for the recordings was there when the run began
	images    map[int]int // by process id: spools

	folderTime time.Time // of the run's folder when it was last read
	lookedLast bool      // it was read after the main process's end
	unready    bool      // a spool in it was not ready, or may have come since

	workers sync.WaitGroup

	expedited, global bool // kinds of membarrier that work
	paired            time.Time
	counter0, mono0   uint64

	main      mainProcess
	quietFrom time.Time // since when no spool is open

	settledAt      int // Settled was reported, with settledRunning and one spool less than this
	settledRunning []int

	symbols *symbols.Finder

	requests requests
	alarm    *alarm.Alarm // nil: nothing sleeps, as when a spool is converted
	missedAt time.Time    // when processes were last looked for that are not recorded
	markedAt time.Time    // when MarkEvery last set a mark, or could first have

	sampler *sampler.Sampler
	reports sync.Mutex // one report at a time
}

// Run records until the run is over or ctx ends; then what can be finished is finished. The only error is a run that
// could not begin: all else goes to Config.Report.
func Run(ctx context.Context, config Config) error {
	folder, err := private.OpenFolder(config.RunDir)
	if err != nil {
		return fmt.Errorf("cannot use the run's folder: %w", err)
	}
	defer folder.Close()
	r := newRun(ctx, config)
	r.alarm = alarm.New(config.RunDir)
	r.requests.ring = r.alarm.Ring
	r.folder = folder
	r.openDoor()
	r.census = procs.NewCensus(folder, r.family, r.alarm.Ring)
	r.report(Report{Kind: Ready}) // not before: processes that already exist are not part of the run
	if r.journal, err = journal.Create(folder); err != nil {
		r.report(Report{Kind: Note, Err: err, Text: err.Error() + "; what the recorder holds is lost if it is killed"})
	}
	r.store.KeepIn(r.journal)
	server, err := control.Listen(config.RunDir, r.requests.answer)
	if err != nil {
		r.report(Report{Kind: Note, Err: err, Text: err.Error()})
	}
	stop := make(chan struct{})
	r.main.started, r.main.ended = alarm.Heard(config.Main, r.alarm, stop), alarm.Heard(config.MainEnded, r.alarm, stop)
	r.config.Marks = alarm.Heard(config.Marks, r.alarm, stop)
	defer context.AfterFunc(ctx, r.alarm.Ring)()
	var helpers, watching sync.WaitGroup
	helpers.Go(func() { r.census.Serve(stop) })
	helpers.Go(func() { r.sampler.Serve(stop) })
	watching.Go(r.alarm.Serve)
	if r.family != nil {
		go r.family.Follow(stop)
	}
	go r.door.Serve()
	r.drain(ctx)
	close(r.requests.over)
	if server != nil {
		server.Close()
	}
	close(stop)
	helpers.Wait()
	for _, o := range r.sources {
		r.closeSource(o)
	}
	r.workers.Wait()
	r.alarm.End()
	watching.Wait()
	r.alarm.Close()
	if r.unit != nil {
		r.unit.Close()
	}
	r.store.Close() // before all is reported to be done: its files lie beside the recordings
	r.reportSettled()
	for _, o := range r.sources {
		r.remove(o)
	}
	r.journal.Remove()
	r.door.Close()
	// Only if it is empty: others may have put something there.
	_ = os.Remove(config.RunDir)
	return nil
}

// openDoor admits processes that cannot make a spool themselves.
func (r *run) openDoor() {
	if os.Geteuid() != 0 || r.config.Launcher <= 0 {
		return
	}
	r.family = procs.NewFamily(r.config.Launcher)
	var err error
	note := func(text string) { r.report(Report{Kind: Note, Text: text}) }
	r.door, err = procs.OpenDoor(r.folder, r.family, r.config.SpillLimit, note)
	if err != nil {
		r.report(Report{Kind: Note, Err: err, Text: err.Error()})
	}
}

func newRun(ctx context.Context, config Config) *run {
	r := &run{
		config: config, names: names.NewTemplate(config.Output), seen: map[string]bool{},
		images:    map[int]int{},
		expedited: true, global: true, sampler: sampler.New(),
		symbols:  symbols.New(symbols.Config{Context: ctx, Names: config.Names, Fetch: config.Fetch}),
		requests: newRequests(), markedAt: time.Now(),
	}
	if config.Unit != nil {
		r.names = names.NewRun(config.Output)
	}
	for _, path := range config.Taken {
		r.names.Reserve(path)
	}
	dir := config.SpillDir
	if dir == "" {
		dir = r.names.Folder()
	}
	if st, err := os.Stat(r.names.Folder()); err == nil {
		r.hadOutput = st.IsDir()
	}
	if r.config.SpillLimit <= 0 {
		r.config.SpillLimit = spill.DefaultLimit(dir)
	}
	r.store = journal.NewStore(dir, config.memory, r.config.SpillLimit, nil)
	r.counter0, r.mono0 = clock.Pair()
	r.main.known = config.Main == nil
	return r
}

func (r *run) report(rep Report) {
	if r.config.Report == nil {
		return
	}
	r.reports.Lock()
	defer r.reports.Unlock()
	r.config.Report(rep)
}

// checkMain takes what is known about the main process.
func (r *run) checkMain() {
	if l := r.main.begun(); l != nil {
		r.alarm.WatchEnd(l)
		if r.unit != nil {
			r.unit.SetTarget(l.PID)
		}
		for _, o := range r.sources {
			if o.pid == l.PID {
				o.main = true
				o.sink.add(&mainFound{})
			}
		}
	}
	if r.main.hasEnded() {
		r.quietFrom = r.main.endedAt
	}
}

// mainStatus returns how the main process ended. ok is false while that may still come.
func (r *run) mainStatus(since time.Time) (st Status, ok bool) {
	st, ok = r.main.statusSince(since)
	if r.images[r.main.pid] != 1 {
		st.MaxRSS = 0 // it may be that of an image before
	}
	return st, ok
}

// missedInterval is how often the recorder looks for processes of the run that are not recorded. A look at a thousand
// processes takes some 20 ms.
const missedInterval = 30 * time.Second

func (r *run) reportMissed() {
	for _, text := range r.census.Missed() {
		r.report(Report{Kind: Note, Text: text})
	}
}

// checkLives finds out which processes have ended.
func (r *run) checkLives(now time.Time) {
	if now.Sub(r.missedAt) > missedInterval {
		if !r.missedAt.IsZero() {
			r.census.Ask()
		}
		r.missedAt = now
		r.reportMissed()
		r.door.Sweep()
	}
	for _, o := range r.sources {
		if o.closed {
			continue
		}
		for _, m := range o.members {
			if !m.over {
				m.Check(now, func(since time.Time) bool { return r.census.Mapped(o.inode, since) })
			}
		}
	}
}

// reapSpools closes the spools to which no process writes any more.
func (r *run) reapSpools() {
	for _, o := range r.sources {
		if o.closed || !o.dead {
			continue
		}
		if o.deadSince.IsZero() {
			o.deadSince = time.Now()
		}
		// A child that was forked and has no event yet is in no table, but has the spool mapped.
		if !r.census.Mapped(o.inode, o.deadSince) {
			r.closeSource(o)
		}
	}
	for i := 0; i < len(r.sources); i++ {
		if o := r.sources[i]; o.closed && o.done() {
			r.remove(o)
			r.sources = append(r.sources[:i], r.sources[i+1:]...)
			i--
		}
	}
}

// closeSource ends a spool: its recordings are finished with what has come.
func (r *run) closeSource(o *source) {
	if o.closed {
		return
	}
	o.closed = true
	if !o.dead {
		o.spool.Abandon()
	}
	r.reportHidden(o)
	for slot, m := range o.members {
		if !m.over {
			end := &processEnded{slot: uint32(slot), when: clock.Now()}
			if m.Gone {
				end.status, _ = r.statusOf(o, uint32(slot), time.Now())
			}
			o.sink.add(end)
		}
		r.sampler.Remove(m.sampled)
		m.Close()
	}
	o.sink.push()
	o.w.queue.close()
}

// reportHidden reports programs that a spool's processes have executed and that could not find the agent's library.
func (r *run) reportHidden(o *source) {
	n := o.spool.Hidden()
	if n == 0 {
		return
	}
	programs, they := "1 program", "it"
	if n > 1 {
		programs, they = fmt.Sprint(n, " programs"), "they"
	}
	r.report(Report{Kind: Note, PID: o.spool.Info().PID, Text: fmt.Sprintf(
		"%s executed %s where heaptap's library is not visible, "+
			"as in a sandbox or another root, so %s ran unrecorded; "+
			"`heaptap help agent` explains how to make the library visible there",
		names.Program(&o.w.meta), programs, they)})
}

// remove removes a spool's files once its worker has finished.
func (r *run) remove(o *source) {
	r.alarm.Ignore(o.spool)
	o.reader.Close()
	o.spool.Close()
	for _, name := range append(o.w.stateFiles(), filepath.Base(o.spool.Path())) {
		_ = r.folder.Remove(name)
	}
	_ = os.Remove(o.spool.SpillPath()) // there need not be one
	r.door.Forget(filepath.Base(o.spool.Path()))
}

// beginSampling samples a process's memory, if its id is known to be its own: not if it had executed another image, or
// ended, before it was found, nor if it lives where ids mean something else.
func (r *run) beginSampling(m *member, to readings) {
	if m.Verified {
		m.sampled = r.sampler.Add(sampler.Target{
			PID: m.PID, Random: m.Random, Eager: len(r.config.MarkWhen) > 0, Pages: r.config.Residency,
			Layout: m.layout, Sink: to,
		})
	}
}
