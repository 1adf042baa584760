package merge

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/tally"
)

// Imported builds a recording of sums from another tool's file about one process. The result is a merged recording with
// one input, which names the file's format. Equal modules, PCs and stacks are merged.
type Imported struct {
	Process event.Process
	// Input names the format and the process. Its sums are ignored.
	Input     recording.Input
	course    []Moment
	forest    *forest
	accounts  []tally.Stack // their IDs are numbers of nodes
	accountAt []int32       // by node: index in accounts plus 1
	threads   []event.Thread
	threadAt  map[event.Thread]int32
	functions map[string]int32 // PCs of which only the name is known
	did       []tally.Thread   // by thread
	limit     tally.Stack      // the sums so far: none may overflow
	notes     []string
	text      int   // bytes of all names of frames in the file
	err       error // a limit was exceeded
}

// Limits on imports, since a file may be forged: a short file can describe many call stacks, and each takes some
// hundred bytes of memory. Nobody can use the sums of a million call stacks.
const (
	maxImportedPCs    = 1 << 20
	maxImportedNodes  = 1 << 22
	maxImportedStacks = 1 << 20
	maxImportedText   = 1 << 28 // bytes of the names of frames, repetitions included
)

// Err returns an error if a limit was exceeded so far.
func (t *Imported) Err() error { return t.err }

// Moment is the live memory at one moment.
type Moment struct {
	Time         int64 // ns since the process's start
	Live, Blocks uint64
}

// NewImported returns an Imported without stacks. format is the file's format.
func NewImported(format string) *Imported {
	return &Imported{Input: recording.Input{Format: format, PeakRSS: -1, Status: "end unknown in " + format},
		forest: newForest(), threads: make([]event.Thread, 1), did: make([]tally.Thread, 1),
		threadAt: map[event.Thread]int32{{}: 0}, functions: make(map[string]int32)}
}

// Module returns the number of a module. Modules with the same build id (without one: the same path) are the same. base
// is the lowest address in the file: 0 except for programs that are linked to a fixed address.
func (t *Imported) Module(path string, buildID []byte, base uint64) int32 {
	return t.forest.module(&event.Module{Path: path, BuildID: buildID, Start: base})
}

// NoModule is the number of a PC's module if it has none.
const NoModule = int32(-1)

// PC returns the number of an address within a module, or, without one, in the process. Frames begin with the innermost
// one.
func (t *Imported) PC(module int32, offset uint64, interrupted bool, frames []event.Frame) int32 {
	f := t.forest
	if len(f.pcs) >= maxImportedPCs {
		t.err = fmt.Errorf("more than %d different frames", maxImportedPCs)
		return 0
	}
	key := readsAs(frames)
	if t.text += len(key); t.text > maxImportedText {
		t.err = fmt.Errorf("frames whose names have more than %d bytes", maxImportedText)
		return 0
	}
	k := pc{module: module, offset: offset, interrupted: interrupted,
		frames: number(f.framesAt, &f.frames, key, frames)}
	return number(f.pcAt, &f.pcs, k, k)
}

// Node returns the number of the call stack that consists of a PC and its caller's call stack; 0 is the empty call
// stack.
func (t *Imported) Node(caller, at int32) int32 {
	if len(t.forest.nodes) >= maxImportedNodes {
		t.err = fmt.Errorf("call stacks with more than %d different parts", maxImportedNodes)
		return caller
	}
	k := node{parent: caller, pc: at}
	return number(t.forest.nodeAt, &t.forest.nodes, k, k)
}

// Root returns the number of the call stack of one PC whose callers are unknown.
func (t *Imported) Root(at int32) int32 {
	k := node{pc: at, truncated: true}
	return number(t.forest.nodeAt, &t.forest.nodes, k, k)
}

// Call is Node for a function of which only the name is known. PC does not know it.
func (t *Imported) Call(caller int32, function string) int32 {
	at, ok := t.functions[function]
	if !ok {
		f := t.forest
		if len(f.pcs) >= maxImportedPCs {
			t.err = fmt.Errorf("more than %d different frames", maxImportedPCs)
			return caller
		}
		function = strings.Clone(function)
		at = int32(len(f.pcs))
		f.pcs = append(f.pcs, pc{module: NoModule, frames: int32(len(f.frames))})
		f.frames = append(f.frames, []event.Frame{{Function: function}})
		t.functions[function] = at
	}
	return t.Node(caller, at)
}

