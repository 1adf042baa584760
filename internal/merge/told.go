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

// Told makes a recording of sums of one process, of which another tool's file tells. It is a merged recording with one
// input, which names the file's format. Modules, pcs and stacks that are the same are one.
type Told struct {
	Process event.Process
	// Input names the format and the process. What is summed up is not read.
	Input     recording.Input
	course    []Moment
	forest    *forest
	accounts  []tally.Stack // their IDs are the numbers of nodes
	accountAt []int32       // by node: places in accounts, plus 1
	threads   []event.Thread
	threadAt  map[event.Thread]int32
	functions map[string]int32 // by name: pcs of which only that is known
	did       []tally.Thread   // by thread
	limit     tally.Stack      // the sums: nothing in them may overflow
	notes     []string
	text      int   // bytes of the names of frames that were told
	err       error // there is more than is taken
}

// What is taken of a file, which may be made up: a short one tells of many call stacks, and each takes some hundred
// bytes of memory. Sums of programs with a million call stacks are no use to anybody.
const (
	maxToldPCs    = 1 << 20
	maxToldNodes  = 1 << 22
	maxToldStacks = 1 << 20
	maxToldText   = 1 << 28 // bytes of frames' names, as often as these are told
)

// Err says that there was more than is taken; nil: so far there was not.
func (t *Told) Err() error { return t.err }

// Moment is what was live at one.
type Moment struct {
	Time         int64 // ns since the process's start
	Live, Blocks uint64
}

// NewTold returns a Told without stacks. format is the file's.
func NewTold(format string) *Told {
	return &Told{Input: recording.Input{Format: format, PeakRSS: -1, Status: "end not told by " + format},
		forest: newForest(), threads: make([]event.Thread, 1), did: make([]tally.Thread, 1),
		threadAt: map[event.Thread]int32{{}: 0}, functions: make(map[string]int32)}
}

// Module returns the number of a module. Modules of one build id, or without one of one path, are the same. base is its
// lowest address in the file: 0 but for programs that are linked to lie at an address.
func (t *Told) Module(path string, buildID []byte, base uint64) int32 {
	return t.forest.module(&event.Module{Path: path, BuildID: buildID, Start: base})
}

// NoModule is the number of no module.
const NoModule = int32(-1)

// PC returns the number of an address within a module, or, without one, in the process. Frames are from the innermost
// on.
func (t *Told) PC(module int32, offset uint64, interrupted bool, frames []event.Frame) int32 {
	f := t.forest
	if len(f.pcs) >= maxToldPCs {
		t.err = fmt.Errorf("more than %d different frames", maxToldPCs)
		return 0
	}
	key := readsAs(frames)
	if t.text += len(key); t.text > maxToldText {
		t.err = fmt.Errorf("frames whose names have more than %d bytes", maxToldText)
		return 0
	}
	k := pc{module: module, offset: offset, interrupted: interrupted,
		frames: number(f.framesAt, &f.frames, key, frames)}
	return number(f.pcAt, &f.pcs, k, k)
}

// Node returns the number of the call stack that is a pc, called from another call stack; 0 is the empty one.
func (t *Told) Node(caller, at int32) int32 {
	if len(t.forest.nodes) >= maxToldNodes {
		t.err = fmt.Errorf("call stacks with more than %d different parts", maxToldNodes)
		return caller
	}
	k := node{parent: caller, pc: at}
	return number(t.forest.nodeAt, &t.forest.nodes, k, k)
}

// Root returns the number of the call stack that is one pc, whose callers are not told.
func (t *Told) Root(at int32) int32 {
	k := node{pc: at, truncated: true}
	return number(t.forest.nodeAt, &t.forest.nodes, k, k)
}

// Call is Node of one function without an address, of which only the name is known. PC does not know it.
func (t *Told) Call(caller int32, function string) int32 {
	at, ok := t.functions[function]
	if !ok {
		f := t.forest
		if len(f.pcs) >= maxToldPCs {
			t.err = fmt.Errorf("more than %d different frames", maxToldPCs)
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

// Thread returns the number of a thread. Number 0 is one of which nothing is known.
func (t *Told) Thread(thread event.Thread) int {
	i := number(t.threadAt, &t.threads, thread, thread)
	if int(i) == len(t.did) {
		t.did = append(t.did, tally.Thread{})
	}
	return int(i)
}

// Add adds what a call stack, by its number, sums up to; 0 is the unknown one. What the peak is not told, is to be
// taken for what is leaked: no less can have been live.
func (t *Told) Add(stack int32, s *tally.Stack) error { return t.AddOf(0, stack, s) }

// AddOf is Add of what one thread allocated. What was freed of that is counted as if it had done that, too: nobody
// tells who did.
func (t *Told) AddOf(thread int, stack int32, s *tally.Stack) error {
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
			return errors.New("the numbers add up to more than 63 bits hold")
		}
	}
	s.Untimed = s.Deallocations
	l.Add(s)
	if n := int(stack) + 1; n > len(t.accountAt) {
		t.accountAt = append(t.accountAt, make([]int32, n-len(t.accountAt))...)
	}
	i := t.accountAt[stack]
	if i == 0 {
		if len(t.accounts) >= maxToldStacks {
			t.err = fmt.Errorf("more than %d different call stacks", maxToldStacks)
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

// At adds a moment of the process's course. Moments come in order.
func (t *Told) At(m Moment) { t.course = append(t.course, m) }

// Note adds a sentence about what a reader of the recording should know.
func (t *Told) Note(text string) {
	if !slices.Contains(t.notes, text) && len(t.notes) < maxNotes {
		t.notes = append(t.notes, text)
	}
}

// Write writes the recording to path. What is live at the peak and by itself at most is raised to what is leaked, where
// it was not told or is less.
func (t *Told) Write(path string) error {
	if t.err != nil {
		return t.err
	}
	numbered := &recording.Sums{Process: t.Process, Tally: &tally.Summary{Stacks: t.accounts}}
	numbers := t.forest.harvest(numbered)
	// A file may tell of a million stacks: what has become of them is what is kept.
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
	if len(t.threads) > 1 && t.did[0] == (tally.Thread{}) { // all is told of threads
		numbered.Threads, numbered.Tally.Threads = t.threads[1:], t.did[1:]
	}
	m.Timeline = course(t.course, sum)
	in := &t.Input
	in.Threads = len(numbered.Threads)
	in.PID, in.Exe, in.Args, in.Host, in.Started = t.Process.PID, t.Process.Exe, t.Process.Args, t.Process.Host, t.Process.Started
	in.End = max(in.End, m.Timeline.End)
	in.Events, in.Allocations, in.Bytes, in.Deallocations, in.Temporary = sum.Events, sum.Allocations, sum.Bytes, sum.Deallocations, sum.Temporary
	in.PeakBytes, in.PeakBlocks = sum.Peak.Bytes, sum.Peak.Blocks
	in.LeakedBytes, in.LeakedBlocks = sum.LiveBytes, sum.LiveBlocks
	m.Inputs = []recording.Input{*in}
	numbered.Merged = m
	numbered.Ending = recording.Ending{End: in.End, Status: in.Status, Health: event.Health{Notes: t.notes}}
	return recording.WriteMerged(path, numbered)
}

// course is the timeline of one process of which is known what was live at some moments; of none: that all of it
// happened at its beginning. When allocations were made is not known.
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
	last.Live, last.Blocks = 0, 0 // it ends within
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
