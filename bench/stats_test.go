package main

import (
	"math"
	"testing"
)

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		v       []float64
		q, want float64
	}{
		{nil, .5, 0},
		{[]float64{7}, .25, 7},
		{[]float64{3, 1, 2}, .5, 2},
		{[]float64{4, 1, 3, 2}, .5, 2.5},
		{[]float64{5, 1, 4, 2, 3}, .25, 2},
		{[]float64{10, 20}, .75, 17.5},
	} {
		before := append([]float64(nil), c.v...)
		if got := quantile(c.v, c.q); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("quantile(%v, %v) = %v, want %v", c.v, c.q, got, c.want)
		}
		for i := range before {
			if c.v[i] != before[i] {
				t.Fatalf("quantile has changed its argument to %v", c.v)
			}
		}
	}
}

// A machine that is half as fast in every other run changes the variants' medians, but not the difference computed run
// by run.
func TestPairedRunByRun(t *testing.T) {
	var base, with []sample
	for i := range 5 {
		slow := 1 + float64(i%2)*4
		base = append(base, sample{cpuNs: 100 * slow, units: 10})
		with = append(with, sample{cpuNs: 100*slow + 30, units: 10})
	}
	with[2].failed = "crashes"
	base[3].failed = "crashes"
	f := figureOf(paired(with, base, func(a, b float64) float64 { return a - b }))
	if math.Abs(f.median-3) > 1e-9 || f.spread > 1e-9 {
		t.Errorf("added %v, want 3 without any spread", f)
	}
	if n := len(paired(with[:4], base, func(a, b float64) float64 { return a })); n != 2 {
		t.Errorf("%d pairs of four runs of which two failed, want 2", n)
	}
}
