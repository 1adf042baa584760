package check

import (
	"cmp"
	"context"
	"slices"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// Gate is the set of limits for recordings.
type Gate struct {
	Limits       []Limit
	NoGrowth     bool      // no call stack's live bytes may rise steadily
	NoMismatches bool      // no block may be freed by a function that does not match the allocation function
	Baseline     *Baseline // nil: none
	AllowLost    bool      // a recording in which events are missing may pass
	// Known are leaks that do not count. Its Rules are not changed.
	Known query.LeakFilter
	// Question returns the query that selects what counts in a recording. Its grouping and metrics are ignored.
	Question func(*query.Source) (*query.Query, error)
}

// Limit is the largest allowed value of a metric.
type Limit struct {
	Metric query.Metric
	Most   uint64
}

// ParseLimit reads the limit of a metric: a size, or a number.
func ParseLimit(m query.Metric, text string) (Limit, error) {
	parse := humanize.ParseCount
	if m.Unit() == query.ByteCount {
		parse = humanize.ParseSize
	}
	n, err := parse(text)
	return Limit{m, uint64(n)}, err
}

// Limited are the metrics that may have a limit.
var Limited = []query.Metric{query.Peak, query.OwnPeak, query.Leaked, query.LeakedBlocks, query.Allocations,
	query.Bytes, query.Temporary, query.TemporaryBytes}

// Empty reports whether there are no limits.
func (g *Gate) Empty() bool {
	return len(g.Limits) == 0 && !g.NoGrowth && !g.NoMismatches && g.Baseline == nil
}

// AboutLeaks reports whether a limit is about leaks or growth, so that suppressions matter.
func (g *Gate) AboutLeaks() bool { return g.NoGrowth || slices.ContainsFunc(g.metrics(), isLeak) }

// Kind is what a check is about.
type Kind uint8

// The kinds.
const (
	Complete  Kind = iota // no event is missing
	Max                   // a limit
	Base                  // a metric against the baseline
	StackBase             // the growth of call stacks since the baseline
	Growth
	Mismatches
)

// Check is one limit, and whether it is kept.
type Check struct {
	Kind   Kind
	Metric query.Metric
	Failed bool
	// Of StackBase: the growth of the stack that grew most; of Growth: number of growing stacks; of Mismatches: blocks
	Value uint64
	Limit uint64
	Base  uint64 // the baseline's value of all stacks
	// Runs are the values in repeated runs, or the one value, and BaseRuns those of the baseline. Exceeded is the
	// number of runs in which a limit does not hold. Chance, of Base, is the probability that noise alone makes the
	// values of this size; NotKnown says that noise is not known, since there is one run of either, and Few that no
	// result of so few runs is certain.
	Runs, BaseRuns []uint64
	Exceeded       int
	Chance         float64
	NotKnown, Few  bool
	// Estimate says that the value is an estimate from samples. Error is its standard error, if known.
	Estimate  bool
	Error     float64
	NotJudged uint64 // of Mismatches: deallocations of the parent process's blocks
	// Missing says, in sentences, what is missing in the recording.
	Missing []string
	Source  *query.Source // the run that the stacks are of; nil: they have none
	Stacks  []Stack       // that make up the excess, largest first
	More    int           // number of further stacks that have a part in the value
}

// Name is the check's name: that of its flag, and for a baseline the metric.
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

// Excess returns by how much the value exceeds the limit.
func (c *Check) Excess() uint64 {
	if c.Value < c.Limit {
		return 0
	}
	return c.Value - c.Limit
}

// Stack is the part of a value that a call stack has.
type Stack struct {
	ID      uint32 // one of the stacks with the same text
	Metric  query.Metric
	Value   uint64
	Blocks  uint64         // if the value is in bytes: the number of blocks or allocations
	Base    uint64         // value in the baseline
	Suspect *query.Suspect // of Growth
}

// Result is the result for one recording, or for repeated runs.
type Result struct {
	File       string
	Source     *query.Source // the first run; open while the result is shown; nil if it could not be opened
	Err        error         // why it could not be checked
	Checks     []Check
	Suppressed []query.Suppression
}

// OK reports whether all limits are kept.
func (r *Result) OK() bool {
	return r.Err == nil && !slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Failed })
}

// Ask checks a recording.
func (g *Gate) Ask(ctx context.Context, s *query.Source) ([]Check, []query.Suppression, error) {
	return g.AskRuns(ctx, []*query.Source{s})
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

func (g *Gate) growth(ctx context.Context, m *measured) (Check, error) {
	list, err := query.FindGrowth(ctx, m.s, m.q, query.LeakFilter{Rules: m.rules, Runtime: g.Known.Runtime,
		Broad: g.Known.Broad})
	c := Check{Kind: Growth, Metric: query.Live, Value: uint64(len(list)), Failed: len(list) > 0}
	for i := range list {
		x := &list[i]
		c.Stacks = append(c.Stacks, Stack{ID: x.Stack, Metric: query.Live, Value: x.End - min(x.Begin, x.End),
			Suspect: x})
	}
	return c, err
}
