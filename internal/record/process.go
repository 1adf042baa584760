package record

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/spool"
	"github.com/heaptap/heaptap/internal/wire"
)

// process is one process's way from merged records to a recording. It belongs to its spool's worker.
type process struct {
	w            *worker
	slot         uint32
	info         spool.Process
	parent       *process
	main         bool
	path         string
	kept         *os.File // the recording, to have it when its name leads elsewhere; or nil
	out          *recording.Writer
	err          error // why nothing, or nothing more, is written
	ledger       *ledger.Ledger
	clock        *clockMap
	heap         []*stream
	bound        uint64    // all older events are merged; at the latest round
	tick         uint64    // bound at the latest Barrier of the ledger
	latest       uint64    // timestamp of the latest event
	time         int64     // and its time, in the recording's units
	state        *state    // what Recover needs; nil: nothing
	touched      []*stream // since the latest checkpoint
	overs        []overPiece
	emit         func(*ledger.Event)
	pairs        pairs
	pools        pools
	watch        *watch           // nil: for nothing
	marks        int              // so far
	started      map[uint32]int64 // when each thread began, in ns
	marksBefore  []event.Mark     // of a dead recorder's recording, at its last event that counts
	regions      regions
	ranges       int                           // names of memory so far
	rangesBefore []event.NamedRange            // as marksBefore
	deepest      uint64                        // bytes of the deepest stack that a thread had at an event
	stackMost    [][event.StackMeasures]uint64 // by thread: the most bytes that each measure came to

	streams map[uint64]*stream // by uid, those that have not ended
	counted uint32             // streams ever
	threads map[threadKey]uint32
	numbers uint32 // threads ever

	nodeID    []uint32     // of the spool's node in the recording, 0: none yet; 0 is none
	steps     []spool.Step // memory for newNode
	tree      tree
	pcID      []uint32 // of the spool's pc, plus 1
	byPC      map[event.PC]uint32
	pcs       []event.PC
	named     int // of pcs: the names of the first ones are written
	waited    int // times that a node was waited for in vain
	modules   map[uint32]*event.Module
	residency map[uint32]event.Residency // by module, as last seen
	moduleAt  int                        // modules of the worker's list that were looked at

	sampling                event.Sampling
	countsBegan, countsNext time.Time // see tellCounts
	mostRSS                 int64     // of its samples
	lost                    uint64    // events that could not be read
	lostBy                  map[uint64]uint64
	lateEvents              uint64
	strange                 bool
	progress                *namedProgress
	notes                   []string
	ownMalloc               bool   // the executable exports one
	unseen                  string // whose allocations were not seen, and why: see Report.Unseen
	failed                  bool   // the user was told that the recording cannot be written
	uncreated               bool   // there is no file
	rest                    bool   // it is what came after a recording that cannot be continued, which stays
	ended                   bool
}

// clockSkew bounds by how much an agent's clock may have been read early, in ns: by what a processor executes ahead while it waits
// for another core's cache line. Observed: less than 200 ns. It is also how long the ledger waits for evidence.
const clockSkew = 2000

// recoveredSuffix ends the name of a recording that will take the place of another one.
const recoveredSuffix = ".recovered"

type threadKey struct {
	tid   uint32
	start uint64
}

