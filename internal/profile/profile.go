package profile

import (
	"context"
	"errors"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/run"
	"github.com/heaptap/heaptap/internal/tally"
)

// Profile is the summary of a recording.
type Profile struct {
	Name     string // of the file
	Major    int    // version of its format
	Minor    int
	Size     int64 // of the file
	Process  event.Process
	Ending   recording.Ending
	Ended    bool              // false: the recording does not reach the end of the process
	Live     bool              // the process was still being recorded when the file was read
	Damage   []string          // what is missing in the file
	Folded   recording.Folded  // the events of which only sums remain
	Merged   *recording.Merged // of a merged recording; else nil
	Totals   tally.Totals
	Mapped   *tally.Mapped // what the program itself mapped; nil: nothing, or not known
	Duration int64         // ns
	Threads  []Thread
	Stacks   []Stack // by id; without those that have neither allocations nor failures
	Samples  []event.Sample
	// ResidentSets are what the resident set consisted of, each time that it was read, by time.
	ResidentSets []ResidentSet
	Marks        []event.Mark // in order of time
	Modules      []event.Module
	Leaked       Leak // by the program
	Runtime      Leak // live at the end, too, but the runtime's
	// Unmatched are the deallocations that ended no block, Totals.Unmatched in number.
	Unmatched   []Unmatched
	StackMemory []StackMemory // of the threads' own stacks, the deepest first
	// PageReadings says how often it was read which pages are in memory.
	PageReadings recording.PageSummary
	// Mismatches are allocations and deallocations that do not match.
	Mismatches []event.Pair
	Pools      []event.Pool // the program's own pools, by name
	// Counts are calls that were counted instead of recorded; nil: none.
	Counts *event.Counts
	// Variances are those of the totals, which are estimates, if ErrorsKnown; else nil.
	Variances *tally.Variances

	nodes   *recording.Table[event.Node]
	lineage lineage
	symbols symbols
	hide    func(*Frame) bool  // frames that are removed from the stacks; nil: none
	shown   map[uint32][]Frame // if frames are hidden: the visible frames of a pc
	limit   int                // on the frames of stacks that are written one by one; 0: none

	code *code // nil: it was not asked
}

// Leak is memory that was live at the end.
type Leak struct{ Bytes, Blocks uint64 }

// Add adds other memory.
func (l *Leak) Add(o Leak) {
	l.Bytes += o.Bytes
	l.Blocks += o.Blocks
}

// Thread is a thread and what it did.
type Thread struct {
	Index int
	event.Thread
	Counts tally.Thread
}

// Stack is a call stack and its sums.
type Stack struct {
	*tally.Stack // the Reader's, which nobody may change
	Leaked       Leak
	Class        Class
	Truncated    bool             // the unwinder could not reach the root
	Variances    *tally.Variances // see Profile
}

// Class says to whom a stack belongs.
type Class uint8

// The classes of stacks.
const (
	Program Class = iota
	Runtime       // a function that keeps what it allocates: see runtime.txt
)

func (c Class) String() string {
	if c == Runtime {
		return "runtime"
	}
	return "program"
}

