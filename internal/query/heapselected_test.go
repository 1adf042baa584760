package query

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// TestSelectedCells compares what selected blocks have of each cell of a film with the blocks that are live then.
func TestSelectedCells(t *testing.T) {
	t.Parallel()
	none, some, kept := 0, 0, 0
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 91))
		s, events := scatter(t, rng, 400)
		end := uint64(len(events)) - rng.Uint64N(uint64(len(events)/2))
		film := Query{Range: &Range{To: end}}
		want := HeapWish{Moments: 9, Cells: 256 << rng.IntN(6)}
		f, err := Film(t.Context(), s, &film, want)
		if err != nil {
			t.Fatal(err)
		}
		freed := make(map[uint64]bool)
		for _, e := range events {
			if e.Kind == event.Free {
				freed[e.Ref] = true
			}
		}
		for _, c := range []struct {
			name string
			q    Query
			must func(ref uint64, e *event.Event) bool
		}{
			{"thread", Query{Threads: []uint32{3, 4}}, func(_ uint64, e *event.Event) bool {
				return e.Thread == 3 || e.Thread == 4
			}},
			{"size", Query{Sizes: &Interval{100, 1000}}, func(_ uint64, e *event.Event) bool {
				return 100 <= e.Size && e.Size <= 1000
			}},
			{"stack", Query{Focus: each("^[bc]$")}, func(_ uint64, e *event.Event) bool {
				for _, x := range s.frames(e.Stack) {
					if x.Function == "b" || x.Function == "c" {
						return true
					}
				}
				return false
			}},
			{"never freed", Query{Lifetimes: &Interval{Unbounded, Unbounded}}, func(ref uint64, _ *event.Event) bool {
				return !freed[ref]
			}},
		} {
			name, p := c.name, &f.Pictures[rng.IntN(len(f.Pictures))]
			q := c.q
			q.Range, q.At = film.Range, &p.Cut
			if !q.Selects() || film.Selects() {
				t.Fatalf("%s: it does not say that it selects blocks", name)
			}
			if rng.IntN(2) == 0 {
				s.cells.Store(nil)
			} else if s.cells.Load() != nil {
				kept++
			}
			want.Selected = true
			got, err := Film(t.Context(), s, &q, want)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Capacity, f.Capacity) || len(got.Pictures) != 1 || got.Pictures[0].Cut != p.Cut {
				t.Fatalf("seed %d: %s: the cells are not those of the film", seed, name)
			}
			bytes := make([]uint64, len(f.Capacity))
			var amount Amount
			live := make(map[uint64]*event.Event)
			allocs := uint64(0)
			for i := range events[:p.Cut] {
				if e := &events[i]; e.Kind == event.Alloc {
					live[allocs] = e
					allocs++
				} else {
					delete(live, e.Ref)
				}
			}
			for ref, e := range live {
				if !c.must(ref, e) {
					continue
				}
				amount.add(Amount{e.Size, 1})
				for from, end := e.Addr, e.Addr+e.Size; from < end; {
					to := min((from/PageSize+1)*PageSize, end)
					cell, ok := f.Find(from)
					if !ok {
						t.Fatalf("no cell for %#x", from)
					}
					bytes[cell] += to - from
					from = to
				}
			}
			if got.Pictures[0].Live != amount {
				t.Errorf("seed %d: %s: %+v is live, want %+v", seed, name, got.Pictures[0].Live, amount)
			}
			for cell, n := range bytes {
				capacity := max(f.Capacity[cell], 1)
				if want := (255*n + capacity - 1) / capacity; uint64(got.Pictures[0].Fill[cell]) != want {
					t.Fatalf("seed %d: %s: cell %d at %d: %d, want %d", seed, name, cell, p.Time,
						got.Pictures[0].Fill[cell], want)
				}
				switch {
				case p.Fill[cell] > 0 && n == 0:
					none++
				case n > 0:
					some++
				}
			}
		}
	}
	if none < 100 || some < 100 || kept < 10 {
		t.Errorf("not tested: %d cells of other blocks, %d with selected ones, %d with kept cells", none, some, kept)
	}
}
