package merge

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/tally"
)

// Align says how the processes' times are aligned.
type Align uint8

// The alignments.
const (
	ByStart Align = iota // the time since each process's start
	ByClock              // the wall clock
)

// Merger sums up recordings. It is not safe for concurrent use.
type Merger struct {
	// Running says that recordings of processes that still run may be added as they are.
	Running  bool
	align    Align
	forest   *forest
	accounts []account // by node; 0: unknown stacks
	totals   tally.Totals
	threads  map[string]*thread
	pools    map[string]*event.Pool
	inputs   []recording.Input
	timeline recording.Timeline
	process  *event.Process // what all processes have in common; nil: none yet
	health   event.Health
	notes    map[string]bool
}

type thread struct {
	event.Thread // without an id
	counts       tally.Thread
}

// New returns a Merger without recordings.
func New(align Align) *Merger {
	return &Merger{align: align, forest: newForest(), threads: make(map[string]*thread),
		pools: make(map[string]*event.Pool), notes: make(map[string]bool)}
}

// Inputs returns the number of recordings that were added, counting the inputs of merged ones.
func (m *Merger) Inputs() int { return len(m.inputs) }

// Add adds a recording, which may be a merged one. name is its name in the list of inputs. After an error, nothing of
// it was added.
func (m *Merger) Add(ctx context.Context, name string, r *recording.Reader) error {
	switch {
	case r.Live() && !m.Running:
		return fmt.Errorf("%s: is still being recorded", name)
	case !r.Complete() && !(r.Live() && len(r.Damage()) == 0):
		return fmt.Errorf("%s: the recording is not whole: %s", name, r.Damage()[0])
	}
	sum, err := r.Tally()
	if err != nil {
		return err
	}
	inputs, timeline, err := m.read(ctx, name, r, sum)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	first := uint32(len(m.inputs))
	m.inputs = append(m.inputs, inputs...)
	m.timeline = joined(&m.timeline, &timeline)
	m.addStacks(r, sum, first)
	m.addThreads(r, sum)
	m.addPools(r)
	m.totals.Add(&sum.Totals)
	m.addProcess(r)
	return nil
}

// read reads the descriptions of the inputs.
func (m *Merger) read(ctx context.Context, name string, r *recording.Reader, sum *tally.Summary) ([]recording.Input,
	recording.Timeline, error) {
	if merged := r.Merged(); merged != nil {
		if merged.Clock != (m.align == ByClock) {
			return nil, recording.Timeline{}, fmt.Errorf("its processes were aligned by the %s; merge it "+
				"with --align %s", alignText[!merged.Clock], alignFlag[!merged.Clock])
		}
		return merged.Inputs, merged.Timeline, nil
	}
	p, err := profile.Load(ctx, r)
	if err != nil {
		return nil, recording.Timeline{}, err
	}
	t, pr, e := &sum.Totals, r.Process(), p.Ending
	in := recording.Input{File: name, PID: pr.PID, Exe: pr.Exe, Args: pr.Args, Host: pr.Host, Started: pr.Started,
		End: p.Duration, Status: e.How(), Threads: len(r.Threads()), Events: t.Events, Lost: e.Health.LostEvents,
		Allocations: t.Allocations, Bytes: t.Bytes, Deallocations: t.Deallocations, Temporary: t.Temporary,
		PeakBytes: t.Peak.Bytes, PeakBlocks: t.Peak.Blocks, PeakTime: t.Peak.Time, LeakedBytes: t.LeakedBytes(),
		LeakedBlocks: t.LeakedBlocks(), RuntimeBytes: p.Runtime.Bytes, RuntimeBlocks: p.Runtime.Blocks, PeakRSS: -1}
	if r.Live() {
		in.Status = "still running"
	}
	if s, ok := p.PeakRSS(); ok {
		in.PeakRSS = s.RSS
	}
	offset := int64(0)
	if m.align == ByClock {
		offset = max(pr.Started, 0)
	}
	timeline, err := develop(ctx, r, offset, p.Duration)
	return []recording.Input{in}, timeline, err
}

var (
	alignText = map[bool]string{false: "wall clock", true: "time since their starts"}
	alignFlag = map[bool]string{false: "clock", true: "start"}
)

