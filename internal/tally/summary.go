package tally

import (
	"math/big"
	"math/bits"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// Counts holds what is counted both for the process and for each call stack. A deallocation counts at the call stack of
// the allocation that it ends.
type Counts struct {
	Allocations    uint64
	Bytes          uint64 // requested by them
	Deallocations  uint64
	FreedBytes     uint64
	Failed         uint64 // calls that returned null although bytes were requested
	Temporary      uint64 // allocations that were temporary
	TemporaryBytes uint64
	Reallocations  uint64 // allocations by a realloc of a live block
	InPlace        uint64 // those at the same address
	ZeroSize       uint64 // allocations of 0 bytes
	MinSize        uint64 // smallest and largest request; 0 if there is no allocation
	MaxSize        uint64
	Slack          uint64 // sum of usable minus requested bytes
	SlackCount     uint64 // allocations whose usable size is known
	Lifetime       Sum    // of the freed blocks, ns: Deallocations minus Untimed of them
	Untimed        uint64 // imported Deallocations without a lifetime
}

// Sum is a 128-bit sum of nanoseconds: a billion blocks that live for an hour exceed 64 bits.
type Sum struct {
	Hi, Lo uint64
}

// Add adds a time n times.
func (s *Sum) Add(v, n uint64) {
	hi, lo := bits.Mul64(v, n)
	var carry uint64
	s.Lo, carry = bits.Add64(s.Lo, lo, 0)
	s.Hi += hi + carry
}

// Mean returns the sum divided by n, rounded down; 0 if n is 0.
func (s Sum) Mean(n uint64) int64 {
	if n == 0 {
		return 0
	}
	if s.Hi >= n { // only a forged recording has a mean of centuries
		return 1<<63 - 1
	}
	q, _ := bits.Div64(s.Hi, s.Lo, n)
	return int64(min(q, 1<<63-1))
}

// String returns the sum in decimal.
func (s Sum) String() string {
	b := new(big.Int).SetUint64(s.Hi)
	return b.Lsh(b, 64).Add(b, new(big.Int).SetUint64(s.Lo)).String()
}

// LeakedBytes returns the requested bytes that are live at the end: allocated minus freed.
func (c *Counts) LeakedBytes() uint64 { return c.Bytes - c.FreedBytes }

// LeakedBlocks returns the number of blocks that are live at the end.
func (c *Counts) LeakedBlocks() uint64 { return c.Allocations - c.Deallocations }

// MeanLifetime returns the mean lifetime of the blocks that were freed, in ns.
func (c *Counts) MeanLifetime() int64 {
	return c.Lifetime.Mean(c.Deallocations - min(c.Untimed, c.Deallocations))
}

// Totals holds the sums of the process.
type Totals struct {
	Counts
	Events     uint64 // all events, of any kind
	LastTime   int64  // time of the last event, ns since the recording's start
	Unmatched  uint64 // deallocations of addresses that were not live
	Inherited  uint64 // deallocations of blocks from before the fork
	Unrecorded uint64 // deallocations that ended nothing, if not every allocation was recorded
	Samples    uint64 // recorded allocations that were sampled and stand for others
	Unseen     uint64 // Deallocations that were not recorded: the address was allocated again
	Late       uint64 // events whose time was corrected
	LiveBytes  uint64 // at the latest event
	LiveBlocks uint64
	Peak       Peak
	Maps       Maps
	Funcs      [event.FuncCount]uint64 // calls by function; [0]: unknown functions and Unseen
}

// Peak is the first moment with the most live requested bytes.
type Peak struct {
	Bytes  uint64
	Blocks uint64 // live at that moment
	Time   int64
	Event  uint64 // number of the event that reached it, counting all events from 1; 0: nothing was ever live
}

// Maps counts the program's own mapping changes. They are not allocations.
type Maps struct {
	Mmap          Calls // bytes mapped
	Munmap        Calls // bytes unmapped that the program itself had mapped
	Mremap        Calls // bytes of the new mappings
	RemappedBytes uint64
	Brk           Calls // bytes by which the break was raised
	BrkReturned   uint64
}

// Calls counts the calls of one function; Bytes are those of the calls that did not fail.
type Calls struct {
	Calls, Failed, Bytes uint64
}

func (c *Calls) add(bytes uint64, failed bool) {
	c.Calls++
	if failed {
		c.Failed++
		return
	}
	c.Bytes += bytes
}

// Stack holds the sums of one call stack.
type Stack struct {
	ID uint32 // stack id, 0: unknown
	Counts
	OwnPeakBytes     uint64 // largest number of live bytes of this stack, at any time
	LiveAtPeakBytes  uint64 // live when the process was at its peak
	LiveAtPeakBlocks uint64
}

// Thread holds the sums of one thread.
type Thread struct {
	Allocations   uint64
	Bytes         uint64
	Deallocations uint64 // by this thread, whoever allocated
	FreedBytes    uint64
	Foreign       uint64 // Deallocations of blocks that another thread had allocated
	Temporary     uint64
	Failed        uint64
	Unmatched     uint64
	Inherited     uint64
	Unrecorded    uint64
}

// Summary is a finished tally. Stacks are in the order of their ids, without those that no event refers to. Threads
// have the indexes of the recording's threads, up to the last one that did something.
type Summary struct {
	Totals  Totals
	Stacks  []Stack
	Threads []Thread
	Mapped  *Mapped // nil: nothing was mapped, or an older heaptap made the recording
	Spread  *Spread // nil: not counted, as in what was imported or merged, or an older heaptap made the recording
}

// Totals returns the sums of the process so far.
func (t *Tally) Totals() Totals {
	all := t.totals
	all.Events = t.events
	return all
}

// Stack returns the sums of a stack so far.
func (t *Tally) Stack(id uint32) Stack {
	if int(id) < len(t.index) && t.index[id] != 0 {
		return t.finish(t.at(t.index[id]))
	}
	if id == 0 {
		return t.finish(t.at(0))
	}
	return Stack{ID: id}
}

func (t *Tally) finish(a *account) Stack {
	s := a.Stack
	at := a.live
	if a.last > t.totals.Peak.Event {
		at = a.saved
	}
	s.LiveAtPeakBytes, s.LiveAtPeakBlocks = at.bytes, at.blocks
	return s
}

// Threads returns the sums of the threads so far.
func (t *Tally) Threads() []Thread { return slices.Clone(t.threads) }

// Summary returns all sums so far.
func (t *Tally) Summary() *Summary {
	s := &Summary{Totals: t.Totals(), Threads: t.Threads(), Mapped: t.mapper.summary(),
		Spread: t.spread()}
	s.Stacks = make([]Stack, 0, t.count)
	if st := t.finish(t.at(0)); st.Allocations > 0 || st.Failed > 0 {
		s.Stacks = append(s.Stacks, st)
	}
	for _, i := range t.index {
		if i != 0 {
			s.Stacks = append(s.Stacks, t.finish(t.at(i)))
		}
	}
	if len(s.Stacks) == 0 {
		s.Stacks = nil
	}
	return s
}

// Stack returns the sums of a stack.
func (s *Summary) Stack(id uint32) Stack {
	i, ok := slices.BinarySearchFunc(s.Stacks, id, func(a Stack, id uint32) int { return int(int64(a.ID) - int64(id)) })
	if !ok {
		return Stack{ID: id}
	}
	return s.Stacks[i]
}
