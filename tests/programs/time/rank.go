package main

import (
	"math"
	"slices"
)

// ranks returns the ranks of numbers; equal numbers share their mean rank.
func ranks(v []float64) []float64 {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case v[a] < v[b]:
			return -1
		case v[a] > v[b]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(v))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && v[order[j]] == v[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			out[order[k]] = float64(i+j-1) / 2
		}
		i = j
	}
	return out
}

// pearson returns the correlation of two series, from -1 to 1; NaN if one of them does not vary.
func pearson(x, y []float64) float64 {
	var mx, my, xy, xx, yy float64
	for i := range x {
		mx += x[i] / float64(len(x))
		my += y[i] / float64(len(y))
	}
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
	}
	return xy / math.Sqrt(xx*yy)
}

func columns(pairs []pair) (x, y []float64) {
	for _, p := range pairs {
		x, y = append(x, p.perf), append(y, p.heaptap)
	}
	return x, y
}

// spearman returns Spearman's rank correlation.
func spearman(pairs []pair) float64 {
	x, y := columns(pairs)
	return pearson(ranks(x), ranks(y))
}

// kendall returns Kendall's tau-b.
func kendall(pairs []pair) float64 {
	x, y := columns(pairs)
	var sum, nx, ny float64
	for i := range x {
		for j := range i {
			a, b := sign(x[i]-x[j]), sign(y[i]-y[j])
			sum += a * b
			nx += a * a
			ny += b * b
		}
	}
	return sum / math.Sqrt(nx*ny)
}

func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}