func (w *worker) newProcess(info spool.Process, main bool) *process {
	p := &process{
		w: w, slot: info.Slot, info: info, main: main, ledger: ledger.New(info.Slot != 0), nodeID: make([]uint32, 1),
		streams: map[uint64]*stream{}, threads: map[threadKey]uint32{},
		byPC: map[event.PC]uint32{}, modules: map[uint32]*event.Module{},
		lostBy: map[uint64]uint64{}, started: map[uint32]int64{}, watch: newWatch(w.run.config.MarkWhen),
	}
	p.ledger.Skew = clockSkew / recording.Quantum
	si := w.spool.Info()
	later, mono := w.later()
	p.clock = newClockMap(si.Counter, si.Mono, later, mono)
	wall := si.Wall
	start := uint64(0)
	if info.Slot != 0 && info.ForkTime > si.Counter {
		// A child's time begins at its first event.
		start = uint64(p.clock.at(info.ForkTime))
		p.clock = newClockMap(info.ForkTime, si.Mono+start, later, mono)
		wall += int64(start)
		if later <= info.ForkTime {
			p.clock.rate = ratio(mono-si.Mono, later-si.Counter)
		}
	}
	desc := event.Process{
		PID: info.PID, Exe: w.meta.Exe, Args: w.meta.Args, Dir: w.meta.Dir, Host: w.meta.Host, Env: w.meta.Env,
		Arch: si.Arch, Started: wall, Agent: si.Version, Recorder: w.run.config.Version,
	}
	if v := w.spool.Sampling(); v != 0 {
		p.sampling = p.samplingOf(v)
		desc.Sampling = p.sampling
	}
	if info.Parent < uint32(len(w.procs)) {
		if p.parent = w.procs[info.Parent]; p.parent != nil {
			desc.Parent = p.parent.info.PID
		}
	}
	p.emit = func(x *ledger.Event) {
		e := &x.Event
		e.Time *= recording.Quantum
		e.Born *= recording.Quantum
		p.pairs.event(e, x.Ended)
		if p.regions.moves != nil {
			p.settledLate(e, x.Region)
		}
		_ = p.out.Event(e) // its error is seen when the batch is settled
		p.poolEvent(e, x.Ended.Func)
	}
	p.ledger.Backed(p.backed)
	if p.path = w.path; info.Slot != 0 {
		p.path = w.run.names.next(info.PID, &w.meta)
	}
	saved := w.saved[info.Slot]
	if saved != nil && w.run.config.inPlace {
		p.path = saved.Recording + recoveredSuffix
		if !saved.finished && saved.folded() {
			p.path = saved.restName()
			p.rest = true
		}
	}
	if saved != nil && saved.finished {
		p.ended = true // all is in its recording
		return p
	}
	path := p.path
	opts := recording.Options{Addresses: w.run.config.Addresses, Mode: w.run.config.OutputMode, Fold: recording.Fold{
		Keep: w.run.config.Keep, MaxSize: w.run.config.MaxSize,
		Notice: func(text string) { w.run.report(Report{Kind: Note, PID: info.PID, Path: path, Text: text}) },
	}}
	if w.run.journal != nil {
		if p.state = newState(p); p.state != nil {
			opts.Births = p.state.births
		}
	}
	p.create(desc, opts)
	if p.err != nil {
		p.failed, p.uncreated = true, true
	}
	if saved != nil {
		p.restore(saved)
	}
	p.progress = &namedProgress{path: p.path}
	w.progresses.Store(p.slot, p.progress)
	w.run.report(Report{Kind: Started, Path: p.path, PID: info.PID, Main: main, Exe: w.meta.Exe, Err: p.err})
	return p
}

func (p *process) note(format string, args ...any) {
	n := fmt.Sprintf(format, args...)
	if len(p.notes) < 32 && !slices.Contains(p.notes, n) {
		p.notes = append(p.notes, n)
	}
}

// fail tells, once, that the recording cannot be written.
func (p *process) fail(err error) {
	p.failed = true
	p.err = err
	p.w.run.report(Report{Kind: Note, PID: p.info.PID, Path: p.path, Err: err, Text: fmt.Sprintf(
		"%v; the program goes on, what was recorded so far is kept, later events are counted as lost", err)})
}

