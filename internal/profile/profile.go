package profile

import (
	"errors"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/tally"
)

// Profile is what a recording says in sum.
type Profile struct {
	Name     string // of the file
	Major    int    // version of its format
	Minor    int
	Size     int64 // of the file
	Process  event.Process
	Ending   recording.Ending
	Ended    bool              // false: the recording does not reach the end of the process
	Damage   []string          // what is missing of the file
	Folded   recording.Folded  // what is only known in sum
	Merged   *recording.Merged // of a merged recording; else nil
	Totals   tally.Totals
	Duration int64 // ns
	Threads  []Thread
	Stacks   []Stack // by id; those without allocations and failures are left out
	Samples  []event.Sample
	Modules  []event.Module
	Leaked   Leak
	Runtime  Leak // of what is leaked, the runtime's part
	// Unmatched are the deallocations that ended no block: there are Totals.Unmatched of them.
	Unmatched []Unmatched

	nodes   *recording.Table[event.Node]
	symbols symbols
	hide    func(*Frame) bool // frames that are taken out of the stacks; nil: none
}

// Leak is memory that was live at the end.
type Leak struct{ Bytes, Blocks uint64 }

func (l *Leak) add(o Leak) {
	l.Bytes += o.Bytes
	l.Blocks += o.Blocks
}

// Thread is a thread and what it did.
type Thread struct {
	Index int
	event.Thread
	Counts tally.Thread
}

// Stack is a call stack and what it sums up to.
type Stack struct {
	tally.Stack
	Leaked    Leak
	Class     Class
	Truncated bool // the unwinder could not reach the root
}

// Class says whose a stack is.
type Class uint8

// The classes of stacks.
const (
	Program Class = iota
	Runtime       // of the loader or a language's runtime, for itself
)

func (c Class) String() string {
	if c == Runtime {
		return "runtime"
	}
	return "program"
}

// Load reads a recording. A recording that is damaged gives a profile of what is whole; Damage tells what is missing.
func Load(r *recording.Reader) (*Profile, error) {
	sum, err := r.Tally()
	if err != nil {
		return nil, err
	}
	p := &Profile{Name: r.Name(), Size: r.Size(), Process: r.Process(), Totals: sum.Totals, Samples: r.Samples(),
		Modules: r.Modules(), nodes: r.Nodes()}
	p.Major, p.Minor = r.Version()
	p.Ending, p.Ended = r.Ending()
	p.Leaked = Leak{sum.Totals.LeakedBytes(), sum.Totals.LeakedBlocks()}
	p.Damage = r.Damage()
	p.Folded = r.Folded()
	p.Merged = r.Merged()
	p.Duration = max(p.Ending.End, sum.Totals.LastTime)
	for i, t := range r.Threads() {
		th := Thread{Index: i, Thread: t}
		if i < len(sum.Threads) {
			th.Counts = sum.Threads[i]
		}
		p.Threads = append(p.Threads, th)
	}
	p.symbols.load(r)
	for _, s := range sum.Stacks {
		if s.Allocations == 0 && s.Failed == 0 {
			continue
		}
		st := Stack{Stack: s, Leaked: Leak{s.LeakedBytes(), s.LeakedBlocks()}}
		st.Class, st.Truncated = p.classify(&s)
		if st.Class == Runtime {
			p.Runtime.add(st.Leaked)
		}
		p.Stacks = append(p.Stacks, st)
	}
	if p.Merged != nil {
		// Whose a block is, is known of each process.
		p.Runtime = Leak{}
		for i := range p.Merged.Inputs {
			p.Runtime.add(Leak{p.Merged.Inputs[i].RuntimeBytes, p.Merged.Inputs[i].RuntimeBlocks})
		}
	} else if sum.Totals.Unmatched > 0 {
		var damage *recording.DamageError // of which the recording has told already
		var folded *recording.FoldedError
		if err := p.loadUnmatched(r); err != nil && !errors.As(err, &damage) && !errors.As(err, &folded) {
			return nil, err
		}
	}
	return p, nil
}

// Open loads the recording at path.
func Open(path string) (*Profile, error) {
	r, err := recording.Open(path)
	if err != nil {
		return nil, err
	}
	p, err := Load(r)
	return p, errors.Join(err, r.Close())
}

// PeakRSS returns the largest resident set that was sampled and when; false if none was.
func (p *Profile) PeakRSS() (event.Sample, bool) {
	best, ok := event.Sample{RSS: -1}, false
	for _, s := range p.Samples {
		if s.RSS > best.RSS {
			best, ok = s, true
		}
	}
	return best, ok
}
