package check

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/query"
)

// measured has the values of a gate's metrics in one recording.
type measured struct {
	s       *query.Source
	q       *query.Query
	rules   *query.Suppressions
	all     *query.Table // by stack: metrics that do not depend on suppressions; nil: not needed
	leaks   *query.Table // nil: not needed
	missing string
}

// metrics returns the metrics that the gate needs.
func (g *Gate) metrics() []query.Metric {
	var list []query.Metric
	for _, l := range g.Limits {
		list = append(list, l.Metric)
	}
	if g.Baseline != nil {
		list = append(list, g.Baseline.Metrics...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// isLeak reports whether a metric counts leaks, which may be suppressed.
func isLeak(m query.Metric) bool { return m == query.Leaked || m == query.LeakedBlocks }

func (g *Gate) measure(ctx context.Context, s *query.Source) (*measured, error) {
	if s.Profile.OnlyCounted() {
		return nil, fmt.Errorf("%s: its allocations were counted and not recorded, so that no limit can be checked: "+
			"record it without --mode count", s.Reader.Name())
	}
	q, err := g.Question(s)
	if err != nil {
		return nil, err
	}
	m := &measured{s: s, q: q, rules: g.Known.Rules.Fresh()}
	about := *q
	about.By, about.Metrics = query.ByStack, nil
	leaks := false
	for _, metric := range g.metrics() {
		if s.Profile.Sampled() && !metric.OfSamples() {
			return nil, fmt.Errorf("%s: its allocations were sampled, and samples do not give the metric %s: record "+
				"it without --mode sampled, or leave out that limit",
				s.Reader.Name(), metric)
		}
		if isLeak(metric) {
			leaks = true
			continue
		}
		about.Metrics = append(about.Metrics, metric)
	}
	if leaks {
		if m.leaks, err = query.FindLeaks(ctx, s, q,
			query.LeakFilter{Rules: m.rules, Runtime: g.Known.Runtime, Broad: g.Known.Broad}); err != nil {
			return nil, err
		}
		m.missing = m.leaks.Missing
	}
	if about.Metrics == nil {
		return m, nil
	}
	for _, metric := range about.Metrics { // and for bytes the number of blocks
		if n, ok := blocks[metric]; ok && !slices.Contains(about.Metrics, n) {
			about.Metrics = append(about.Metrics, n)
		}
	}
	if m.all, err = query.Flat(ctx, s, &about); err != nil {
		return nil, err
	}
	m.missing = cmp.Or(m.missing, m.all.Missing)
	return m, nil
}

// blocks maps metrics of bytes to the metrics of their number of blocks.
var blocks = map[query.Metric]query.Metric{query.Peak: query.PeakBlocks, query.Leaked: query.LeakedBlocks,
	query.Bytes: query.Allocations, query.TemporaryBytes: query.Temporary}

// rows returns the stacks that have a part in a metric.
func (m *measured) rows(metric query.Metric) []query.Row {
	if isLeak(metric) {
		return m.leaks.Rows
	}
	return m.all.Rows
}

// value returns a metric's value of everything that is selected.
func (m *measured) value(metric query.Metric) uint64 {
	if !isLeak(metric) {
		n, _ := metric.Integer(&m.all.Total)
		return n
	}
	sum := uint64(0)
	for i := range m.leaks.Rows {
		n, _ := metric.Integer(&m.leaks.Rows[i].Total)
		sum += n
	}
	return sum
}

// standardError returns the standard error of value; 0 if it is exact, or not known.
func (m *measured) standardError(metric query.Metric) float64 {
	if !isLeak(metric) {
		e, _ := metric.StandardError(&m.all.Total, m.all.Span)
		return e
	}
	variance := 0.
	for i := range m.leaks.Rows {
		e, _ := metric.StandardError(&m.leaks.Rows[i].Total, m.leaks.Span)
		variance += e * e
	}
	return math.Sqrt(variance)
}

// stacks returns the call stacks' parts in a metric, largest first.
func (m *measured) stacks(metric query.Metric) []Stack {
	var list []Stack
	rows := m.rows(metric)
	for i := range rows {
		n, _ := metric.Integer(&rows[i].Total)
		if n == 0 {
			continue
		}
		st := Stack{ID: rows[i].Stack, Metric: metric, Value: n}
		if b, ok := blocks[metric]; ok {
			st.Blocks, _ = b.Integer(&rows[i].Total)
		}
		list = append(list, st)
	}
	slices.SortStableFunc(list, func(a, b Stack) int { return cmp.Compare(b.Value, a.Value) })
	return list
}

// limit checks a limit.
func (m *measured) limit(l Limit) Check {
	c := Check{Kind: Max, Metric: l.Metric, Value: m.value(l.Metric), Limit: l.Most, Estimate: m.s.Profile.Sampled()}
	c.Error = m.standardError(l.Metric)
	if c.Failed = c.Value > c.Limit; c.Failed {
		c.blame(m.stacks(l.Metric), func(s *Stack) uint64 { return s.Value })
	}
	return c
}

// blame keeps the first stacks that together make up the excess, by the part that each has in it.
func (c *Check) blame(list []Stack, part func(*Stack) uint64) {
	sum := uint64(0)
	for i := range list {
		if sum >= c.Excess() {
			c.Stacks, c.More = list[:i], len(list)-i
			return
		}
		sum += part(&list[i])
	}
	c.Stacks = list
}

// missing says in sentences what is missing in a recording, and adds more unless it is "".
func missing(s *query.Source, q *query.Query, more string) []string {
	p, h := s.Profile, s.Profile.Ending.Health
	list := slices.Clone(p.Damage)
	if more != "" && !slices.Contains(list, more) {
		list = append(list, more)
	}
	switch {
	case p.Live:
		list = append(list, "the process is still running")
	case !p.Ended && len(list) == 0:
		list = append(list, "it does not reach the end of the process")
	}
	if h.LostEvents > 0 {
		list = append(list, fmt.Sprintf("%d events could not be recorded", h.LostEvents))
	}
	if h.NoThread > 0 {
		list = append(list, fmt.Sprintf("%d events were lost for want of memory for a thread's state", h.NoThread))
	}
	if h.TableFull > 0 && (q.Focus != nil || q.Ignore != nil || q.Modules != nil) {
		list = append(list, fmt.Sprintf("%d call stacks were not kept: filters do not see them", h.TableFull))
	}
	return list
}