// Load reads a recording. Of a damaged recording, the profile covers the undamaged part; Damage says what is missing.
// Where events must be read, it ends with the context.
func Load(ctx context.Context, r *recording.Reader) (*Profile, error) {
	sum, err := r.TallyContext(ctx)
	if err != nil {
		return nil, err
	}
	p := &Profile{Name: r.Name(), Size: r.Size(), Process: r.Process(), Totals: sum.Totals, Mapped: sum.Mapped,
		Samples: r.Samples(), Marks: r.Marks(), Modules: r.Modules(), nodes: r.Nodes()}
	p.Major, p.Minor = r.Version()
	p.Ending, p.Ended = r.Ending()
	p.Damage, p.Live = r.Damage(), r.Live()
	p.Folded = r.Folded()
	p.Merged = r.Merged()
	p.Duration = max(p.Ending.End, sum.Totals.LastTime)
	if n := len(p.Samples); p.Live && n > 0 {
		p.Duration = max(p.Duration, p.Samples[n-1].Time)
	}
	for i, t := range r.Threads() {
		th := Thread{Index: i, Thread: t}
		if i < len(sum.Threads) {
			th.Counts = sum.Threads[i]
		}
		p.Threads = append(p.Threads, th)
	}
	p.symbols.load(r)
	p.Counts = r.Counts()
	p.Mismatches = p.dropFalsePairs(r.Pairs())
	p.Pools = r.Pools()
	p.ResidentSets = residentSets(r.Resident())
	p.PageReadings = r.PageReadings().Summary()
	p.StackMemory = stackMemory(r.StackUse())
	n := 0
	for i := range sum.Stacks {
		if shows(&sum.Stacks[i]) {
			n++
		}
	}
	p.Stacks = make([]Stack, 0, n)
	for i := range sum.Stacks {
		s := &sum.Stacks[i]
		if !shows(s) {
			continue
		}
		st := Stack{Stack: s, Leaked: Leak{s.LeakedBytes(), s.LeakedBlocks()}}
		st.Class, st.Truncated = p.classify(s)
		if st.Class == Runtime {
			p.Runtime.Add(st.Leaked)
		}
		p.Stacks = append(p.Stacks, st)
	}
	all := Leak{sum.Totals.LeakedBytes(), sum.Totals.LeakedBlocks()}
	p.Leaked = Leak{all.Bytes - min(p.Runtime.Bytes, all.Bytes), all.Blocks - min(p.Runtime.Blocks, all.Blocks)}
	if p.Merged == nil && sum.Totals.Unmatched > 0 {
		if err := p.loadUnmatched(ctx, r); !alreadyReported(err) {
			return nil, err
		}
	}
	p.limit = frameLimit(p.nodes, p.stackIDs())
	if p.ErrorsKnown() {
		if err := p.loadVariances(ctx, r); !alreadyReported(err) {
			return nil, err
		}
	}
	return p, nil
}

// shows reports whether a stack is in the profile.
func shows(s *tally.Stack) bool { return s.Allocations > 0 || s.Failed > 0 }

// stackIDs returns the stacks that a report may show.
func (p *Profile) stackIDs() []uint32 {
	list := make([]uint32, 0, len(p.Stacks)+len(p.Unmatched)+2*len(p.Mismatches))
	for i := range p.Stacks {
		list = append(list, p.Stacks[i].ID)
	}
	for i := range p.Unmatched {
		list = append(list, p.Unmatched[i].Stack)
	}
	for i := range p.Mismatches {
		list = append(list, p.Mismatches[i].Stack, p.Mismatches[i].FreeStack)
	}
	return list
}

// alreadyReported reports whether an error is nil, or damage or folding that the profile reports anyway.
func alreadyReported(err error) bool {
	var damage *recording.DamageError
	var folded *recording.FoldedError
	return err == nil || errors.As(err, &damage) || errors.As(err, &folded)
}

// Open loads the recording at path.
func Open(path string) (*Profile, error) {
	r, err := run.OpenRecording(path)
	if err != nil {
		return nil, err
	}
	p, err := Load(context.Background(), r)
	return p, errors.Join(err, r.Close())
}

// Sampled says whether the profile's numbers are estimates: allocations were sampled, at least for a while.
func (p *Profile) Sampled() bool {
	return p.Totals.Samples > 0 || p.Process.Sampling != (event.Sampling{})
}

// OnlyCounted says whether calls were counted and nothing was recorded, so that nothing is known of single blocks.
func (p *Profile) OnlyCounted() bool { return p.Counts != nil && p.Totals.Events == 0 }

// ErrorsKnown reports whether the standard errors of estimates are known: that needs all events.
func (p *Profile) ErrorsKnown() bool { return p.Sampled() && p.Merged == nil && p.Folded.Cut == 0 }

// PeakRSS returns the largest sample of resident memory, and its time; false if there are no samples.
func (p *Profile) PeakRSS() (event.Sample, bool) {
	best, ok := event.Sample{RSS: -1}, false
	for _, s := range p.Samples {
		if s.RSS > best.RSS {
			best, ok = s, true
		}
	}
	return best, ok
}
