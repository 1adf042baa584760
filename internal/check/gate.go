package check

import (
	"cmp"
	"context"
	"slices"

	"github.com/heaptap/heaptap/internal/query"
)

// Gate is what recordings must keep to.
type Gate struct {
	Limits       []Limit
	NoGrowth     bool      // no call stack's live bytes may rise steadily
	NoMismatches bool      // no block may be freed by a function that does not belong to the one that allocated it
	Baseline     *Baseline // nil: none
	AllowLost    bool      // a recording in which events are missing may pass
	// Known are leaks that do not count. Its Rules are not changed.
	Known query.LeakFilter
	// Question makes the question about a recording: what of it counts. Its grouping and metrics do not matter.
	Question func(*query.Source) (*query.Query, error)
}

// Limit is the most that a metric may be.
type Limit struct {
	Metric query.Metric
	Most   uint64
}

// Limited are the metrics that may have a limit.
var Limited = []query.Metric{query.Peak, query.OwnPeak, query.Leaked, query.LeakedBlocks, query.Allocations,
	query.Bytes, query.Temporary, query.TemporaryBytes}

// Empty reports whether nothing must hold.
func (g *Gate) Empty() bool {
	return len(g.Limits) == 0 && !g.NoGrowth && !g.NoMismatches && g.Baseline == nil
}

// Kind is what a check is about.
type Kind uint8

// The kinds.
const (
	Complete  Kind = iota // no event is missing
	Max                   // a limit
	Base                  // a metric against the baseline
	StackBase             // the call stacks' growth since the baseline
	Growth
	Mismatches
)

// Check is one thing that must hold, and whether it does.
type Check struct {
	Kind   Kind
	Metric query.Metric
	Failed bool
	// of StackBase: the growth of the stack that grew most; of Growth: how many stacks grow; of Mismatches: blocks
	Value uint64
	Limit uint64
	Base  uint64 // what the baseline has of all stacks
	// Estimate says that the value is one, since the recording is sampled, and Error is its standard error, if that
	// is known.
	Estimate  bool
	Error     float64
	NotJudged uint64 // of Mismatches: deallocations of the parent process's blocks
	// Missing are sentences: what is missing of the recording.
	Missing []string
	Stacks  []Stack // that make up the excess, largest first
	More    int     // so many stacks more have a part in the value
}

// Name is the check's name: that of the flag that asks for it, and for a baseline the metric.
func (c *Check) Name() string {
	switch c.Kind {
	case Max:
		return "max-" + c.Metric.String()
	case Base:
		return "baseline-" + c.Metric.String()
	case StackBase:
		return "baseline-stacks-" + c.Metric.String()
	case Growth:
		return "no-growth"
	case Mismatches:
		return "no-mismatches"
	}
	return "complete"
}

// Excess is by how much the value is above the limit.
func (c *Check) Excess() uint64 {
	if c.Value < c.Limit {
		return 0
	}
	return c.Value - c.Limit
}

// Stack is a call stack's part of a value.
type Stack struct {
	ID      uint32 // of one of the stacks that read the same
	Metric  query.Metric
	Value   uint64
	Blocks  uint64         // of a number of bytes: blocks or allocations that it belongs to
	Base    uint64         // value in the baseline
	Suspect *query.Suspect // of Growth
}

// Result is what came of a recording.
type Result struct {
	File       string
	Source     *query.Source // open while the result is shown; nil if it could not be opened
	Err        error         // it could not be checked
	Checks     []Check
	Suppressed []query.Suppression
}

// OK reports whether everything holds.
func (r *Result) OK() bool {
	return r.Err == nil && !slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Failed })
}

// Ask puts the gate to a recording.
func (g *Gate) Ask(ctx context.Context, s *query.Source) ([]Check, []query.Suppression, error) {
	now, err := g.measure(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	list := []Check{g.complete(now)}
	for _, l := range g.Limits {
		list = append(list, now.limit(l))
	}
	if g.Baseline != nil {
		b := g.Baseline
		if b.measured == nil {
			if b.measured, err = g.measure(ctx, b.Source); err != nil {
				return nil, nil, err
			}
		}
		list = append(list, b.compare(b.measured, now)...)
	}
	if g.NoGrowth {
		c, err := g.growth(ctx, now)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, c)
	}
	if g.NoMismatches {
		list = append(list, mismatches(s))
	}
	return list, now.rules.Rules(), nil
}

// mismatches checks the whole recording, whatever the question selects.
func mismatches(s *query.Source) Check {
	c := Check{Kind: Mismatches, Metric: query.Allocations, NotJudged: s.Profile.Totals.Inherited}
	for _, x := range s.Profile.Mismatches {
		c.Value += x.Count
		c.Stacks = append(c.Stacks, Stack{ID: x.Stack, Metric: query.Allocations, Value: x.Count})
	}
	slices.SortStableFunc(c.Stacks, func(a, b Stack) int { return cmp.Compare(b.Value, a.Value) })
	c.Failed = c.Value > 0
	return c
}

// complete checks that no event is missing.
func (g *Gate) complete(m *measured) Check {
	c := Check{Kind: Complete, Missing: missing(m.s, m.q, m.missing)}
	if b := g.Baseline; b != nil {
		for _, text := range missing(b.Source, m.q, "") {
			c.Missing = append(c.Missing, "baseline: "+text)
		}
	}
	c.Failed = len(c.Missing) > 0 && !g.AllowLost
	return c
}

func (g *Gate) growth(ctx context.Context, m *measured) (Check, error) {
	list, err := query.FindGrowth(ctx, m.s, m.q, query.LeakFilter{Rules: m.rules, Runtime: g.Known.Runtime})
	c := Check{Kind: Growth, Metric: query.Live, Value: uint64(len(list)), Failed: len(list) > 0}
	for i := range list {
		x := &list[i]
		c.Stacks = append(c.Stacks, Stack{ID: x.Stack, Metric: query.Live, Value: x.End - min(x.Begin, x.End),
			Suspect: x})
	}
	return c, err
}
