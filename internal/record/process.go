package record

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/record/notes"
	"github.com/heaptap/heaptap/internal/record/order"
	"github.com/heaptap/heaptap/internal/record/output"
	"github.com/heaptap/heaptap/internal/record/pairs"
	"github.com/heaptap/heaptap/internal/record/pools"
	"github.com/heaptap/heaptap/internal/record/sampler"
	"github.com/heaptap/heaptap/internal/record/stacks"
	"github.com/heaptap/heaptap/internal/record/ticks"
	"github.com/heaptap/heaptap/internal/record/unseen"
	"github.com/heaptap/heaptap/internal/record/watch"
	"github.com/heaptap/heaptap/internal/recording"
	unit "github.com/heaptap/heaptap/internal/run"
	"github.com/heaptap/heaptap/internal/spool"
)

// process is one process's way from merged records to a recording. It belongs to its spool's worker.
type process struct {
	w           *worker
	slot        uint32
	info        spool.Process
	parent      *process
	layout      *sampler.Layout // for those who sample the process
	main        bool
	number      int    // of the program in its run; -1: it is not part of one
	address     string // of the recording
	started     int64  // on the wall clock, ns since 1970
	noted       struct{ live, resident int64 }
	file        *output.File
	out         *recording.Writer
	err         error // why nothing, or nothing more, is written
	order       *order.Merger
	ledger      *ledger.Ledger
	tick        uint64 // clock of the round of the ledger's latest Barrier
	checkpoints checkpoints
	threads     threads
	memory      memory
	health      health
	unseen      unseen.Allocations
	pairs       pairs.Checker
	pools       pools.Books
	notes       *notes.Notes
	watch       *watch.Watch // nil: for nothing

	streams map[uint64]*order.Stream // by uid, those that have not ended
	counted uint32                   // streams ever

	exits []*order.Stream // of threads that have ended; noteExits writes when

	stacks   *stacks.Table
	named    int // the names of the first program counters are written
	modules  map[uint32]*event.Module
	moduleAt int // modules of the worker's list that were looked at

	sampling                event.Sampling
	countsBegan, countsNext time.Time // see writeCounts
	progress                *namedProgress
	failed                  bool // that the recording cannot be written was reported
	uncreated               bool // there is no file
	rest                    bool // it is what came after a recording that cannot be continued, which stays
	ended                   bool
	endsAfter               int64 // when its earlier recorder saw it last, in ns; 0: it had none
}

// clockSkew bounds by how much an agent's clock may have been read early, in ns: by what a processor executes ahead
// while it waits for another core's cache line. Observed: less than 200 ns. It is also how long the ledger waits for
// evidence.
const clockSkew = 2000

// recoveredSuffix ends the name of a recording that will take the place of another one.
const recoveredSuffix = ".recovered"

// newProcess begins the recording of a process.
func (w *worker) newProcess(info spool.Process, layout *sampler.Layout, main bool) *process {
	p := &process{
		w: w, slot: info.Slot, info: info, layout: layout, main: main, ledger: ledger.New(info.Slot != 0),
		number:  -1,
		streams: map[uint64]*order.Stream{},
		modules: map[uint32]*event.Module{},
		health:  health{byStream: map[uint64]uint64{}},
	}
	p.ledger.Skew = clockSkew / recording.Quantum
	desc, clock := p.describe()
	p.started = desc.Started
	saved := w.saved[info.Slot]
	path := p.choosePath(saved)
	if saved != nil && saved.Finished {
		p.ended = true // all is in its recording
		return p
	}
	p.create(path, desc)
	p.threads = threads{out: p.out, keys: map[threadKey]uint32{}}
	p.memory.out, p.unseen.Note = p.out, p.Note
	if p.parent != nil {
		p.memory.set.Inherit(&p.parent.memory.set)
	}
	p.notes = notes.New(p.out, p.Note)
	p.watch = watch.New(w.run.config.MarkWhen, p.out, p.notes.Mark)
	p.stacks = stacks.New(p, w.tables, p.out, w.run.config.MaxDepth)
	p.pools.Innermost = p.stacks.Innermost
	p.order = order.New(&w.work, clock, &p.stacks.Known, p.checkpoints.state != nil, p)
	if saved != nil {
		p.restore(saved)
	}
	p.progress = &namedProgress{address: p.address}
	w.progresses.Store(p.slot, p.progress)
	w.run.report(Report{Kind: Started, Path: p.address, PID: info.PID, Main: main, Exe: w.meta.Exe, Err: p.err})
	return p
}

