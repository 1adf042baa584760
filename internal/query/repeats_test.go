package query

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
)

// repeatsModel finds what every repeat left behind by looking at all events, and at every series of rows. Call stacks
// are known by their text.
func repeatsModel(m *model, births []uint64) map[string]Repeat {
	n := len(births) - 1
	found := make(map[string]Repeat)
	for _, at := range []int{n, n - 1} {
		left := make(map[string][]Amount)
		for ref := range m.born {
			b, born := &m.born[ref], m.births[ref]
			row := slices.IndexFunc(births, func(cut uint64) bool { return cut > born }) - 1
			if born < births[0] || row < 0 || row >= at || !m.counts(uint64(ref)) || m.names(b.Stack) == nil {
				continue
			}
			if died, ok := m.deaths[uint64(ref)]; !ok || died >= births[at] {
				text := fmt.Sprint(m.names(b.Stack))
				if left[text] == nil {
					left[text] = make([]Amount, n)
				}
				left[text][row].add(Amount{b.Size, 1})
			}
		}
		for text, rows := range left {
			for first := range at {
				for end := first + leastRepeats; end <= at; end++ {
					part := rows[first:end]
					equal := part[0].Blocks > 0 && !slices.ContainsFunc(part,
						func(x Amount) bool { return x.Blocks != part[0].Blocks })
					before, there := found[text]
					if !equal || 2*len(part) < n-2 || there && (len(part) < before.Rows ||
						len(part) == before.Rows && at < before.At) {
						continue
					}
					var sum Amount
					for _, x := range part {
						sum.add(x)
					}
					count := uint64(len(part))
					found[text] = Repeat{First: first, Rows: len(part), At: at, Blocks: part[0].Blocks,
						Bytes: (sum.Bytes + count/2) / count}
				}
			}
		}
	}
	return found
}

// TestRepeats compares what is found with the model, from events and from sums.
func TestRepeats(t *testing.T) {
	t.Parallel()
	plans, all := make(map[Plan]int), 0
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 11))
		r, frames := randomProgram(t, seed, []int{40, 300, 700}[seed%3])
		n := uint64(len(r.events))
		var marks []event.Mark
		for range rng.IntN(10) {
			at := rng.Uint64N(n + 1)
			name := []string{"click 1", "click 2", "idle"}[rng.IntN(3)]
			m := event.Mark{Name: name, Cut: at, Source: event.FromProgram}
			if at > 0 {
				m.Time = r.events[at-1].Time
			}
			marks = append(marks, m)
		}
		slices.SortStableFunc(marks, func(a, b event.Mark) int { return cmp.Compare(a.Cut, b.Cut) })
		for _, m := range marks {
			r.w.Mark(m)
		}
		s, events := r.source(frames), r.events
		for range 6 {
			q := &Query{}
			if rng.IntN(3) == 0 {
				a, b := rng.Uint64N(n+1), rng.Uint64N(n+1)
				q.Range = &Range{min(a, b), max(a, b)}
			}
			if rng.IntN(12) == 0 {
				q.Range = &Range{n / 2, n / 2}
			}
			switch rng.IntN(6) {
			case 0:
				q.Focus = []*regexp.Regexp{regexp.MustCompile("b|c")}
			case 1:
				q.Sizes = &Interval{10, 1000}
			case 2:
				q.Hide = regexp.MustCompile("^[a-e]$")
			}
			triangle := Triangle{Columns: 1 + rng.IntN(9), Marks: true}
			if rng.IntN(3) == 0 {
				triangle.Names = []string{"click*", "nothing"}
			}
			got, err := Generate(t.Context(), s, q, triangle)
			if err != nil {
				t.Fatalf("seed %d, %+v: %v", seed, q, err)
			}
			plans[got.Plan]++
			one := *q
			one.By = ByStack
			m := newModel(s, events, &one)
			births := []uint64{m.from}
			for _, x := range marks {
				if triangle.Names != nil && x.Name == "idle" {
					continue
				}
				if x.Cut > births[len(births)-1] && x.Cut < m.to {
					births = append(births, x.Cut)
				}
			}
			if births = append(births, m.to); !slices.Equal(got.Births.Cuts, births) {
				t.Fatalf("seed %d, %+v: rows end at %v, want %v", seed, q, got.Births.Cuts, births)
			}
			for i, row := range got.Rows {
				for j, x := range row {
					want := keptModel(m, births[i], births[i+1], got.Moments.Cuts[j])
					if x != want {
						t.Fatalf("seed %d, %+v: row %d, column %d: %+v, want %+v", seed, q, i, j, x, want)
					}
				}
			}
			want, found := repeatsModel(m, births), make(map[string]Repeat)
			for _, x := range got.Repeats {
				found[fmt.Sprint(m.names(x.Stack))] = Repeat{First: x.First, Rows: x.Rows, At: x.At, Blocks: x.Blocks,
					Bytes: x.Bytes}
			}
			if d := gocmp.Diff(want, found); d != "" || len(found) != len(got.Repeats) {
				t.Fatalf("seed %d, %+v, from %s, rows end at %v:\n%s", seed, q, got.Plan, births, d)
			}
			if !slices.IsSortedFunc(got.Repeats, func(a, b Repeat) int { return cmp.Compare(b.Bytes, a.Bytes) }) {
				t.Errorf("seed %d: not sorted by bytes: %+v", seed, got.Repeats)
			}
			all += len(found)
		}
	}
	if plans[FromSummaries] < 100 || plans[FromEvents] < 100 || all < 100 {
		t.Errorf("plans: %v, %d call stacks found", plans, all)
	}
}

// TestTooManyMarks: the last ones count, and the first row has what was allocated before them.
func TestTooManyMarks(t *testing.T) {
	t.Parallel()
	r, frames := randomProgram(t, 1, 1000)
	for cut := uint64(1); cut <= 300; cut++ {
		r.w.Mark(event.Mark{Name: "again", Time: r.events[cut-1].Time, Cut: cut, Source: event.FromProgram})
	}
	got, err := Generate(t.Context(), r.source(frames), &Query{}, Triangle{Columns: 10, Marks: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != MostGenerations || got.Births.Cuts[1] != 300-MostGenerations+2 || got.Births.Cuts[0] != 0 ||
		got.Births.Marks[1] != "again#102" || len(got.Moments.Cuts) != 10 {
		t.Errorf("%d rows, the second one from %d, %q, and %d columns", len(got.Rows), got.Births.Cuts[1],
			got.Births.Marks[1], len(got.Moments.Cuts))
	}
}
