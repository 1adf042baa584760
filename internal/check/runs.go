package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/heaptap/heaptap/internal/query"
)

// AskRuns checks the recordings of repeated runs of one program together. Limits must hold in every run; a check has
// the value of the run in which it is largest. Growth must be found in more than half of the runs, since a single
// finding may be wrong. Against a baseline, medians are compared, and what noise explains is no regression.
func (g *Gate) AskRuns(ctx context.Context, runs []*query.Source) ([]Check, []query.Suppression, error) {
	now, err := g.measureAll(ctx, runs)
	if err != nil {
		return nil, nil, err
	}
	list := []Check{g.complete(now)}
	for _, l := range g.Limits {
		list = append(list, worst(now, func(m *measured) Check { return m.limit(l) }))
	}
	if b := g.Baseline; b != nil {
		if b.measured == nil {
			if b.measured, err = g.measureAll(ctx, b.Sources); err != nil {
				return nil, nil, err
			}
		}
		list = append(list, b.compare(b.measured, now)...)
	}
	if g.NoGrowth {
		var failed error
		c := worst(now, func(m *measured) Check {
			c, err := g.growth(ctx, m)
			failed = cmp.Or(failed, err)
			return c
		})
		if failed != nil {
			return nil, nil, failed
		}
		if c.Failed = 2*c.Exceeded > len(runs); !c.Failed {
			c.Stacks, c.More = nil, 0
		}
		list = append(list, c)
	}
	if g.NoMismatches {
		list = append(list, worst(now, func(m *measured) Check { return mismatches(m.s) }))
	}
	return list, suppressed(now), nil
}

func (g *Gate) measureAll(ctx context.Context, sources []*query.Source) (list []*measured, err error) {
	for _, s := range sources {
		m, err := g.measure(ctx, s)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// worst makes a check of each run, and returns the one with the largest value.
func worst(runs []*measured, check func(*measured) Check) (out Check) {
	var values []uint64
	exceeded := 0
	for i, m := range runs {
		c := check(m)
		c.Source = m.s
		values = append(values, c.Value)
		if c.Failed {
			exceeded++
		}
		if i == 0 || c.Value > out.Value {
			out = c
		}
	}
	out.Runs, out.Exceeded = values, exceeded
	return out
}

// suppressed returns what each rule left out in the run in which that was most.
func suppressed(runs []*measured) []query.Suppression {
	list := slices.Clone(runs[0].rules.Rules())
	for _, m := range runs[1:] {
		for i, r := range m.rules.Rules() {
			if r.Bytes > list[i].Bytes {
				list[i] = r
			}
		}
	}
	return list
}

// complete checks that no event is missing.
func (g *Gate) complete(runs []*measured) Check {
	c := Check{Kind: Complete}
	for i, m := range runs {
		for _, text := range missing(m.s, m.q, m.missing) {
			if len(runs) > 1 {
				text = fmt.Sprintf("run %d: %s", i+1, text)
			}
			c.Missing = append(c.Missing, text)
		}
	}
	if b := g.Baseline; b != nil {
		for _, s := range b.Sources {
			for _, text := range missing(s, runs[0].q, "") {
				c.Missing = append(c.Missing, "baseline: "+text)
			}
		}
	}
	c.Failed = len(c.Missing) > 0 && !g.AllowLost
	return c
}
