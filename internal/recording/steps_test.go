package recording_test

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// TestAlign: bounds move by less than half a step, to the end of a block of events, or stay.
func TestAlign(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Blocks of ten events, 100 ns apart; the sixth begins when the fifth ends.
	now := int64(0)
	for i := range 200 {
		if i != 50 {
			now += 100
		}
		e := event.Event{Time: now, Kind: event.Alloc, Func: event.Malloc, Size: 1, Ref: event.NoRef}
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
		if i%10 == 9 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(recording.Ending{End: now}); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, n := range []int{1, 3, 7, 13, 20, 40} {
		var got []timetravel.Bound
		for i := range n + 1 {
			got = append(got, timetravel.Bound{Time: now * int64(i) / int64(n)})
		}
		before := slices.Clone(got)
		timetravel.Align(r, got)
		moved := 0
		for i, b := range got {
			if b.Cut == 0 && b.Time == before[i].Time {
				continue
			}
			moved++
			if d := max(b.Time-before[i].Time, before[i].Time-b.Time); 2*d >= now/int64(n) || i == 0 || i == n {
				t.Errorf("%d steps: %d moved to %d", n, before[i].Time, b.Time)
			}
			if b.Cut%10 != 0 || b.Time != eventBlocks(r)[b.Cut/10-1].End {
				t.Errorf("%d steps: %d is not the end of the block before event %d", n, b.Time, b.Cut)
			}
		}
		rising := slices.IsSortedFunc(got, func(a, b timetravel.Bound) int { return cmp.Compare(a.Time, b.Time) })
		if !rising || n <= 20 && moved < n-2 {
			t.Errorf("%d steps: %v became %v", n, before, got)
		}
		tellsOfSteps(t, r, got)
	}
}

// tellsOfSteps checks that the steps between bounds have the events that they should.
func tellsOfSteps(t *testing.T, r *recording.Reader, bounds []timetravel.Bound) {
	t.Helper()
	n := len(bounds) - 1
	want := make([]uint64, n)
	number, step := uint64(0), 0
	err := r.EventsBetween(t.Context(), 0, 200, func(_, _ uint64, e *event.Event) bool {
		for step < n-1 && (e.Time > bounds[step+1].Time || bounds[step+1].Cut != 0 && number >= bounds[step+1].Cut) {
			step++
		}
		want[step]++
		number++
		return true
	})
	got := make([]uint64, n)
	steps := timetravel.Steps(t.Context(), r, 0, 200, bounds[1:n], func(p timetravel.Piece) {
		for i := range p.Changes {
			got[p.Step] += p.Changes[i].Allocs
		}
	})
	if err := errors.Join(err, steps); err != nil || !slices.Equal(got, want) {
		t.Errorf("bounds %v: %d, expected %d; %v", bounds, got, want, err)
	}
}
