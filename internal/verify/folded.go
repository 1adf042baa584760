package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// checkFolded compares the tally of a recording whose older events were folded with its summaries, stack by stack.
func checkFolded(c *Check, rec *recording.Reader) error {
	stored, err := rec.Tally()
	if err != nil {
		return err
	}
	_, last := rec.Cuts()
	changes, err := timetravel.Changes(context.Background(), rec, 0, last)
	if err != nil {
		return err
	}
	c.What = fmt.Sprintf("%d call stacks: statistics and summaries", len(stored.Stacks))
	want := make(map[uint32]recording.Change)
	for _, s := range stored.Stacks {
		if s.Allocations|s.Deallocations != 0 {
			want[s.ID] = recording.Change{Stack: s.ID, Allocs: s.Allocations, Bytes: s.Bytes, Frees: s.Deallocations,
				FreedBytes: s.FreedBytes,
				Temporary:  s.Temporary, Top: s.OwnPeakBytes}
		}
	}
	for _, got := range changes.List() {
		if got.Allocs|got.Frees == 0 {
			continue
		}
		c.require(got == want[got.Stack], "call stack %d: the summaries say %+v, the statistics %+v", got.Stack, got,
			want[got.Stack])
		delete(want, got.Stack)
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		c.problem("call stack %d is in the statistics, but not in any summary", id)
	}
	t := &stored.Totals
	c.require(t.Events == last, "the statistics count %d events, but there are %d", t.Events, last)
	levels, err := timetravel.Levels(context.Background(), rec, 0, last, 1)
	top := uint64(0)
	for _, l := range levels {
		top = max(top, l.Top)
	}
	c.require(top == t.Peak.Bytes, "the peak is %d bytes, expected %d", t.Peak.Bytes, top)
	return err
}
