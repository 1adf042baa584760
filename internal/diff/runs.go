package diff

import (
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// runs are the values of a group in each run: those before, then those after.
type runs struct{ self, total []query.Values }

func (c *Comparison) newRuns() *runs {
	n := len(c.Before) + len(c.After)
	return &runs{make([]query.Values, n), make([]query.Values, n)}
}

// each calls do for each run: those after first, since they name what all have in common.
func (c *Comparison) each(do func(n int, side Side) error) error {
	for i := range slices.Backward(c.After) {
		if err := do(len(c.Before)+i, c.After[i]); err != nil {
			return err
		}
	}
	for i := range c.Before {
		if err := do(i, c.Before[i]); err != nil {
			return err
		}
	}
	return nil
}

// named gives the same things the same names in all runs. Ranges of one recording have them already.
func (c *Comparison) named() *Comparison {
	out := *c
	out.Before, out.After = slices.Clone(c.Before), slices.Clone(c.After)
	last := out.After[len(out.After)-1].Source
	if !slices.ContainsFunc(slices.Concat(out.Before, out.After), func(s Side) bool { return s.Source != last }) {
		return &out
	}
	common := newOwn(last)
	known := map[*query.Source]query.Names{last: common}
	for _, sides := range [][]Side{out.Before, out.After} {
		for i := range sides {
			side := &sides[i]
			if known[side.Source] == nil {
				a := &translated{own: newOwn(side.Source), by: side.Query.By, threads: pairThreads(side.Source, last)}
				a.cache = make(map[uint32][]profile.Frame)
				a.a = align(a.own, common)
				known[side.Source] = a
			}
			q := *side.Query
			q.Names = known[side.Source]
			side.Query = &q
		}
	}
	return &out
}

// source is the recording of a run.
func (c *Comparison) source(run int) *query.Source {
	if run < len(c.Before) {
		return c.Before[run].Source
	}
	return c.After[run-len(c.Before)].Source
}

// repeated reports whether a side has several runs.
func (c *Comparison) repeated() bool { return len(c.Before) > 1 || len(c.After) > 1 }

// factors are what the numbers that add up are multiplied with in the runs before; nil: nothing is.
func (c *Comparison) factors(whole *runs) []float64 {
	if !c.Scale {
		return nil
	}
	before, after := median(whole.total[:len(c.Before)]), median(whole.total[len(c.Before):])
	sums, _ := before.Numbers()
	wanted, _ := after.Numbers()
	factors := make([]float64, len(sums))
	for i := range factors {
		factors[i] = 1
		if *sums[i] > 0 && *wanted[i] > 0 {
			factors[i] = float64(*wanted[i]) / float64(*sums[i])
		}
	}
	return factors
}

// pair returns the medians of both sides. The values before are multiplied with the factors, which changes them.
func (c *Comparison) pair(of []query.Values, factors []float64) Pair {
	if factors != nil {
		for i := range c.Before {
			sums, _ := of[i].Numbers()
			for k, n := range sums {
				*n = uint64(math.Round(float64(*n) * factors[k]))
			}
			of[i].Variances = nil // errors of other numbers
		}
	}
	return Pair{median(of[:len(c.Before)]), median(of[len(c.Before):])}
}

// median returns the median of each number: of an even count, the mean of the two in the middle.
func median(of []query.Values) query.Values {
	if len(of) == 1 {
		return of[0]
	}
	// A mean lifetime is that of the run in the middle.
	byLifetime := slices.SortedFunc(slices.Values(of), func(a, b query.Values) int {
		x, _ := query.MeanLifetime.Integer(&a)
		y, _ := query.MeanLifetime.Integer(&b)
		return int(min(max(int64(x-y), -1), 1))
	})
	out := query.Values{Lifetime: byLifetime[len(of)/2].Lifetime}
	numbers := func(v *query.Values) []*uint64 {
		sums, others := v.Numbers()
		return append(sums, others...)
	}
	lists := make([][]*uint64, len(of))
	for i := range of {
		lists[i] = numbers(&of[i])
	}
	column := make([]uint64, len(of))
	for k, n := range numbers(&out) {
		for i := range of {
			column[i] = *lists[i][k]
		}
		slices.Sort(column)
		low, high := column[(len(of)-1)/2], column[len(of)/2]
		*n = low + (high-low)/2
	}
	return out
}

// spread returns the least and the most of each metric; nil if no side has several runs.
func (c *Comparison) spread(of []query.Values, before, after *query.Answer) []Spread {
	if !c.repeated() {
		return nil
	}
	list := make([]Spread, len(after.Metrics))
	for i, m := range after.Metrics {
		list[i] = Spread{extent(of[:len(c.Before)], m, before.Span), extent(of[len(c.Before):], m, after.Span)}
	}
	return list
}

func extent(of []query.Values, m query.Metric, span int64) [2]float64 {
	out := [2]float64{math.Inf(1), math.Inf(-1)}
	for i := range of {
		v := m.Of(&of[i], span)
		out[0], out[1] = min(out[0], v), max(out[1], v)
	}
	return out
}
