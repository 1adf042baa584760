package query

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestEstimateSizes compares the estimate of a histogram with histograms of the blocks that were chosen: it is their
// sum, as often as these count, and its margins are those that their values have.
func TestEstimateSizes(t *testing.T) {
	t.Parallel()
	known, unknown := 0, 0
	for seed := range uint64(4) {
		s, events := random(t, seed, 4000)
		rng := rand.New(rand.NewPCG(seed, 9))
		q := &Query{Sizes: &Interval{0, 1 << (4 + rng.IntN(7))},
			Estimate: &Sample{Events: 500, Seed: rng.Uint64()}}
		if rng.IntN(2) == 0 {
			from := rng.Uint64N(1000)
			q.Range = &Range{from, from + 2000 + rng.Uint64N(uint64(len(events))-3000)}
		}
		one := *q
		one.Metrics = []Metric{Bytes}
		a := newTestDraw(t, s, &one)
		got, err := EstimateSizes(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		if got.Estimate == nil || got.NeverFreed != (Bucket{}) || got.Moves != nil {
			t.Fatalf("%+v, %+v", got.Estimate, got.NeverFreed)
		}
		var want Histogram
		exact := make(map[uint64]uint64)
		var counts [2][Classes][]float32
		for i := range counts {
			for class := range Classes {
				counts[i][class] = make([]float32, len(a.draw.blocks))
			}
		}
		for i, b := range a.draw.blocks {
			h, w := s.Reader.EventBlocks().Head(b), a.draw.weights[i]
			part := *q
			part.Estimate = nil
			part.Range = &Range{max(h.FirstEvent, a.From), min(h.FirstEvent+h.Events, a.To)}
			block, err := Distribute(t.Context(), s, &part)
			if err != nil {
				t.Fatal(err)
			}
			times := func(b Bucket) Bucket { return Bucket{w * b.Count, w * b.Bytes} }
			for class := range Classes {
				want.Sizes[class].add(times(block.Sizes[class]))
				want.Lifetimes[class].add(times(block.Lifetimes[class]))
				want.Freed[class].add(times(block.Freed[class]))
				want.Slack[class].add(Slacks{w * block.Slack[class].Count, w * block.Slack[class].Requested,
					w * block.Slack[class].Slack})
				for age := range Classes {
					want.Ages[class][age].add(times(block.Ages[class][age]))
				}
				counts[0][class][i] = float32(block.Sizes[class].Count)
				counts[1][class][i] = float32(block.Lifetimes[class].Count)
			}
			for _, x := range block.Exact {
				exact[x.Size] += w * x.Count
			}
		}
		if got.Sizes != want.Sizes || got.Lifetimes != want.Lifetimes || got.Freed != want.Freed ||
			got.Slack != want.Slack || got.Ages != want.Ages {
			t.Fatalf("seed %d: %v and %v; want %v and %v", seed, got.Sizes, got.Lifetimes, want.Sizes,
				want.Lifetimes)
		}
		for _, x := range got.Exact {
			if exact[x.Size] != x.Count {
				t.Fatalf("size %d: %d, want %d", x.Size, x.Count, exact[x.Size])
			}
		}
		var steps uint64
		for step := range got.Times {
			for _, b := range got.Times[step] {
				steps += b.Count
			}
		}
		if steps != got.Total.Allocations || len(got.Exact) != len(exact) {
			t.Fatalf("%d in steps of time, of %d; %d sizes of %d", steps, got.Total.Allocations, len(got.Exact),
				len(exact))
		}
		for i, margins := range [2]*[Classes]float64{&got.Margins.Sizes, &got.Margins.Lifetimes} {
			for class, margin := range margins {
				m, ok := a.draw.margin(counts[i][class])
				in := 0
				for _, n := range counts[i][class] {
					if n > 0 {
						in++
					}
				}
				ok = ok && in >= 10
				if ok == math.IsNaN(margin) || ok && math.Abs(m-margin) > 1e-6*m {
					t.Fatalf("class %d: ± %g, want %g %v", class, margin, m, ok)
				}
				if ok {
					known++
				} else {
					unknown++
				}
			}
		}
	}
	if known < 20 || unknown < 20 {
		t.Errorf("%d intervals, and %d classes without one", known, unknown)
	}
}
