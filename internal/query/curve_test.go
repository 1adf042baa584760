package query

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/atlas"
)

// TestCurve compares curves of random filters and groups with a scan of all events.
func TestCurve(t *testing.T) {
	t.Parallel()
	several, none, unknown := 0, 0, 0
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 11))
		s, events := random(t, seed, []int{1, 30, 120, 250}[seed%4])
		a := withAtlas(t, s, []int{1, 3, 20, 1000}[seed/4%4])
		for range 20 {
			q := roughQuery(rng, s, uint64(len(events)))
			if q.By == ByStack {
				q.By = ByLine
			}
			m := newModel(s, events, &Query{By: q.By, Focus: q.Focus, Ignore: q.Ignore, Hide: q.Hide,
				Modules: q.Modules})
			wanted := slices.DeleteFunc(m.groups(), func(Group) bool { return rng.IntN(3) > 0 })
			match := func(g *Group) bool { return slices.Contains(wanted, *g) }
			if rng.IntN(4) == 0 {
				match = nil
			}
			got, err := CurveOf(t.Context(), s, q, match)
			if err != nil {
				t.Fatalf("seed %d, %+v: %v", seed, q, err)
			}
			counts := func(e *event.Event) bool {
				names := m.names(e.Stack)
				return e.Kind <= event.Free && names != nil &&
					(match == nil || slices.ContainsFunc(names, func(g Group) bool { return match(&g) }))
			}
			want := &Curve{Most: got.Most}
			for _, i := range a.Ends() {
				before := uint64(0)
				if len(want.Cuts) > 0 {
					before = want.Cuts[len(want.Cuts)-1]
				}
				moment := a.Moments()[i]
				want.Times, want.Cuts = append(want.Times, moment.Time), append(want.Cuts, moment.Cut)
				var v, step Values
				for n := range moment.Cut {
					if e := &events[n]; counts(e) {
						move(&v.LiveBytes, &v.LiveBlocks, e)
						if n >= before && e.Kind == event.Alloc {
							step.Allocations++
							step.Bytes += e.Size
						} else if n >= before {
							step.Deallocations++
						}
					}
				}
				want.Live, want.Blocks = append(want.Live, v.LiveBytes), append(want.Blocks, v.LiveBlocks)
				want.Allocations = append(want.Allocations, step.Allocations)
				want.Bytes = append(want.Bytes, step.Bytes)
				want.Deallocations = append(want.Deallocations, step.Deallocations)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("seed %d, %+v, %+v (-want +got):\n%s", seed, q, wanted, d)
			}
			for i, most := range got.Most {
				if most < got.Live[i] || i > 0 && most < got.Live[i-1] {
					t.Fatalf("seed %d: at most %d in step %d, and %d at its end", seed, most, i, got.Live[i])
				}
			}
			switch {
			case match == nil:
			case len(wanted) == 0:
				none++
			case len(wanted) > 1:
				several++
			}
			if slices.ContainsFunc(wanted, func(g Group) bool { return g.Unknown }) {
				unknown++
			}
		}
	}
	if several == 0 || none == 0 || unknown == 0 {
		t.Errorf("%d curves of several groups, %d of none, %d of unknown code", several, none, unknown)
	}
}

// TestMostOfCurve: the most of everything in a step is the process's peak there.
func TestMostOfCurve(t *testing.T) {
	t.Parallel()
	s, events := random(t, 5, 250)
	withAtlas(t, s, 7)
	got, err := CurveOf(t.Context(), s, &Query{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(got.Cuts); i++ {
		q := &Query{Range: &Range{got.Cuts[i-1], got.Cuts[i]}}
		m := newModel(s, events, q)
		peak := m.values(func(uint64, *event.Event) bool { return true }).PeakBytes
		if got.Most[i] != peak {
			t.Errorf("step %d: %d, want %d", i, got.Most[i], peak)
		}
	}
}

// TestNoCurve: what an atlas cannot answer is an error.
func TestNoCurve(t *testing.T) {
	t.Parallel()
	s, _ := random(t, 3, 120)
	ask := func(q Query) error {
		_, err := CurveOf(t.Context(), s, &q, nil)
		return err
	}
	if err := ask(Query{}); !errors.Is(err, ErrNoCurve) {
		t.Errorf("without an atlas: %v", err)
	}
	withAtlas(t, s, 7)
	for _, q := range []Query{{Threads: []uint32{0}}, {Sizes: &Interval{1, 2}}, {By: ByThread}} {
		if err := ask(q); !errors.Is(err, ErrNoCurve) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if err := ask(Query{By: ByStack}); err != nil {
		t.Error(err)
	}
	s.UseAtlas(nil)
	if err := ask(Query{}); !errors.Is(err, ErrNoCurve) {
		t.Errorf("without an atlas any more: %v", err)
	}
}

// TestCurvesAtOnce: curves, rough answers and a newer atlas do not get into each other's way.
func TestCurvesAtOnce(t *testing.T) {
	t.Parallel()
	s, _ := random(t, 5, 250)
	withAtlas(t, s, 50)
	newer, err := atlas.Build(t.Context(), s.Reader, atlas.Options{Steps: 50})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(i int) (*Curve, error) {
		q := &Query{By: By(i % 3)}
		if i%2 == 0 {
			q.Focus = each([]string{"a", "b|c", "x\\.c"}[i/2%3])
		}
		return CurveOf(t.Context(), s, q, func(g *Group) bool { return g.Module != "" })
	}
	var want [18]*Curve
	for i := range want {
		if want[i], err = ask(i); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for i := range want {
		all.Go(func() {
			if i == 9 {
				s.UseAtlas(newer)
			}
			if got, err := ask(i); err != nil || !cmp.Equal(got, want[i]) {
				t.Errorf("curve %d: %v", i, err)
			}
		})
	}
	all.Wait()
}
