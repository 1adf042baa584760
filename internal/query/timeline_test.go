package query

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// TestProcessTimeline compares timelines of random programs with their events, whole and in part, also while several
// are asked for at once.
func TestProcessTimeline(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 12))
		s, events := random(t, seed, []int{0, 1, 60, 1500}[seed%4])
		var asking sync.WaitGroup
		for range 6 {
			q := &Query{}
			if n := uint64(len(events)); rng.IntN(2) == 0 {
				a, b := rng.Uint64N(n+1), rng.Uint64N(n+1)
				q.Range = &Range{min(a, b), max(a, b)}
			}
			n, rough := 1+rng.IntN(50), rng.IntN(2) == 0
			asking.Go(func() {
				got, err := Timeline(t.Context(), s, q, n, rough)
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
					return
				}
				compareTimeline(t, seed, got, events, n)
			})
		}
		asking.Go(func() {
			if err := PrepareTimeline(t.Context(), s, nil, func(done, total int) {
				if done > total {
					t.Errorf("%d of %d", done, total)
				}
			}); err != nil {
				t.Error(err)
			}
		})
		asking.Wait()
		got, err := Timeline(t.Context(), s, &Query{}, 20, true)
		if err != nil || got.Rough || slices.Contains(got.Exact, false) {
			t.Fatalf("seed %d: %v, rough although all is known: %+v", seed, err, got)
		}
	}
}

func compareTimeline(t *testing.T, seed uint64, got *ProcessTimeline, events []event.Event, n int) {
	t.Helper()
	if len(got.Times) != n+1 || got.Times[0] != got.Begin || got.Times[n] != got.Begin+got.Span ||
		got.Cuts[0] != got.From || got.Cuts[n] != got.To {
		t.Errorf("seed %d: %d steps from %v to %v of %+v", seed, n, got.Times, got.Cuts, got.Answer)
		return
	}
	var live, blocks uint64
	k := 0
	most, least, allocs, bytes, frees := uint64(0), uint64(0), uint64(0), uint64(0), uint64(0)
	for i := uint64(0); ; i++ {
		if i == got.From {
			most, least, allocs, bytes, frees = live, live, 0, 0, 0
		}
		for ; k < len(got.Cuts) && got.Cuts[k] == i; k++ {
			if g, w := [...]uint64{got.Live[k], got.Blocks[k], got.Most[k], got.Allocations[k], got.Deallocations[k]},
				[...]uint64{live, blocks, most, allocs, frees}; g != w {
				t.Errorf("seed %d: step %d at event %d has %d, want %d", seed, k, i, g, w)
			}
			if got.Exact[k] && (got.Least[k] != least || got.Bytes[k] != bytes) || got.Least[k] < least ||
				got.Bytes[k] > bytes || !got.Exact[k] && !got.Rough {
				t.Errorf("seed %d: step %d at event %d has at least %d, %d bytes; want %d, %d; exact %v", seed, k, i,
					got.Least[k], got.Bytes[k], least, bytes, got.Exact[k])
			}
			most, least, allocs, bytes, frees = live, live, 0, 0, 0
		}
		if i == uint64(len(events)) {
			break
		}
		switch e := &events[i]; e.Kind {
		case event.Alloc:
			live, blocks, allocs, bytes = live+e.Size, blocks+1, allocs+1, bytes+e.Size
		case event.Free:
			live, blocks, frees = live-e.Size, blocks-1, frees+1
		}
		most, least = max(most, live), min(least, live)
	}
	if k != len(got.Cuts) {
		t.Errorf("seed %d: cuts do not rise: %v", seed, got.Cuts)
	}
}

// TestMostSampled: a step has the most that was sampled in it, and without a sample what the step before had.
func TestMostSampled(t *testing.T) {
	t.Parallel()
	samples := []event.Sample{{Time: 0, RSS: 5}, {Time: 11, RSS: 9}, {Time: 15, RSS: 7}, {Time: 35, RSS: -1},
		{Time: 41, RSS: 1}}
	rss := func(s *event.Sample) int64 { return s.RSS }
	for _, x := range []struct {
		times []int64
		toEnd bool
		want  []int64
	}{
		{[]int64{0, 10, 20, 30, 40}, false, []int64{5, 9, 7, 7}},
		{[]int64{0, 10, 20, 30, 40}, true, []int64{5, 9, 7, 1}},
		{[]int64{12, 13, 16}, false, []int64{9, 7}},
		{[]int64{-9, -5}, false, nil},
	} {
		if got := timetravel.MostSampled(samples, x.times, x.toEnd, rss); !slices.Equal(got, x.want) {
			t.Errorf("%v, %v: %v, want %v", x.times, x.toEnd, got, x.want)
		}
	}
}

// TestCounted: a step has what was counted in it; what came before the first sample is in none.
func TestCounted(t *testing.T) {
	t.Parallel()
	samples := []event.Sample{{Time: 2, MinorFaults: 5}, {Time: 11, MinorFaults: 9}, {Time: 15, MinorFaults: 20},
		{Time: 35, MinorFaults: -1}, {Time: 41, MinorFaults: 30}}
	faults := func(s *event.Sample) int64 { return s.MinorFaults }
	for _, x := range []struct {
		times []int64
		toEnd bool
		want  []int64
	}{
		{[]int64{0, 10, 20, 30, 40}, false, []int64{0, 15, 0, 0}},
		{[]int64{0, 10, 20, 30, 40}, true, []int64{0, 15, 0, 10}},
		{[]int64{12, 13, 16}, false, []int64{0, 11}},
		{[]int64{0, 12}, false, []int64{4}},
		{[]int64{-9, -5}, false, nil},
	} {
		if got := timetravel.Counted(samples, x.times, x.toEnd, faults); !slices.Equal(got, x.want) {
			t.Errorf("%v, %v: %v, want %v", x.times, x.toEnd, got, x.want)
		}
	}
}
