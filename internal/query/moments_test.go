package query

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
)

// TestMoments: what is live at random cuts, against a scan of all events.
func TestMoments(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 4))
		s, events := random(t, seed, []int{1, 30, 120, 250}[seed%4])
		cuts := make([]uint64, 1+rng.IntN(6))
		for i := range cuts {
			cuts[i] = rng.Uint64N(uint64(len(events) + 1))
		}
		slices.Sort(cuts)
		keep := func(stack uint32) bool { return stack%3 != 0 }
		got, err := MomentsAt(t.Context(), s, cuts, keep)
		if err != nil {
			t.Fatal(err)
		}
		want := make(map[uint32][]Level)
		for i, cut := range cuts {
			for n := range cut {
				e := &events[n]
				if e.Kind > event.Free || !keep(e.Stack) {
					continue
				}
				if want[e.Stack] == nil {
					want[e.Stack] = make([]Level, len(cuts))
				}
				l := &want[e.Stack][i]
				move(&l.Bytes, &l.Blocks, e)
			}
		}
		maps.DeleteFunc(want, func(_ uint32, list []Level) bool {
			return !slices.ContainsFunc(list, func(l Level) bool { return l != Level{} })
		})
		for _, list := range want {
			for i := range list {
				bytes, blocks := list[i].Bytes, list[i].Blocks
				for _, later := range list[i:] {
					bytes, blocks = min(bytes, later.Bytes), min(blocks, later.Blocks)
				}
				list[i].StayBytes, list[i].StayBlocks = bytes, blocks
			}
		}
		if d := cmp.Diff(want, got.Stacks); d != "" {
			t.Fatalf("seed %d, cuts %d:\n%s", seed, cuts, d)
		}
	}
}

// TestMayGrow: what grows is examined, and much of what does not grow is not.
func TestMayGrow(t *testing.T) {
	t.Parallel()
	moments := func(live func(x float64) float64) *Moments {
		m := &Moments{Stacks: map[uint32][]Level{1: make([]Level, growthMoments+1)}}
		for i := range growthMoments + 1 {
			m.Times = append(m.Times, int64(i)*1e9)
			n := uint64(max(live(float64(i)/growthMoments), 0))
			m.Stacks[1][i] = Level{Bytes: 10 * n, Blocks: n}
		}
		return m
	}
	for _, c := range growthCurves {
		m := moments(c.live)
		may := len(m.mayGrow(1)) == 1
		if c.grows && !may {
			t.Errorf("%s: not examined", c.what)
		}
		if c.grows && len(m.mayGrow(1<<40)) > 0 {
			t.Errorf("%s: examined, though it is too small", c.what)
		}
		if got := len(m.suspects([]uint32{1})) == 1; got != c.grows && !c.fine {
			t.Errorf("%s: by the moments alone, it grows: %v", c.what, got)
		}
	}
	for _, what := range []string{"constant", "teeth", "less and less", "until 40 %"} {
		i := slices.IndexFunc(growthCurves, func(c growthCurve) bool { return c.what == what })
		if len(moments(growthCurves[i].live).mayGrow(1)) > 0 {
			t.Errorf("%s: examined for nothing", what)
		}
	}
}
