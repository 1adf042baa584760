package check

import (
	"math"
	"slices"
)

// alpha is the probability with which noise alone may fail a comparison of repeated runs with a baseline, all metrics
// together.
const alpha = .05

// MaxRuns is the largest number of runs that can be compared.
const MaxRuns = 50

// chance returns the probability that noise alone makes values as large as these, compared with those before: of all
// ways to divide the values into two groups of these sizes, the share in which the first group has the same sum of
// ranks or more. This is the exact, one-sided test of Mann, Whitney and Wilcoxon; equal values share their ranks.
func chance(now, before []uint64) float64 {
	all := slices.Sorted(slices.Values(slices.Concat(now, before)))
	rank := func(v uint64) int { // twice, to be an integer
		first, _ := slices.BinarySearch(all, v)
		end, _ := slices.BinarySearch(all, v+1)
		return first + 1 + end
	}
	sum, most := 0, 0
	for _, v := range now {
		sum += rank(v)
	}
	for _, v := range all {
		most += rank(v)
	}
	// ways[k][s] is the number of groups of k of the values so far with the sum of ranks s.
	ways := make([][]float64, len(now)+1)
	for k := range ways {
		ways[k] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for i, v := range all {
		r := rank(v)
		for k := min(i+1, len(now)); k > 0; k-- {
			for s := most; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	asMany, total := 0., 0.
	for s, n := range ways[len(now)] {
		if total += n; s >= sum {
			asMany += n
		}
	}
	return asMany / total
}

// leastChance is the least value of chance for groups of these sizes.
func leastChance(now, before int) float64 {
	ways := 1.
	for i := range now {
		ways *= float64(before+now-i) / float64(now-i)
	}
	return 1 / math.Round(ways)
}

// median returns the value in the middle; of an even number of values, the mean of the two in the middle.
func median(values []uint64) uint64 {
	s := slices.Sorted(slices.Values(values))
	a, b := s[(len(s)-1)/2], s[len(s)/2]
	return a + (b-a)/2
}

// middle returns the index of the value that is nearest to the median.
func middle(values []uint64) (at int) {
	m := median(values)
	away := func(v uint64) uint64 { return max(v, m) - min(v, m) }
	for i, v := range values {
		if away(v) < away(values[at]) {
			at = i
		}
	}
	return at
}