// describe says what the process is, and what its time is.
func (p *process) describe() (event.Process, *ticks.Map) {
	w, info, si := p.w, &p.info, p.w.spool.Info()
	later, mono := w.later()
	clock := ticks.New(si.Counter, si.Mono, later, mono)
	wall := si.Wall
	if info.Slot != 0 && info.ForkTime > si.Counter {
		// A child's time begins at its first event.
		wall += clock.At(info.ForkTime)
		clock = clock.From(info.ForkTime, later, mono)
	}
	desc := event.Process{
		PID: info.PID, Exe: w.meta.Exe, Args: w.meta.Args, Dir: w.meta.Dir, Host: w.meta.Host, Env: w.meta.Env,
		Arch: si.Arch, Started: wall, Agent: si.Version, Recorder: w.run.config.Version,
	}
	if v := w.spool.Sampling(); v != 0 {
		p.sampling = w.samplingOf(p.slot, v)
		desc.Sampling = p.sampling
	}
	if info.Parent < uint32(len(w.procs)) {
		if p.parent = w.procs[info.Parent]; p.parent != nil {
			desc.Parent = p.parent.info.PID
		}
	}
	return desc, clock
}

// choosePath is where the recording is to be.
func (p *process) choosePath(saved *journal.Saved) string {
	path := p.w.path
	if p.slot != 0 && p.w.run.config.Unit == nil {
		path = p.w.run.names.Next(p.info.PID, &p.w.meta)
	}
	if saved == nil || !p.w.run.config.inPlace {
		return path
	}
	if !saved.Finished && folded(saved) {
		p.rest = true
		return restName(saved)
	}
	if p.w.run.unit != nil {
		p.number = p.w.run.unit.Find(saved.Recording)
	}
	return cmp.Or(unit.File(saved.Recording), saved.Recording) + recoveredSuffix
}

// create makes the recording, and its state: as a file of its own, or as part of the run.
func (p *process) create(path string, desc event.Process) {
	p.address = path
	u := p.w.run.unit
	if u != nil && p.number >= 0 { // it takes the place of what a recorder has left
		p.address = u.Address(p.number)
	} else if u != nil {
		p.number, p.address, p.err = u.Begin(p.member(&desc), func(path, address string) (string, error) {
			p.address = address
			p.createAt(path, desc)
			return p.file.Path, p.err
		})
	}
	if p.file == nil { // there was no place for it, and so there will be an error, or it is not part of the run
		place, why := path, ""
		if u == nil {
			place, why = unit.FindFile(path)
			p.address = place
		}
		if p.createAt(place, desc); why != "" {
			p.w.run.report(Report{Kind: Note, PID: p.info.PID, Path: place, Text: why})
		}
	}
	p.failed, p.uncreated = p.err != nil, p.err != nil
}

// createAt makes the recording at a path.
func (p *process) createAt(path string, desc event.Process) {
	r := p.w.run
	note := func(path, text string) { r.report(Report{Kind: Note, PID: p.info.PID, Path: path, Text: text}) }
	opts := recording.Options{Addresses: r.config.Addresses, Mode: r.config.OutputMode, Fold: recording.Fold{
		Keep: r.config.Keep, MaxSize: r.config.MaxSize, Notice: func(text string) { note(path, text) },
	}}
	if r.journal != nil {
		info := journal.StateInfo{Recording: p.address, SpillDir: r.store.Dir(), Slot: p.slot}
		if s := journal.CreateState(r.folder, p.w.spool.Path(), info); s != nil {
			p.checkpoints.state, opts.Births = s, s.Births
		}
	}
	p.file = output.New(path, note)
	p.out, p.err = p.file.Create(r.hadOutput, desc, opts)
}

// Note adds a sentence for the user.
func (p *process) Note(format string, args ...any) { p.health.note(format, args...) }

// Final says whether nobody writes to the spool any more.
func (p *process) Final() bool { return p.w.final }

// Over takes a piece that was read to its end.
func (p *process) Over(s *order.Stream, q *journal.Piece) { p.checkpoints.over(s, q) }

// fail reports, once, that the recording cannot be written.
func (p *process) fail(err error) {
	p.failed = true
	p.err = err
	p.w.run.report(Report{Kind: Note, PID: p.info.PID, Path: p.file.Path, Err: err, Text: fmt.Sprintf(
		"%v; the program goes on, what was recorded so far is kept, later events are counted as lost", err)})
}

// round merges everything that is final by a reading of all streams.
func (p *process) round(r *roundEnded) {
	var busy []*order.Stream
	for _, s := range r.busy {
		if p.w.process(s) == p {
			busy = append(busy, s)
		}
	}
	limit := p.order.Round(r.number, r.clock, busy)
	p.divideUpTo(p.order.Clock.At(limit))
	p.publish(r)
	p.noteExits(limit, math.MaxInt64)
	if limit >= p.tick {
		p.barrier()
		p.tick = r.clock
	}
	if r.counter != 0 {
		p.order.Clock.Learn(r.counter, r.mono)
	}
}

// Begin sets the thread of a stream.
func (p *process) Begin(s *order.Stream, now int64) {
	s.Known, s.Thread = true, p.threads.of(s, now*recording.Quantum)
	p.threadExits(s)
}

// threadExits takes the exit of a stream's thread, once both are known: a short thread's stream ends before its first
// event is merged.
func (p *process) threadExits(s *order.Stream) {
	if s.Known && s.End != 0 && s.Level == 0 {
		p.exits = append(p.exits, s)
	}
}

