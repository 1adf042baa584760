package query

import (
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// TestTimeExcludesAgent checks the example that docs/definitions.md calculates by hand.
func TestTimeExcludesAgent(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	r.health = event.Health{AllocCost: 30, FreeCost: 10.4}
	th := r.thread(0)
	alloc := func(now int64) uint64 { r.now = now; return r.alloc(th, 0, 8, event.Malloc, 0) }
	p := alloc(1000) // 1000 - 30
	r.now = 1100
	r.free(th, p, event.FreeFunc, 0)
	alloc(1200) // 200 - 30 - 10.4, rounded up
	alloc(1200) // 0; 30.4 are owed
	alloc(1300) // 100 - 30.4 - 30, rounded up
	want := map[int]uint64{0: 970, 1: 160, 2: 0, 3: 40}
	s := r.source(nil)
	cut := []uint64{0, 1, 3, 4, 5}
	for i := range want {
		got, err := Flat(t.Context(), s, &Query{Range: &Range{0, cut[i+1]}, Metrics: []Metric{Time}})
		if err != nil {
			t.Fatal(err)
		}
		sum := uint64(0)
		for k := range i + 1 {
			sum += want[k]
		}
		if got.Total.Time != sum {
			t.Errorf("up to allocation %d: %d ns, want %d", i, got.Total.Time, sum)
		}
	}
	// At most one unit stays owed, however many allocations happen at one time.
	r = newRecorder(t)
	r.health = event.Health{AllocCost: 30}
	th = r.thread(0)
	for range 100 {
		alloc(1000)
	}
	alloc(2000)
	got, err := Flat(t.Context(), r.source(nil), &Query{Metrics: []Metric{Time}})
	if want := uint64(970 + 1000 - 130); err != nil || got.Total.Time != want {
		t.Errorf("%d ns, want %d (%v)", got.Total.Time, want, err)
	}
}