// round merges everything that is final by a reading of all streams.
func (p *process) round(r *round) {
	limit := r.clock
	for _, s := range r.busy {
		if p.w.process(s) != p {
			continue
		}
		if s.held != r.number-1 || s.held == 0 {
			s.bound = max(p.bound, s.start)
		}
		s.held = r.number
		if !s.pending {
			limit = min(limit, max(s.bound, s.last))
		}
	}
	p.merge(limit, r.number)
	p.bound = r.clock
	p.report(r)
	if limit >= p.tick && p.ledger.Waiting() > 0 {
		p.ledger.Barrier(p.emit)
	}
	if limit >= p.tick {
		p.tick = r.clock
	}
	if r.counter != 0 {
		p.clock.learn(r.counter, r.mono)
	}
}

// mergeRest merges all that is left. The ledger hears of the time that passes as it does while the process runs.
func (p *process) mergeRest() {
	step := scale(10e6, ratio(1<<20, scale(1<<20, p.clock.rate))) // 10 ms in ticks
	for len(p.heap) > 0 {
		limit := p.heap[0].time + step
		if limit < step {
			limit = never
		}
		p.merge(limit, never)
		if p.ledger.Waiting() > 0 {
			p.ledger.Barrier(p.emit)
		}
	}
}

// newThread finds or adds the thread of a stream. All streams of a thread, one for each level of interruption, are one.
func (p *process) newThread(s *stream, now int64) {
	s.known = true
	key := threadKey{s.tid, s.start}
	if s.level != 0 {
		// A higher level's stream begins later than its thread: it is the latest thread with that id.
		for k := range p.threads {
			if k.tid == s.tid && k.start <= s.start && (key.start == s.start || k.start > key.start) {
				key = k
			}
		}
	}
	i, ok := p.threads[key]
	if !ok {
		i = p.numbers
		p.numbers++
		p.threads[key] = i
		p.started[i] = now
		p.out.Thread(i, event.Thread{TID: s.tid, Name: s.name, Start: now})
	}
	s.thread = i
}

// finish ends the recording: no more events will come.
func (p *process) finish(status Status) {
	if p.ended {
		return
	}
	p.ended = true
	p.mergeRest()
	p.ledger.Finish(p.emit)
	end := max(p.time*recording.Quantum, p.end())
	p.peakAtEnd(status.MaxRSS, end)
	p.checkpoint(p.flush) // whatever becomes of the names, the events are safe
	_ = p.out.Flush()
	if p.dropped() {
		return
	}
	p.loadModules()
	p.symbols(p.fetch())
	p.statics()
	p.tellCounts(true)
	p.tellPools()
	if n := p.pairs.unknown; n > 0 {
		p.note("Of %d deallocations it is not known which size or alignment they were told: whether these are the blocks' was not judged.", n)
	}
	if err := p.out.Pairs(p.pairs.list()); err != nil {
		p.note("The allocations and deallocations that do not belong together could not be written: %v.", err)
	}
	totals := p.out.Tally().Totals()
	for _, text := range p.w.spool.Doubts() {
		p.note("%s", text)
	}
	p.judgeMalloc(totals.Allocations)
	e := recording.Ending{
		End: end, Exited: status.Exited, Code: status.Code, Signal: status.Signal, Status: status.Text,
		Health: p.health(),
	}
	for _, id := range slices.Sorted(maps.Keys(p.modules)) {
		p.out.Module(*p.modules[id])
	}
	lost := p.out.LostEvents()
	if err := p.out.Finish(e); err != nil && p.err == nil {
		p.err = err
	}
	e.Health.LostEvents += max(lost, p.out.LostEvents())
	p.putBack()
	if name, ok := strings.CutSuffix(p.path, recoveredSuffix); ok && p.err == nil && p.w.run.config.inPlace {
		if err := os.Rename(p.path, name); err != nil {
			p.err = err
		} else {
			p.path = name
		}
	}
	p.leave()
	p.w.run.report(Report{
		Kind: Finished, Path: p.path, PID: p.info.PID, Main: p.main, Exe: p.w.meta.Exe, Err: p.err, Totals: &totals,
		Threads: int(p.numbers), Health: e.Health, Elapsed: time.Duration(end), Unseen: p.unseen,
	})
	p.close()
}