// Thread returns the number of a thread. Number 0 is an unknown thread.
func (t *Imported) Thread(thread event.Thread) int {
	i := number(t.threadAt, &t.threads, thread, thread)
	if int(i) == len(t.did) {
		t.did = append(t.did, tally.Thread{})
	}
	return int(i)
}

// Add adds the sums of a call stack, by its number; 0 is the unknown call stack.
func (t *Imported) Add(stack int32, s *tally.Stack) error { return t.AddOf(0, stack, s) }

// AddOf adds what one thread allocated. Its deallocations are counted for the same thread, since files do not say which
// thread freed a block.
func (t *Imported) AddOf(thread int, stack int32, s *tally.Stack) error {
	if t.err != nil {
		return t.err
	}
	if s.Deallocations > s.Allocations || s.FreedBytes > s.Bytes {
		return fmt.Errorf("more is freed than allocated: %d of %d bytes, %d of %d blocks", s.FreedBytes, s.Bytes,
			s.Deallocations, s.Allocations)
	}
	if s.LiveAtPeakBytes > s.Bytes || s.LiveAtPeakBlocks > s.Allocations {
		return fmt.Errorf("more is live at the peak than was allocated: %d of %d bytes, %d of %d blocks",
			s.LiveAtPeakBytes, s.Bytes, s.LiveAtPeakBlocks, s.Allocations)
	}
	l := &t.limit
	for _, n := range [][2]uint64{{l.Bytes, s.Bytes}, {l.Allocations, s.Allocations}, {l.OwnPeakBytes, s.OwnPeakBytes},
		{l.Temporary, s.Temporary}, {l.TemporaryBytes, s.TemporaryBytes}, {l.Lifetime.Hi, s.Lifetime.Hi}} {
		if n[0]+n[1] < n[0] || n[0]+n[1] > math.MaxInt64 {
			return errors.New("the numbers add up to more than 63 bits")
		}
	}
	s.Untimed = s.Deallocations
	l.Add(s)
	if n := int(stack) + 1; n > len(t.accountAt) {
		t.accountAt = append(t.accountAt, make([]int32, n-len(t.accountAt))...)
	}
	i := t.accountAt[stack]
	if i == 0 {
		if len(t.accounts) >= maxImportedStacks {
			t.err = fmt.Errorf("more than %d different call stacks", maxImportedStacks)
			return t.err
		}
		t.accounts = append(t.accounts, tally.Stack{ID: uint32(stack)})
		i = int32(len(t.accounts))
		t.accountAt[stack] = i
	}
	t.accounts[i-1].Add(s)
	t.did[thread].Add(&tally.Thread{Allocations: s.Allocations, Bytes: s.Bytes, Deallocations: s.Deallocations,
		FreedBytes: s.FreedBytes,
		Temporary:  s.Temporary})
	return nil
}

// At adds a moment of the timeline. Moments come in order.
func (t *Imported) At(m Moment) { t.course = append(t.course, m) }

// Note adds a sentence that a reader of the recording should know.
func (t *Imported) Note(text string) {
	if !slices.Contains(t.notes, text) && len(t.notes) < maxNotes {
		t.notes = append(t.notes, text)
	}
}

