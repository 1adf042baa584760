package profiletest

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
)

// AddUnmatched makes the server free addresses that are not live, at two of its call stacks.
func AddUnmatched(p *profile.Profile) {
	p.Totals.Unmatched = 8
	p.Unmatched = []profile.Unmatched{{Stack: p.Stacks[1].ID, Func: event.Delete, Count: 5},
		{Stack: p.Stacks[2].ID, Func: event.FreeFunc, Count: 3}}
}

// AddMismatches makes the server free blocks with wrong functions, at two pairs of its call stacks.
func AddMismatches(p *profile.Profile) {
	p.Mismatches = []event.Pair{
		{Mismatch: event.MismatchSize, Alloc: event.New, Free: event.DeleteSizedAligned, Stack: p.Stacks[1].ID,
			FreeStack: p.Stacks[2].ID, Count: 3,
			Time: 2_000_000, Thread: 1, Size: 32, FreeSize: 24, Align: 64, FreeAlign: 64},
		{Mismatch: event.MismatchFunction, Alloc: event.Malloc, Free: event.Delete, Stack: p.Stacks[2].ID,
			FreeStack: p.Stacks[1].ID, Count: 1, Size: 1},
	}
}

// SomePools are the pools of a program.
var SomePools = []event.Pool{{Name: "words", Backing: 4096, PeakBacking: 8192, Live: 100, PeakLive: 2000, Blocks: 3,
	Allocations: 1234567, Frees: 1234564, Bytes: 1 << 30}}
