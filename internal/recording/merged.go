package recording

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/heaptap/heaptap/internal/recording/column"
)

// Merged is what a merged recording says of its inputs, the recordings that were merged. It has no events: its
// statistics are the sums of theirs.
type Merged struct {
	// Clock says that the times of the processes are those of the wall clock; else each is since the process's start.
	Clock    bool
	Inputs   []Input  // in an order that does not depend on how they were merged
	Timeline Timeline // of all processes together
	Spreads  map[uint32]Spread
}

// Input is one of the recordings that were merged: one process.
type Input struct {
	File    string // as it was named
	PID     int
	Exe     string
	Args    []string
	Host    string
	Started int64 // wall clock, ns since 1970
	End     int64 // ns since Started
	Status  string
	Threads int

	Events, Lost              uint64
	Allocations, Bytes        uint64
	Deallocations             uint64
	Temporary                 uint64
	PeakBytes, PeakBlocks     uint64
	PeakTime                  int64  // ns since Started
	LeakedBytes, LeakedBlocks uint64 // live at the end, the runtime's included
	// Of what is leaked, the runtime's part.
	RuntimeBytes, RuntimeBlocks uint64
	PeakRSS                     int64 // -1: not known
	// Format is that of another tool's file, of which the sums were taken; "" for a recording of heaptap's.
	Format string `json:",omitempty"`
}

// Timeline is what all processes together had live over time. Times are since each process's start, or of the wall
// clock since 1970, in ns. On each of several levels, time is divided into steps of equal length, Quantum << Shift ns:
// a step is two steps of the level below.
type Timeline struct {
	Begin, End int64  // of the first and the last process
	EndLive    uint64 // what the processes that end at End have live then
	EndBlocks  uint64
	// Vague is the number of inputs whose events were folded: of these, only sums over longer times are known.
	Vague  int
	Levels []TimelineLevel // the finest first; the last has one step
}

// TimelineLevel is one division into steps.
type TimelineLevel struct {
	Shift int   // the steps have Quantum << Shift ns
	First int64 // number of the first step; step n begins at n times its length
	Steps []TimelineStep
}

// TimelineStep is one step, summed up over all processes.
type TimelineStep struct {
	Live, Blocks uint64 // at its end, of the processes that end later
	// Top adds up, for each process, the most bytes that it had live at any moment of the step. At no moment did all of
	// them together have more.
	Top                uint64
	Allocations, Bytes uint64
	Deallocations      uint64
}

// Add adds the same step of another process.
func (s *TimelineStep) Add(o *TimelineStep) {
	s.Live += o.Live
	s.Blocks += o.Blocks
	s.Top += o.Top
	s.Allocations += o.Allocations
	s.Bytes += o.Bytes
	s.Deallocations += o.Deallocations
}

// Spread says how a call stack differs between the inputs that have it.
type Spread struct {
	Inputs                           uint64 // that have the stack
	Peak, Bytes, Allocations, Leaked Extremes
}

// Extremes are the least and the most that an input has, and which one.
type Extremes struct {
	Min, Max     uint64
	MinAt, MaxAt uint32 // index into Inputs
}

// All returns the extremes of a spread's numbers in the order of the format.
func (s *Spread) All() [4]*Extremes {
	return [4]*Extremes{&s.Peak, &s.Bytes, &s.Allocations, &s.Leaked}
}

// Peak returns bounds of the most bytes that all processes together had live at one moment.
func (m *Merged) Peak() (atLeast, atMost uint64) {
	sum := uint64(0)
	for i := range m.Inputs {
		atLeast = max(atLeast, m.Inputs[i].PeakBytes)
		sum += m.Inputs[i].PeakBytes
	}
	atLeast = max(atLeast, m.Timeline.EndLive)
	if len(m.Timeline.Levels) > 0 {
		for _, s := range m.Timeline.Levels[0].Steps {
			atMost = max(atMost, s.Top)
			if m.Timeline.Vague == 0 {
				atLeast = max(atLeast, s.Live)
			}
		}
	}
	return atLeast, min(atMost, sum)
}

// Imported is the format of the other tool's file from which the recording was made; "" if there is no such file, or
// more than one.
func (m *Merged) Imported() string {
	if m == nil || len(m.Inputs) != 1 {
		return ""
	}
	return m.Inputs[0].Format
}

// MergedError says that a question needs events, of which a merged recording has none.
type MergedError struct {
	Name   string
	Inputs int
	Format string // of the one file that the recording was imported from, or ""
}

// NewMergedError returns the error for a recording with that name.
func NewMergedError(name string, m *Merged) *MergedError {
	return &MergedError{name, len(m.Inputs), m.Imported()}
}

func (e *MergedError) Error() string {
	if e.Format != "" {
		return fmt.Sprintf("%s: this needs events, and a file of the format %s tells sums only", e.Name, e.Format)
	}
	return fmt.Sprintf("%s: this needs events, and here are only the sums of %d recordings: ask these", e.Name,
		e.Inputs)
}

// Merged describes the recordings that were merged into this one; nil if this is of one process.
func (r *Reader) Merged() *Merged { return r.merged }

// NeedEvents returns a *MergedError if the recording has sums in place of events.
func (r *Reader) NeedEvents() error {
	if r.merged == nil {
		return nil
	}
	return NewMergedError(r.name, r.merged)
}

// loadMerged reads one of the blocks that only a merged recording has.
func (r *Reader) loadMerged(typ blockType, s *column.Set) error {
	if r.merged == nil {
		return errors.New("not a merged recording")
	}
	switch typ {
	case blockSpreads:
		return r.merged.loadSpreads(s)
	case blockInputs:
		var err error
		r.merged.Inputs, err = decodeInputs(s, r.merged.Inputs)
		return err
	}
	b, err := s.Unpack(colJSON, nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, &r.merged.Timeline); err != nil {
		return err
	}
	r.merged.Clock = s.Head.Uint() != 0
	return r.merged.Timeline.check()
}

// StepOf is the number of the step of Quantum << shift ns in which a moment lies.
func StepOf(t int64, shift int) int64 { return t / Quantum >> shift }

// check returns an error if the timeline's parts contradict each other, and then makes it empty.
func (t *Timeline) check() error {
	good := t.Begin >= 0 && t.Begin <= t.End && len(t.Levels) > 0
	for i := range t.Levels {
		l := &t.Levels[i]
		good = good && l.Shift >= 0 && l.Shift < 64 && (i == 0 || l.Shift == t.Levels[i-1].Shift+1) &&
			l.First == StepOf(t.Begin, l.Shift) && int64(len(l.Steps)) == StepOf(t.End, l.Shift)-l.First+1
	}
	if !good || len(t.Levels[len(t.Levels)-1].Steps) != 1 {
		*t = Timeline{}
		return errors.New("its levels contradict each other")
	}
	return nil
}

func (m *Merged) loadSpreads(s *column.Set) error {
	list, err := spreadTable.Decode(s, nil)
	for i := range list {
		x := &list[i]
		for _, e := range x.v.All() {
			if int(max(e.MinAt, e.MaxAt)) >= len(m.Inputs) {
				return column.ErrTable
			}
		}
		m.Spreads[x.id] = x.v
	}
	return err
}
