package tally_test

import (
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/tally"
)

const (
	stackS = 1
	stackT = 2
)

func malloc(time int64, thread uint32, addr, size uint64, stack uint32) *ledger.Op {
	return &ledger.Op{Time: time, Kind: ledger.OpAlloc, Func: event.Malloc, Thread: thread, Stream: thread, Addr: addr,
		Size: size, Stack: stack}
}

func free(time int64, thread uint32, addr uint64) *ledger.Op {
	return &ledger.Op{Time: time, Kind: ledger.OpFree, Func: event.FreeFunc, Thread: thread, Stream: thread, Addr: addr}
}

func begin(time int64, addr uint64) *ledger.Op {
	return &ledger.Op{Time: time, Kind: ledger.OpReallocBegin, Func: event.ReallocFunc, Addr: addr}
}

func result(time int64, addr, size uint64) *ledger.Op {
	return &ledger.Op{Time: time, Kind: ledger.OpReallocResult, Func: event.ReallocFunc, Addr: addr, Size: size,
		Stack: stackT}
}

func sumUp(forked bool, ops ...*ledger.Op) *tally.Summary {
	s, t := settler{l: ledger.New(forked)}, tally.New()
	for _, op := range ops {
		s.ops = append(s.ops, *op)
	}
	s.settle()
	s.finish()
	for i := range s.got {
		t.Add(&s.got[i])
	}
	return t.Summary()
}

func same[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// TestDefinitions runs the examples of docs/definitions.md.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	const a, b = 0, 1 // threads
	const p, q, r, s, x = 0x10, 0x20, 0x30, 0x40, 0x50
	t.Run("peak", func(t *testing.T) {
		sum := sumUp(false, malloc(1, a, p, 100, stackS), malloc(2, a, q, 50, stackT), free(3, a, p),
			malloc(4, a, r, 80, stackT), free(5, a, q), malloc(6, a, s, 70, stackT))
		same(t, "peak", sum.Totals.Peak, tally.Peak{Bytes: 150, Blocks: 2, Time: 2, Event: 2})
		S, T := sum.Stack(stackS), sum.Stack(stackT)
		same(t, "S live at peak", [2]uint64{S.LiveAtPeakBytes, S.LiveAtPeakBlocks}, [2]uint64{100, 1})
		same(t, "T live at peak", [2]uint64{T.LiveAtPeakBytes, T.LiveAtPeakBlocks}, [2]uint64{50, 1})
		same(t, "own peaks", [2]uint64{S.OwnPeakBytes, T.OwnPeakBytes}, [2]uint64{100, 150})
		same(t, "S leaked", [2]uint64{S.LeakedBytes(), S.LeakedBlocks()}, [2]uint64{0, 0})
		same(t, "T leaked", [2]uint64{T.LeakedBytes(), T.LeakedBlocks()}, [2]uint64{150, 2})
		same(t, "S mean lifetime", S.MeanLifetime(), 2)
		same(t, "T mean lifetime", T.MeanLifetime(), 3)
	})
	t.Run("temporary", func(t *testing.T) {
		sum := sumUp(false, malloc(1, a, p, 10, 1), malloc(2, b, x, 10, 2), free(3, a, p), malloc(4, a, q, 10, 3),
			malloc(5, a, r, 10, 4), free(6, a, q), free(7, a, r), free(8, b, x))
		for id, want := range map[uint32]uint64{1: 1, 2: 1, 3: 0, 4: 1} {
			same(t, "temporary", sum.Stack(id).Temporary, want)
		}
		same(t, "all", sum.Totals.Temporary, 3)
		same(t, "of A, B", [2]uint64{sum.Threads[a].Temporary, sum.Threads[b].Temporary}, [2]uint64{2, 1})
	})
	t.Run("realloc", func(t *testing.T) {
		sum := sumUp(false, malloc(1, a, p, 100, stackS), begin(2, p), result(2, q, 300), begin(3, q),
			result(3, 0, 1<<60), free(4, a, q))
		c := sum.Totals
		same(t, "allocations, deallocations, bytes, failed, reallocations, temporary, peak",
			[7]uint64{c.Allocations, c.Deallocations, c.Bytes, c.Failed, c.Reallocations, c.Temporary, c.Peak.Bytes},
			[7]uint64{2, 2, 400, 1, 1, 1, 300})
		same(t, "calls of realloc", c.Funcs[event.ReallocFunc], 2)
	})
	t.Run("unmatched", func(t *testing.T) {
		sum := sumUp(false, malloc(1, a, p, 10, 1), free(2, a, p), free(3, a, p))
		same(t, "unmatched, deallocations", [2]uint64{sum.Totals.Unmatched, sum.Totals.Deallocations}, [2]uint64{1, 1})
	})
	t.Run("inherited", func(t *testing.T) {
		sum := sumUp(true, free(1, a, p), free(2, a, p), malloc(3, a, q, 10, 1), free(4, a, q), free(5, a, q))
		same(t, "inherited, unmatched, deallocations",
			[3]uint64{sum.Totals.Inherited, sum.Totals.Unmatched, sum.Totals.Deallocations}, [3]uint64{1, 2, 1})
	})
	t.Run("unseen", func(t *testing.T) {
		sum := sumUp(false, malloc(1, a, p, 10, 1), malloc(2, a, p, 20, 1))
		same(t, "unseen, deallocations, peak",
			[3]uint64{sum.Totals.Unseen, sum.Totals.Deallocations, sum.Totals.Peak.Bytes}, [3]uint64{1, 1, 20})
		same(t, "deallocations of the thread", sum.Threads[a].Deallocations, 0)
	})
	t.Run("foreign", func(t *testing.T) {
		sum := sumUp(false, malloc(1, a, p, 10, 1), free(2, b, p))
		same(t, "B", sum.Threads[b], tally.Thread{Deallocations: 1, FreedBytes: 10, Foreign: 1})
	})
}

