package recording

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// TestWhole: times move by less than a third of a step, to where no block of events is divided, or stay.
func TestWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := Create(path, event.Process{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Blocks of ten events, 100 ns apart; the fifth begins when the fourth ends.
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
	if err := w.Finish(Ending{End: now}); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, n := range []int{1, 3, 7, 13, 40} {
		var times []int64
		for i := range n + 1 {
			times = append(times, now*int64(i)/int64(n))
		}
		got := slices.Clone(times)
		r.Whole(got)
		moved := 0
		for i, at := range got {
			if i == 0 || i == n || at == times[i] {
				if at != times[i] {
					t.Errorf("%d steps: the end moved from %d to %d", n, times[i], at)
				}
				continue
			}
			moved++
			if d := max(at-times[i], times[i]-at); 3*d >= now/int64(n)+2 {
				t.Errorf("%d steps: %d moved to %d", n, times[i], at)
			}
			for k := range r.events {
				if h := &r.events[k].head; int64(h.begin)*Quantum <= at && at < int64(h.end)*Quantum {
					t.Errorf("%d steps: %d divides block %d", n, at, k)
				}
			}
			if at == int64(r.events[4].head.end)*Quantum {
				t.Errorf("%d steps: %d is in two blocks", n, at)
			}
		}
		if !slices.IsSorted(got) || n == 13 && moved < 6 {
			t.Errorf("%d steps: %v became %v", n, times, got)
		}
	}
}