// addStacks adds the sums of the stacks. first is the number of the recording's first input.
func (m *Merger) addStacks(r *recording.Reader, sum *tally.Summary, first uint32) {
	p := m.forest.adder(r)
	// Two stacks of one recording may be the same stack here. They count as one input.
	here := make(map[int32]*account)
	for i := range sum.Stacks {
		s := &sum.Stacks[i]
		at := p.stack(s.ID)
		a := here[at]
		if a == nil {
			a = &account{}
			here[at] = a
		}
		a.Add(s)
		if merged := r.Merged(); merged != nil {
			a.spread = merged.Spreads[s.ID]
			for _, e := range a.spread.All() {
				e.MinAt += first
				e.MaxAt += first
			}
		}
	}
	if n := len(m.forest.nodes); n > len(m.accounts) {
		m.accounts = append(m.accounts, make([]account, n-len(m.accounts))...)
	}
	for at, a := range here {
		if r.Merged() == nil {
			a.spread.Inputs = 1
			for k, v := range [...]uint64{a.LiveAtPeakBytes, a.Bytes, a.Allocations, a.LeakedBytes()} {
				*a.spread.All()[k] = recording.Extremes{Min: v, Max: v, MinAt: first, MaxAt: first}
			}
		}
		to := &m.accounts[at]
		to.Add(&a.Stack)
		m.spread(&to.spread, &a.spread)
	}
}

// spread updates the extremes with those of other inputs. Of inputs with the same value, the first one counts.
func (m *Merger) spread(to, from *recording.Spread) {
	if from.Inputs == 0 {
		return
	}
	if to.Inputs == 0 {
		*to = *from
		return
	}
	to.Inputs += from.Inputs
	for k, e := range from.All() {
		t := to.All()[k]
		if e.Min < t.Min || e.Min == t.Min && m.compare(e.MinAt, t.MinAt) < 0 {
			t.Min, t.MinAt = e.Min, e.MinAt
		}
		if e.Max > t.Max || e.Max == t.Max && m.compare(e.MaxAt, t.MaxAt) < 0 {
			t.Max, t.MaxAt = e.Max, e.MaxAt
		}
	}
}

func (m *Merger) compare(a, b uint32) int { return compareInputs(&m.inputs[a], &m.inputs[b]) }

// compareInputs orders inputs: those of one machine together, in the order of their starts. 0 means that they are
// equal.
func compareInputs(a, b *recording.Input) int {
	if c := cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Started, b.Started), cmp.Compare(a.PID, b.PID),
		cmp.Compare(a.File, b.File)); c != 0 {
		return c
	}
	if c := cmp.Or(cmp.Compare(a.Exe, b.Exe), slices.Compare(a.Args, b.Args), cmp.Compare(a.Status, b.Status)); c != 0 {
		return c
	}
	numbers := func(i *recording.Input) []uint64 {
		return []uint64{uint64(i.End), uint64(i.Threads), i.Events, i.Lost, i.Allocations, i.Bytes, i.Deallocations,
			i.Temporary, i.PeakBytes,
			i.PeakBlocks, uint64(i.PeakTime), i.LeakedBytes, i.LeakedBlocks, i.RuntimeBytes, i.RuntimeBlocks,
			uint64(i.PeakRSS)}
	}
	return slices.Compare(numbers(a), numbers(b))
}

// addThreads adds the threads by name.
func (m *Merger) addThreads(r *recording.Reader, sum *tally.Summary) {
	for i, t := range r.Threads() {
		to := m.threads[t.Name]
		if to == nil {
			to = &thread{Thread: event.Thread{Name: t.Name, Start: t.Start}}
			m.threads[t.Name] = to
		}
		to.Start = min(to.Start, t.Start)
		if i < len(sum.Threads) {
			to.counts.Add(&sum.Threads[i])
		}
	}
}

// addPools adds the program's own pools by name.
func (m *Merger) addPools(r *recording.Reader) {
	for _, p := range r.Pools() {
		to := m.pools[p.Name]
		if to == nil {
			to = &event.Pool{Name: p.Name}
			m.pools[p.Name] = to
		}
		to.Add(&p)
	}
}

