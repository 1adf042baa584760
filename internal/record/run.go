package record

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/control"
	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/record/names"
	"github.com/heaptap/heaptap/internal/record/procs"
	"github.com/heaptap/heaptap/internal/record/sampler"
	"github.com/heaptap/heaptap/internal/record/symbols"
	"github.com/heaptap/heaptap/internal/spool"
)

// run is one run's recorder. Its fields belong to the drain, except where they say otherwise.
type run struct {
	config  Config
	folder  *private.Folder // nil: nobody makes spools
	family  *procs.Family   // nil: all processes of the run can enter its folder
	door    *procs.Door     // likewise
	names   *names.Template
	store   *journal.Store
	journal *journal.File // nil: none
	census  *procs.Census
	sources []*source
	seen    map[string]bool // names of spools
	opened  int

	hadOutput bool        // the folder for the recordings was there when the run began
	images    map[int]int // by process id: spools

	folderTime time.Time // of the run's folder when it was last read
	lookedLast bool      // it was read since the main process's end
	unready    bool      // a spool in it was not ready, or may have come since

	workers sync.WaitGroup

	expedited, global bool // kinds of membarrier that work
	paired            time.Time
	counter0, mono0   uint64

	mainPID   int
	mainLife  *procs.Life
	mainOver  bool
	mainKnown bool      // Main has delivered, or never will
	endedAt   time.Time // when the main process's end was noticed
	quietFrom time.Time
	status    *Status

	told        int // Settled was reported, with toldRunning and one spool less than this
	toldRunning []int

	symbols *symbols.Finder

	requests requests
	alarm    *alarm    // nil: nobody sleeps, as when a spool is converted
	missedAt time.Time // when processes were last looked for that are not recorded
	markedAt time.Time // when MarkEvery last set a mark, or could first have

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
	r.alarm = newAlarm(config.RunDir)
	r.requests.ring = r.alarm.ring
	r.folder = folder
	r.openDoor()
	r.census = procs.NewCensus(folder, r.family, r.alarm.ring)
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
	r.config.Main, r.config.MainEnded = heard(config.Main, r.alarm, stop), heard(config.MainEnded, r.alarm, stop)
	r.config.Marks = heard(config.Marks, r.alarm, stop)
	defer context.AfterFunc(ctx, r.alarm.ring)()
	var helpers, watching sync.WaitGroup
	helpers.Go(func() { r.census.Serve(stop) })
	helpers.Go(func() { r.sampler.Serve(stop) })
	watching.Go(r.alarm.serve)
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
	r.alarm.end()
	watching.Wait()
	r.alarm.close()
	r.store.Close() // before somebody is told that all is done: its files lie beside the recordings
	r.settled()
	for _, o := range r.sources {
		r.remove(o)
	}
	r.journal.Remove()
	r.door.Close()
	// Only if it is empty but for what we know: somebody may have put something there.
	_ = os.Remove(config.RunDir)
	return nil
}