// leave ends the state: nothing has to be recovered any more.
func (p *process) leave() {
	p.state.finish()
	for i := range p.overs {
		p.overs[i].piece.release()
	}
	p.overs, p.touched = nil, nil
}

// dropped ends a recording that is too short to be kept, if it is.
func (p *process) dropped() bool {
	if p.main || p.uncreated || p.rest || p.out.Handed() >= p.w.run.config.MinEvents {
		return false
	}
	_ = p.out.Abort()
	p.kept.Close()
	_ = os.Remove(p.path)
	if name, ok := strings.CutSuffix(p.path, recoveredSuffix); ok && p.w.run.config.inPlace {
		_ = os.Remove(name)
		p.path = name
	}
	p.leave()
	p.w.run.report(Report{Kind: Finished, Path: p.path, PID: p.info.PID, Exe: p.w.meta.Exe, Dropped: true})
	p.close()
	return true
}

// close gives back what only a process that is being recorded needs.
func (p *process) close() {
	p.ledger.Close()
	// Large; the process itself is still needed by those forked from it.
	p.ledger, p.out, p.nodeID, p.pcID, p.byPC, p.pcs = nil, nil, nil, nil, nil, nil
	p.pairs, p.pools = pairs{}, pools{}
	p.tree, p.streams, p.heap = tree{}, map[uint64]*stream{}, nil
}

// end returns the process's end, if the drain has noticed it.
func (p *process) end() int64 {
	if p.w.endCounter == 0 {
		return 0
	}
	return p.clock.at(p.w.endCounter)
}

// cost is the mean of so many events that took so many ticks, in ns, to a tenth. All processes of a spool share it.
func (p *process) cost(ticks, events uint64) float64 {
	if events == 0 {
		return 0
	}
	return math.Round(10*float64(scale(ticks, p.clock.rate))/float64(events)) / 10
}

// health says what is missing. The header's counters are the whole spool's; they are told with its first process.
func (p *process) health() event.Health {
	h := event.Health{LostEvents: p.lost, LateEvents: p.lateEvents, Notes: p.notes}
	var own uint64
	for _, n := range p.lostBy {
		own += n
	}
	h.LostEvents += own
	c := p.w.spool.Counters()
	h.AllocCost = p.cost(c[wire.CAllocTicks], c[wire.CAllocTimed])
	h.FreeCost = p.cost(c[wire.CFreeTicks], c[wire.CFreeTimed])
	if p.slot != 0 {
		return h
	}
	others := uint64(0)
	for _, q := range p.w.procs {
		if q != nil && q != p {
			for _, n := range q.lostBy {
				others += n
			}
		}
	}
	if c[wire.CLost] > own+others {
		h.LostEvents += c[wire.CLost] - own - others
	}
	h.TruncatedStacks, h.BadCFI, h.GuessedFrames = c[wire.CTruncated], c[wire.CBadCFI], c[wire.CGuessed]
	h.TableFull, h.NoThread, h.SpilledChunks = c[wire.CTableFull], c[wire.CNoThread], c[wire.CSpilled]
	h.Waits, h.FullSteps, h.BootAllocations = c[wire.CWaits], c[wire.CFullSteps], c[wire.CBoot]
	h.Notes = slices.Concat(h.Notes, forbidden(c[wire.CForbidden], c[wire.CStopped]))
	return h
}

// forbidden says what the program has forbidden itself, and so the agent: system calls, and events of threads that may not read the
// clock.
func forbidden(calls, events uint64) []string {
	var list []string
	if calls > 0 {
		list = append(list, fmt.Sprintf("a seccomp filter forbids system calls that heaptap would have made: it did without, %d times", calls))
	}
	if events > 0 {
		list = append(list, fmt.Sprintf("%d of the events that could not be recorded are those of threads that may not read the processor's clock (SECCOMP_MODE_STRICT or PR_SET_TSC)", events))
	}
	return list
}