// addProcess adds the description of the process and its end.
func (m *Merger) addProcess(r *recording.Reader) {
	p := r.Process()
	if r.Merged() == nil {
		p.PID, p.Parent = 0, 0
	}
	if len(p.Args) == 0 {
		p.Args = nil
	}
	if len(p.Env) == 0 {
		p.Env = nil
	}
	if m.process == nil {
		m.process = &p
	} else {
		c := m.process
		keepIfEqual(&c.Exe, p.Exe)
		keepIfEqual(&c.Dir, p.Dir)
		keepIfEqual(&c.Host, p.Host)
		keepIfEqual(&c.Arch, p.Arch)
		keepIfEqual(&c.Recorder, p.Recorder)
		if !slices.Equal(c.Args, p.Args) {
			c.Args = nil
		}
		if !slices.Equal(c.Env, p.Env) {
			c.Env = nil
		}
		if c.Agent != p.Agent {
			c.Agent = 0
		}
		c.Started = min(c.Started, p.Started)
	}
	e, _ := r.Ending()
	h, o := &m.health, &e.Health
	for to, n := range map[*uint64]uint64{&h.LostEvents: o.LostEvents, &h.TruncatedStacks: o.TruncatedStacks,
		&h.BadCFI: o.BadCFI, &h.GuessedFrames: o.GuessedFrames, &h.TableFull: o.TableFull, &h.NoThread: o.NoThread,
		&h.SpilledChunks: o.SpilledChunks, &h.Waits: o.Waits, &h.FullSteps: o.FullSteps,
		&h.BootAllocations: o.BootAllocations, &h.LateEvents: o.LateEvents,
		&h.StaticPrograms: o.StaticPrograms} {
		*to += n
	}
	for _, n := range o.Notes {
		m.notes[n] = true
	}
}

// keepIfEqual sets a text to "" unless the other one is equal.
func keepIfEqual(to *string, other string) {
	if *to != other {
		*to = ""
	}
}

// Note adds a sentence that a reader of the result should know.
func (m *Merger) Note(text string) { m.notes[text] = true }

// maxNotes limits the notes of the result.
const maxNotes = 100

// Write writes the result to path.
func (m *Merger) Write(path string) error {
	if len(m.inputs) == 0 {
		return fmt.Errorf("%s: there is nothing to merge", path)
	}
	s := &recording.Sums{Process: *m.process, Ending: recording.Ending{Exited: true, Health: m.health},
		Tally: &tally.Summary{Totals: m.totals}}
	s.Ending.End = m.timeline.End - m.timeline.Begin
	notes := slices.Sorted(maps.Keys(m.notes))
	s.Ending.Health.Notes = notes[:min(len(notes), maxNotes)]
	s.Merged = &recording.Merged{Clock: m.align == ByClock, Timeline: m.timeline,
		Spreads: make(map[uint32]recording.Spread)}
	s.Ending.Status = m.status()
	places := m.sortInputs(s.Merged)
	for _, name := range slices.Sorted(maps.Keys(m.threads)) {
		s.Threads = append(s.Threads, m.threads[name].Thread)
		s.Tally.Threads = append(s.Tally.Threads, m.threads[name].counts)
	}
	for _, p := range m.pools {
		s.Pools = append(s.Pools, *p)
	}
	slices.SortFunc(s.Pools, event.ComparePools)
	numbers := m.forest.fill(s)
	for at := range m.accounts {
		a := &m.accounts[at]
		if a.spread.Inputs == 0 {
			continue
		}
		a.ID = numbers[at]
		s.Tally.Stacks = append(s.Tally.Stacks, a.Stack)
		spread := a.spread
		for _, e := range spread.All() {
			e.MinAt, e.MaxAt = places[e.MinAt], places[e.MaxAt]
		}
		s.Merged.Spreads[a.ID] = spread
	}
	slices.SortFunc(s.Tally.Stacks, func(a, b tally.Stack) int { return cmp.Compare(a.ID, b.ID) })
	return recording.WriteMerged(path, s)
}

// sortInputs sorts the inputs and returns the new index of each. Equal inputs share an index.
func (m *Merger) sortInputs(out *recording.Merged) (places []uint32) {
	sorted := order(len(m.inputs), func(a, b int32) int { return m.compare(uint32(a), uint32(b)) })
	places = make([]uint32, len(m.inputs))
	for i, n := range sorted {
		out.Inputs = append(out.Inputs, m.inputs[n])
		places[n] = uint32(i)
		if i > 0 && m.compare(uint32(n), uint32(sorted[i-1])) == 0 {
			places[n] = places[sorted[i-1]]
		}
	}
	return places
}

// status says how most processes ended, of those whose end is known.
func (m *Merger) status() string {
	counts := make(map[string]int)
	for i := range m.inputs {
		if s := m.inputs[i].Status; s != "" {
			counts[s]++
		}
	}
	kinds := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	switch {
	case len(kinds) == 0:
		return ""
	case counts[kinds[0]] == len(m.inputs):
		return kinds[0]
	}
	return fmt.Sprintf("%d of %d: %s", counts[kinds[0]], len(m.inputs), kinds[0])
}
