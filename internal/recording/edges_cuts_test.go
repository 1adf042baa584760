package recording_test

import (
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// TestLiveOfOtherSums: the statistics of a recording count an event that it does not have. What is live near its end is
// found from its events.
func TestLiveOfOtherSums(t *testing.T) {
	t.Parallel()
	events := []event.Event{alloc(100, 1, 10), alloc(200, 2, 200), alloc(300, 2, 3000)}
	more := append(events[:3:3], alloc(400, 1, 40000))
	r := open(t, writeBlocks(t, event.Process{PID: 1}, &recording.Ending{Tally: sumOf(more...)}, events))
	live, err := timetravel.LiveAt(t.Context(), r, 2)
	if err != nil {
		t.Fatal(err)
	}
	got := map[uint32]uint64{}
	for _, l := range live {
		got[l.Stack] = l.Bytes
	}
	if len(got) != 2 || got[1] != 10 || got[2] != 200 {
		t.Errorf("live bytes by stack: %v", got)
	}
}

// TestStepsAtCut: events of one time are divided at the cut of a bound, and what was live before a range that begins
// within a block of events is live in its first step.
func TestStepsAtCut(t *testing.T) {
	t.Parallel()
	r := open(t, writeBlocks(t, event.Process{PID: 1}, &recording.Ending{},
		[]event.Event{alloc(100, 1, 1), alloc(100, 1, 20), alloc(100, 2, 300), alloc(100, 2, 4000)}))
	for from, want := range []uint64{21, 21} {
		tops, firsts := map[int]uint64{}, map[int]uint64{}
		err := timetravel.Steps(t.Context(), r, uint64(from), 4, []timetravel.Bound{{Time: 100, Cut: 2}},
			func(p timetravel.Piece) {
				tops[p.Step] = max(tops[p.Step], p.Top)
				if _, ok := firsts[p.Step]; !ok {
					firsts[p.Step] = p.First
				}
			})
		if err != nil {
			t.Fatal(err)
		}
		if tops[0] != want || tops[1] != 4321 || firsts[0] != uint64(from) || firsts[1] != 2 {
			t.Errorf("from event %d on: tops %v, first events %v", from, tops, firsts)
		}
	}
}