// TestSum adds lifetimes up to more than 64 bits.
func TestSum(t *testing.T) {
	t.Parallel()
	sum := tally.New()
	const age = 1<<62 + 12345
	for n := range uint64(8) {
		sum.Add(&event.Event{Kind: event.Alloc, Addr: 16, Size: 1})
		sum.Add(&event.Event{Kind: event.Free, Addr: 16, Size: 1, Ref: n, Time: age})
	}
	c := sum.Totals().Counts
	same(t, "mean", c.MeanLifetime(), age)
	same(t, "sum", c.Lifetime.String(), "36893488147419201992")
	same(t, "mean of none", tally.Sum{Lo: 7}.Mean(0), 0)
	same(t, "mean beyond reason", tally.Sum{Hi: 7}.Mean(1), 1<<63-1)
}

// TestWild counts events with ids beyond reason, as a forged recording may have them.
func TestWild(t *testing.T) {
	t.Parallel()
	sum := tally.New()
	for range 3 {
		sum.Add(&event.Event{Kind: event.Alloc, Func: 255, Stack: ^uint32(0), Thread: ^uint32(0), Size: 5})
	}
	sum.Add(&event.Event{Kind: event.Free, Func: 255, Stack: 1 << 26, Thread: 1 << 31, Size: 5, Ref: 1 << 40})
	sum.Add(&event.Event{Kind: 200, Func: event.Mmap})
	s := sum.Summary()
	same(t, "stacks", len(s.Stacks), 1)
	same(t, "allocations at stack 0", s.Stack(0).Allocations, 3)
	same(t, "of unknown stacks", s.Stack(9), tally.Stack{ID: 9})
	same(t, "of unknown stacks", sum.Stack(9), tally.Stack{ID: 9})
	same(t, "of stack 0", sum.Stack(0), s.Stack(0))
	same(t, "allocations of the last thread", s.Threads[len(s.Threads)-1].Allocations, 3)
}