// openDoor lets processes in that cannot make a spool themselves.
func (r *run) openDoor() {
	if os.Geteuid() != 0 || r.config.Launcher <= 0 {
		return
	}
	r.family = procs.NewFamily(r.config.Launcher)
	most := r.config.SpillLimit
	if most <= 0 {
		most = 4 << 30
	}
	var err error
	note := func(text string) { r.report(Report{Kind: Note, Text: text}) }
	r.door, err = procs.OpenDoor(r.folder, r.family, most, note)
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
	r.store = journal.NewStore(dir, config.memory, config.SpillLimit, nil)
	r.counter0, r.mono0 = clock.Pair()
	r.mainKnown = config.Main == nil
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

// Pace of the drain. A chunk pool is about 4 MiB; the less is in it, the more of it stays in the target's cache.
const (
	napBusy    = time.Millisecond
	napIdle    = 5 * time.Millisecond
	napAsleep  = 50 * time.Millisecond // an agent short of chunks wakes us, and holds us for stuck after 200 ms
	napDeep    = time.Second           // where all that matters wakes us
	roundBytes = 512 << 10
	trickle    = 4 << 10 // bytes in a round that are no reason to be quick
	scanBusy   = 5 * time.Millisecond
	scanIdle   = 50 * time.Millisecond
	lifeBusy   = 10 * time.Millisecond
	lifeIdle   = 50 * time.Millisecond
)

// drain goes round the spools until the run is over.
func (r *run) drain(ctx context.Context) {
	var scanned, lived, moved, flowed, speak time.Time
	live := make([]*spool.Spool, 0, 16)
	nap := napIdle
	for ctx.Err() == nil {
		now := time.Now()
		idle := now.Sub(moved) > time.Second
		scan, life := scanBusy, lifeBusy
		if idle {
			scan, life = scanIdle, lifeIdle
		}
		if now.Sub(scanned) >= scan {
			scanned = now
			r.scanSpools()
		}
		r.checkMain()
		if now.Sub(lived) >= life || r.mainOver && r.told == 0 {
			lived = now
			r.checkLives(now)
		}
		if r.mainOver && !r.lookedLast {
			// What it executed last may have a spool that is not known yet.
			r.lookedLast, r.folderTime = true, time.Time{}
			r.scanSpools()
		}
		r.handleRequests()
		r.setMarks(now)
		n, freed := r.round()
		flows := n > trickle || freed > 0 // many threads that live for a moment need a chunk each
		if flows || n > 0 && idle {
			r.sampler.Rouse()
		}
		if n > 0 {
			moved = now
		}
		if flows {
			flowed = now
		}
		r.reapSpools()
		if r.over(now) {
			return
		}
		// At once, if nobody is left; else others may be about to make spools.
		if r.mainOver && now.After(speak) && (r.told == 0 && r.alone() || now.Sub(r.endedAt) > 100*time.Millisecond) {
			speak = now.Add(200 * time.Millisecond)
			if !r.settled() { // heaptap run waits for it
				speak = now.Add(napBusy)
			}
		}
		switch {
		case r.mainOver && r.told == 0 && now.Sub(r.endedAt) < time.Second:
			nap = napBusy
		case n >= roundBytes:
			nap = max(nap/2, napBusy/8)
		case flows:
			nap = min(max(nap*2, napBusy), napIdle)
		default:
			nap = min(max(nap*2, napBusy), r.longestNap(now, moved, flowed))
		}
		live = live[:0]
		for _, o := range r.sources {
			if !o.closed {
				live = append(live, o.spool)
			}
		}
		r.alarm.wait(live, nap)
	}
	// Somebody wants an end: what is there now is kept.
	r.checkMain()
	r.round()
}

// longestNap is for how long the drain may sleep when little is to be done: latest moved anything, and flowed more than
// a trickle.
func (r *run) longestNap(now, moved, flowed time.Time) time.Duration {
	unready := r.unready && now.Sub(r.folderTime) < time.Second
	switch {
	case now.Sub(flowed) < time.Second || unready || r.mainOver && r.told == 0:
		return napIdle
	case now.Sub(moved) < 5*time.Second || !r.alarm.watched || r.unready:
		return napAsleep
	}
	for _, o := range r.sources {
		if o.closed || o.dead || o.unwatched {
			return napAsleep
		}
	}
	nap := napDeep
	if every := r.config.MarkEvery; every > 0 {
		nap = min(nap, max(napIdle, every-now.Sub(r.markedAt)))
	}
	if r.config.Flush > 0 { // somebody reads along
		nap = min(nap, max(napIdle, r.config.Flush))
	}
	return nap
}

// checkMain takes what is known of the main process.
func (r *run) checkMain() {
	if !r.mainKnown {
		select {
		case pid, ok := <-r.config.Main:
			r.mainKnown = true
			if ok && pid > 0 {
				r.mainPID = pid
				r.mainLife = procs.Started(pid)
				r.alarm.watchEnd(r.mainLife)
				for _, o := range r.sources {
					if o.pid == pid {
						o.main = true
						o.sink.add(&mainFound{})
					}
				}
			}
		default:
		}
	}
	if r.mainKnown && !r.mainOver {
		r.mainOver = r.mainLife == nil || r.mainEnded()
		if r.mainOver {
			r.quietFrom = time.Now()
			r.endedAt = r.quietFrom
		}
	}
}

// mainEnded says whether the main process has ended, whatever images it has executed.
func (r *run) mainEnded() bool {
	r.takeStatus()
	return r.status != nil || r.mainLife.Exited()
}

func (r *run) takeStatus() {
	if r.status == nil && r.config.MainEnded != nil {
		select {
		case st, ok := <-r.config.MainEnded:
			if ok {
				r.status = &st
			} else {
				r.config.MainEnded = nil
			}
		default:
		}
	}
}

// mainStatus returns how the main process ended. ok is false while somebody may still tell.
func (r *run) mainStatus(since time.Time) (st Status, ok bool) {
	r.takeStatus()
	if r.status != nil {
		st = *r.status
		if r.images[r.mainPID] != 1 {
			st.MaxRSS = 0 // it may be that of an image before
		}
		return st, true
	}
	return st, r.config.MainEnded == nil || time.Since(since) > statusPatience
}

// statusPatience is how long the recorder waits to be told how the main process ended: run may be stopped, and whoever
// was stopped himself may have to catch up on a busy machine. A run that has died is not waited for.
const statusPatience = 30 * time.Second

// missedInterval is how often processes of the run are looked for that are not recorded. A look at a thousand processes
// takes some 20 ms.
const missedInterval = 30 * time.Second

func (r *run) tellMissed() {
	for _, text := range r.census.Missed() {
		r.report(Report{Kind: Note, Text: text})
	}
}

// checkLives looks which processes have ended.
func (r *run) checkLives(now time.Time) {
	if now.Sub(r.missedAt) > missedInterval {
		if !r.missedAt.IsZero() {
			r.census.Ask()
		}
		r.missedAt = now
		r.tellMissed()
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

// reapSpools closes the spools to which nobody writes any more.
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
	r.tellHidden(o)
	for slot, m := range o.members {
		if !m.over {
			end := &processEnded{slot: uint32(slot), when: clock.Now()}
			if o.main && slot == 0 && m.Gone && !m.Replaced {
				end.status, _ = r.mainStatus(time.Now())
			}
			o.sink.add(end)
		}
		r.sampler.Remove(m.sampled)
		m.Close()
	}
	o.sink.push()
	o.w.queue.close()
}

// tellHidden tells of programs that a spool's processes have executed and that could not find the agent's library.
func (r *run) tellHidden(o *source) {
	n := o.spool.Hidden()
	if n == 0 {
		return
	}
	programs, they := "1 program", "it"
	if n > 1 {
		programs, they = fmt.Sprint(n, " programs"), "they"
	}
	r.report(Report{Kind: Note, PID: o.spool.Info().PID, Text: fmt.Sprintf(
		"%s executed %s where heaptap's library is not to be seen, "+
			"as in a sandbox or another root, so that %s ran unrecorded; "+
			"`heaptap help agent` tells how to install the library where it is seen",
		names.Program(&o.w.meta), programs, they)})
}

// over says whether the run is.
func (r *run) over(now time.Time) bool {
	if !r.mainOver {
		return false
	}
	for _, o := range r.sources {
		if !o.closed {
			r.quietFrom = now
			return false
		}
	}
	return r.quiet(r.quietFrom)
}

// quiet says whether two looks since a moment have found nobody who writes to a spool or may make one, and nobody has
// made one and ended between the looks.
func (r *run) quiet(since time.Time) bool {
	if !r.census.Quiet(since) {
		return false
	}
	opened := r.opened
	r.folderTime = time.Time{}
	r.scanSpools()
	return r.opened == opened
}

// alone says whether all processes of the run are known to have ended.
func (r *run) alone() bool {
	for _, o := range r.sources {
		if len(o.members) == 0 { // not read yet
			return false
		}
		for _, m := range o.members {
			if !m.Gone {
				return false
			}
		}
	}
	return r.quiet(r.endedAt)
}

// settled tells what is still going on, once the main process has ended. false: that is not known yet.
func (r *run) settled() bool {
	var running []int
	busy := false
	for _, o := range r.sources {
		for _, m := range o.members {
			switch {
			case m.Gone:
			case m.Verified || o.closed:
				running = append(running, m.PID)
			default:
				// Its id may be another one's here, which says nothing of it. It runs if it was seen to since the
				// main process's end; else it has ended, or will be seen.
				seen := r.census.Mappers(o.inode, r.endedAt)
				running = append(running, seen...)
				busy = busy || len(seen) == 0
			}
		}
		if o.dead && !o.closed {
			// Who was forked and has had no event is in no table. Either a look shows him, or it lets the spool be
			// closed.
			seen := r.census.Mappers(o.inode, o.deadSince)
			running = append(running, seen...)
			busy = busy || len(seen) == 0
		}
		busy = busy || o.closed && !o.done() || o.pending()
	}
	r.tellMissed()
	slices.Sort(running)
	running = slices.Compact(running)
	if !busy && (r.told != r.opened+1 || !slices.Equal(running, r.toldRunning)) {
		r.told, r.toldRunning = r.opened+1, running
		r.report(Report{Kind: Settled, Running: running, Seen: r.opened})
	}
	return !busy
}

// done says whether the worker has finished.
func (o *source) done() bool {
	select {
	case <-o.w.done:
		return true
	default:
		return false
	}
}

// pending says whether a process has ended whose recording is not finished.
func (o *source) pending() bool {
	ended := 0
	for _, m := range o.members {
		if m.Gone {
			ended++
		}
	}
	return int(o.w.finished.Load()) < ended
}

// remove takes the spool's files away once its worker has finished.
func (r *run) remove(o *source) {
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
			PID: m.PID, Random: m.Random, Eager: len(r.config.MarkWhen) > 0, Layout: m.layout, Sink: to,
		})
	}
}
