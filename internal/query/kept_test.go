package query

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// keptModel counts what was allocated in a range, is selected, and is live at a cut, by looking at all events.
func keptModel(m *model, from, to, at uint64) (sum Amount) {
	for ref := range m.born {
		b := &m.born[ref]
		born := m.births[ref]
		if born < from || born >= to || born >= at || !m.counts(uint64(ref)) || m.names(b.Stack) == nil {
			continue
		}
		if died, ok := m.deaths[uint64(ref)]; !ok || died >= at {
			sum.add(Amount{b.Size, 1})
		}
	}
	return sum
}

// TestKept compares what a recording's sums say with a scan of all events, for random ranges and moments.
func TestKept(t *testing.T) {
	t.Parallel()
	plans := make(map[Plan]int)
	tables, coarse := 0, 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 9))
		size := 100 + int(seed)*20
		if seed%10 == 9 {
			size = 6000 // so many far sums that births become coarse
		}
		s, events := random(t, seed, size)
		for _, x := range s.Reader.EventBlocks().FarTables() {
			tables++
			if x.Shift > 0 {
				coarse++
			}
		}
		for range 30000 / (size + 900) {
			n := uint64(len(events))
			a, b, at := rng.Uint64N(n+1), rng.Uint64N(n+1), rng.Uint64N(n+1)
			q := &Query{By: ByStack, Metrics: []Metric{KeptBlocks, Kept}, Range: &Range{min(a, b), max(a, b)}, At: &at}
			if rng.IntN(3) == 0 {
				q.At, at = nil, q.Range.To
			}
			switch rng.IntN(6) {
			case 0:
				q.Focus = []*regexp.Regexp{regexp.MustCompile("b|c")}
			case 1:
				q.Sizes = &Interval{10, 100}
			}
			got, err := Flat(t.Context(), s, q)
			if err != nil {
				t.Fatalf("seed %d, %+v: %v", seed, q, err)
			}
			plans[got.Plan]++
			want := keptModel(newModel(s, events, q), q.Range.From, q.Range.To, at)
			if sum := (Amount{got.Total.KeptBytes, got.Total.KeptBlocks}); sum != want {
				t.Fatalf("seed %d, range %v, at %d, from %s: %+v, want %+v", seed, *q.Range, at, got.Plan, sum, want)
			}
		}
	}
	if plans[FromSummaries] < 100 || plans[FromEvents] < 100 {
		t.Errorf("plans: %v; both must be tried", plans)
	}
	if tables < 20 || coarse < 2 || coarse == tables {
		t.Errorf("%d tables, %d of them coarse", tables, coarse)
	}
}

// TestGenerations compares triangles with the model.
func TestGenerations(t *testing.T) {
	t.Parallel()
	plans := make(map[Plan]int)
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 10))
		s, events := random(t, seed, []int{0, 1, 40, 300, 700}[seed%5])
		for range 6 {
			q := &Query{}
			n := uint64(len(events))
			if rng.IntN(2) == 0 {
				a, b := rng.Uint64N(n+1), rng.Uint64N(n+1)
				q.Range = &Range{min(a, b), max(a, b)}
			}
			switch rng.IntN(6) {
			case 0:
				q.Focus = []*regexp.Regexp{regexp.MustCompile("b|c")}
			case 1:
				q.Threads = []uint32{0}
			case 2:
				q.Lifetimes = &Interval{500, Unbounded}
			case 3:
				q.FreedBy = []uint32{0}
			}
			rows, columns := 1+rng.IntN(9), 1+rng.IntN(9)
			got, err := Generate(t.Context(), s, q, Triangle{Rows: rows, Columns: columns})
			if err != nil {
				t.Fatalf("seed %d, %+v: %v", seed, q, err)
			}
			plans[got.Plan]++
			m := newModel(s, events, q)
			if len(got.Rows) != rows || len(got.Births.Cuts) != rows+1 || len(got.Moments.Cuts) != columns ||
				got.Births.Cuts[0] != m.from || got.Moments.Cuts[columns-1] != m.to ||
				!slices.IsSorted(got.Births.Cuts) {
				t.Fatalf("seed %d, %+v: %d rows, births %v, moments %v", seed, q, len(got.Rows), got.Births,
					got.Moments)
			}
			for i, row := range got.Rows {
				want := make([]Amount, columns)
				for j := range want {
					want[j] = keptModel(m, got.Births.Cuts[i], got.Births.Cuts[i+1], got.Moments.Cuts[j])
				}
				var born Amount
				for ref := range m.born {
					n := m.births[ref]
					if n >= got.Births.Cuts[i] && n < got.Births.Cuts[i+1] && m.counts(uint64(ref)) &&
						m.names(m.born[ref].Stack) != nil {
						born.add(Amount{m.born[ref].Size, 1})
					}
				}
				if born != got.Born[i] {
					t.Fatalf("seed %d, %+v: row %d allocated %+v, want %+v", seed, q, i, got.Born[i], born)
				}
				if d := cmp.Diff(want, row); d != "" {
					t.Fatalf("seed %d, %+v, from %s: row %d:\n%s", seed, q, got.Plan, i, d)
				}
			}
			if sum := keptModel(m, m.from, m.to, m.to); sum != got.Together[columns-1] {
				t.Fatalf("seed %d: together %+v, want %+v", seed, got.Together[columns-1], sum)
			}
		}
	}
	if plans[FromSummaries] < 20 || plans[FromEvents] < 20 {
		t.Errorf("plans: %v; both must be tried", plans)
	}
}

// TestKeptNearBlocks: a range that may move a little ends between blocks of events, and the answer says so.
func TestKeptNearBlocks(t *testing.T) {
	t.Parallel()
	s, events := random(t, 2, 900)
	if len(s.Reader.EventBlocks().FarTables()) == 0 {
		t.Fatal("no far sums")
	}
	n := uint64(len(events))
	moved := 0
	for from := n / 4; from < n/4+40; from++ {
		q := &Query{By: ByStack, Metrics: []Metric{Kept, KeptBlocks}, Range: &Range{from, n * 3 / 4}, Rough: 1 << 40}
		got, err := Flat(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		if got.Rough {
			moved++
			for _, cut := range []uint64{got.From, got.To} {
				blocks := s.Reader.EventBlocks()
				if i := blocks.At(cut); i < blocks.Len() && blocks.Head(i).FirstEvent != cut {
					t.Fatalf("%d is not the end of a block", cut)
				}
			}
		}
		want := keptModel(newModel(s, events, q), got.From, got.To, got.At)
		if sum := (Amount{got.Total.KeptBytes, got.Total.KeptBlocks}); sum != want {
			t.Fatalf("from %d: %+v, want %+v", from, sum, want)
		}
	}
	if moved == 0 {
		t.Error("no range was moved")
	}
}