// noteExits writes when threads ended, up to a timestamp that all events were merged to: an exit is converted at the
// clock's rate for the events around it, so that it comes after those of its thread. None is later than latest, in ns:
// the timestamps are the target's, which may have overwritten them.
func (p *process) noteExits(limit uint64, latest int64) {
	p.exits = slices.DeleteFunc(p.exits, func(s *order.Stream) bool {
		if s.End > limit {
			return false
		}
		p.threads.end(s.Thread, min(p.order.Clock.At(s.End), latest))
		return true
	})
}

// Stack returns the recording's number of a spool's stack.
func (p *process) Stack(id uint32) uint32 { return p.stacks.Number(id) }

// Lost counts events that cannot be read.
func (p *process) Lost(events uint64, why string) {
	p.health.lost += events
	if why != "" {
		p.Note("%s", why)
	}
}

// finish ends the recording: no more events will come.
func (p *process) finish(status Status) {
	if p.ended {
		return
	}
	p.ended = true
	// The ledger hears of the time that passes as it does while the process runs.
	p.order.Rest(p.barrier)
	end := max(p.order.Time*recording.Quantum, p.endsAfter)
	if at := p.w.endCounter; at != 0 {
		end = max(end, p.order.Clock.At(at))
	}
	p.noteExits(math.MaxUint64, end)
	p.settleRest(p.ledger.Finish)
	p.divideUpTo(math.MaxInt64)
	p.memory.peakAtEnd(status.MaxRSS, end)
	p.checkpoint(p.flush) // whatever becomes of the names, the events are safe
	_ = p.out.Flush()
	if p.dropped() {
		return
	}
	p.loadModules()
	p.writeNames(p.fetch())
	p.writeStatics()
	p.writeCounts(true)
	_ = p.out.Pools(p.pools.List()) // its error is seen at the end
	if n := p.pairs.Unknown; n > 0 {
		p.Note("Of %d deallocations it is not known which size or alignment they were told: "+
			"whether these are the blocks' was not judged.", n)
	}
	if err := p.out.Pairs(p.pairs.List()); err != nil {
		p.Note("The allocations and deallocations that do not belong together could not be written: %v.", err)
	}
	totals := p.out.Tally().Totals()
	for _, text := range p.w.spool.Doubts() {
		p.Note("%s", text)
	}
	mode, _ := p.w.spool.Mode()
	p.unseen.JudgeMalloc(p.w.meta.Exe, mode, totals.Allocations)
	others := uint64(0)
	for _, q := range p.w.procs {
		if q != nil && q != p {
			others += q.health.ofStreams()
		}
	}
	counters := p.w.spool.Counters()
	e := recording.Ending{
		End: end, Exited: status.Exited, Code: status.Code, Signal: status.Signal, Status: status.Text,
		Health: p.health.result(&counters, p.slot == 0, others, p.order.Clock),
	}
	if p.slot == 0 { // the spool counts them for all of its processes
		e.Health.StaticPrograms = p.w.spool.StaticPrograms()
	}
	for _, id := range slices.Sorted(maps.Keys(p.modules)) {
		p.out.Module(*p.modules[id])
	}
	lost := p.out.LostEvents()
	if err := p.out.Finish(e); err != nil && p.err == nil {
		p.err = err
	}
	e.Health.LostEvents += max(lost, p.out.LostEvents())
	if err := p.leave(p.ending(&e, &totals)); err != nil {
		p.err = err
	}
	p.checkpoints.finish()
	p.w.run.report(Report{
		Kind: Finished, Path: p.address, PID: p.info.PID, Main: p.main, Exe: p.w.meta.Exe, Err: p.err,
		Totals: &totals, Resident: p.memory.rss,
		Threads: len(p.threads.list), Health: e.Health, Elapsed: time.Duration(end), Unseen: p.unseen.First,
	})
	p.close()
}

// dropped ends a recording that is too short to be kept, if it is.
func (p *process) dropped() bool {
	if p.main || p.uncreated || p.rest || p.out.Handed() >= p.w.run.config.MinEvents {
		return false
	}
	_ = p.out.Abort()
	p.removeFile()
	if name, ok := strings.CutSuffix(p.file.Path, recoveredSuffix); ok && p.w.run.config.inPlace {
		_ = os.Remove(name)
		p.file.Path, p.address = name, name
	}
	p.checkpoints.finish()
	p.w.run.report(Report{Kind: Finished, Path: p.address, PID: p.info.PID, Exe: p.w.meta.Exe, Dropped: true})
	p.close()
	return true
}

// close gives back what only a process that is being recorded needs.
func (p *process) close() {
	p.ledger.Close()
	// Large; the process itself is still needed by those forked from it.
	p.ledger, p.out, p.stacks = nil, nil, nil
	p.pairs, p.pools = pairs.Checker{}, pools.Books{}
	p.streams, p.order = map[uint64]*order.Stream{}, nil
}
