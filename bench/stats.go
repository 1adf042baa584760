package main

import (
	"math"
	"slices"
)

// figure is a median over several runs. spread is half the distance between the quartiles.
type figure struct{ median, spread float64 }

func figureOf(v []float64) figure {
	return figure{median: quantile(v, .5), spread: (quantile(v, .75) - quantile(v, .25)) / 2}
}

func median(v []float64) float64 { return quantile(v, .5) }

// quantile returns the q-quantile of v, interpolated linearly; 0 if v is empty.
func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	at := q * float64(len(v)-1)
	low := int(math.Floor(at))
	high := min(low+1, len(v)-1)
	return v[low] + (v[high]-v[low])*(at-float64(low))
}

// paired combines the samples of two variants run by run, so that a temporary slowdown of the machine affects both. It
// leaves out runs of which one failed or is missing.
func paired(a, base []sample, combine func(a, base float64) float64) []float64 {
	var v []float64
	for i := range min(len(a), len(base)) {
		if a[i].failed == "" && base[i].failed == "" {
			v = append(v, combine(a[i].perUnit(), base[i].perUnit()))
		}
	}
	return v
}