// Write writes the recording to path. Live at peak and own peaks that are missing, or smaller than what is leaked, are
// raised to what is leaked.
func (t *Imported) Write(path string) error {
	if t.err != nil {
		return t.err
	}
	numbered := &recording.Sums{Process: t.Process, Tally: &tally.Summary{Stacks: t.accounts}}
	numbers := t.forest.fill(numbered)
	// A file may have a million stacks: only their sums are still needed.
	t.forest, t.functions, t.accountAt = nil, nil, nil
	sum := &numbered.Tally.Totals
	m := &recording.Merged{Spreads: make(map[uint32]recording.Spread, len(t.accounts))}
	for i := range t.accounts {
		a := &t.accounts[i]
		a.ID = numbers[a.ID]
		a.OwnPeakBytes = max(a.OwnPeakBytes, a.LeakedBytes(), a.LiveAtPeakBytes)
		sum.Counts.Add(&a.Counts)
		sum.Peak.Bytes += a.LiveAtPeakBytes
		sum.Peak.Blocks += a.LiveAtPeakBlocks
		spread := recording.Spread{Inputs: 1}
		for k, v := range [...]uint64{a.LiveAtPeakBytes, a.Bytes, a.Allocations, a.LeakedBytes()} {
			*spread.All()[k] = recording.Extremes{Min: v, Max: v}
		}
		m.Spreads[a.ID] = spread
	}
	slices.SortFunc(numbered.Tally.Stacks, func(a, b tally.Stack) int { return cmp.Compare(a.ID, b.ID) })
	sum.LiveBytes, sum.LiveBlocks = sum.LeakedBytes(), sum.LeakedBlocks()
	if sum.Peak.Bytes < sum.LiveBytes {
		return fmt.Errorf("the peak of %d bytes is less than the %d bytes that are live at the end", sum.Peak.Bytes,
			sum.LiveBytes)
	}
	sum.Events = sum.Allocations + sum.Deallocations
	numbered.Threads, numbered.Tally.Threads = t.threads, t.did
	if len(t.threads) > 1 && t.did[0] == (tally.Thread{}) { // every sum has a known thread
		numbered.Threads, numbered.Tally.Threads = t.threads[1:], t.did[1:]
	}
	m.Timeline = course(t.course, sum)
	in := &t.Input
	in.Threads = len(numbered.Threads)
	in.PID, in.Exe, in.Args = t.Process.PID, t.Process.Exe, t.Process.Args
	in.Host, in.Started = t.Process.Host, t.Process.Started
	in.End = max(in.End, m.Timeline.End)
	in.Events, in.Allocations, in.Bytes = sum.Events, sum.Allocations, sum.Bytes
	in.Deallocations, in.Temporary = sum.Deallocations, sum.Temporary
	in.PeakBytes, in.PeakBlocks = sum.Peak.Bytes, sum.Peak.Blocks
	in.LeakedBytes, in.LeakedBlocks = sum.LiveBytes, sum.LiveBlocks
	m.Inputs = []recording.Input{*in}
	numbered.Merged = m
	numbered.Ending = recording.Ending{End: in.End, Status: in.Status, Health: event.Health{Notes: t.notes}}
	return recording.WriteMerged(path, numbered)
}

// course returns the timeline of a process whose live memory is known at some moments. Without any, everything happens
// at the beginning. The times of allocations are not known.
func course(moments []Moment, sum *tally.Totals) recording.Timeline {
	t := recording.Timeline{Vague: 1, EndLive: sum.LiveBytes, EndBlocks: sum.LiveBlocks}
	if n := len(moments); n > 0 {
		t.End = max(moments[n-1].Time, 0)
	}
	shift := finest(0, t.End)
	l := recording.TimelineLevel{Shift: shift, Steps: make([]recording.TimelineStep, recording.StepOf(t.End, shift)+1)}
	b := builder{level: &l}
	for _, m := range moments {
		s := b.step(m.Time)
		b.live, b.blocks = m.Live, m.Blocks
		s.Top = max(s.Top, m.Live)
	}
	b.upTo(len(l.Steps) - 1)
	first, last := &l.Steps[0], &l.Steps[len(l.Steps)-1]
	last.Live, last.Blocks = 0, 0 // the process ends within the step
	first.Allocations, first.Bytes, first.Deallocations = sum.Allocations, sum.Bytes, sum.Deallocations
	if len(moments) == 0 {
		first.Top = sum.Peak.Bytes
	}
	t.Levels = []recording.TimelineLevel{l}
	for n := len(l.Steps); n > 1; n = len(t.Levels[len(t.Levels)-1].Steps) {
		t.Levels = append(t.Levels, coarser(&t.Levels[len(t.Levels)-1]))
	}
	return t
}
