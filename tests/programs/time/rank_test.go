package main

import (
	"math"
	"testing"
)

// TestRanks compares with values that were computed by hand.
func TestRanks(t *testing.T) {
	for _, c := range []struct {
		x, y              []float64
		spearman, kendall float64
	}{
		{[]float64{1, 2, 3, 4}, []float64{10, 20, 30, 40}, 1, 1},
		{[]float64{1, 2, 3, 4}, []float64{4, 3, 2, 1}, -1, -1},
		{[]float64{1, 2, 3, 4}, []float64{2, 1, 4, 3}, .6, 1. / 3}, // 1 - 6*4/(4*15); (4-2)/6
		{[]float64{1, 1, 2}, []float64{1, 2, 3}, math.Sqrt(3) / 2, 2 / math.Sqrt(6)},
	} {
		var pairs []pair
		for i := range c.x {
			pairs = append(pairs, pair{perf: c.x[i], heaptap: c.y[i]})
		}
		if s, k := spearman(pairs), kendall(pairs); math.Abs(s-c.spearman) > 1e-9 || math.Abs(k-c.kendall) > 1e-9 {
			t.Errorf("%v, %v: Spearman %v, Kendall %v; want %v, %v", c.x, c.y, s, k, c.spearman, c.kendall)
		}
	}
}
