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

// AddResident gives the server's resident set parts: at its beginning, and at its peak, where most is in mappings.
func AddResident(p *profile.Profile) {
	set := func(time int64, live, slack, mapped, own uint64, stacks ...uint32) profile.ResidentSet {
		s := profile.ResidentSet{Time: time, Parts: []event.ResidentPart{
			{Kind: event.ResidentLive, Bytes: live, Size: live + 4096},
			{Kind: event.ResidentSlack, Bytes: slack, Size: 2 * slack},
			{Kind: event.ResidentStacks, Bytes: 40960, Size: 8 << 20},
			{Kind: event.ResidentFile, Bytes: 400_000, Size: 800_000, Name: "/usr/bin/server\x1b[31m"},
			{Kind: event.ResidentFile, Bytes: 100_000, Size: 200_000},
			{Kind: event.ResidentAgent, Bytes: own, Size: 2 * own},
		}}
		for i, id := range stacks {
			s.Parts = append(s.Parts, event.ResidentPart{Kind: event.ResidentMapping, Stack: id,
				Bytes: mapped / uint64(i+1), Size: 2 * mapped})
		}
		for i := range s.Parts {
			s.Parts[i].Time = time
			s.Bytes += s.Parts[i].Bytes
		}
		return s
	}
	p.ResidentSets = []profile.ResidentSet{set(1000, 50_000, 0, 0, 4096),
		set(9000, 90_000, 500_000, 700_000, 500_000, p.Stacks[1].ID, p.Stacks[2].ID, 0)}
}
