package diff

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/query"
)

// Side is one recording of one of the two sides of a comparison. All queries must have the same metrics and grouping.
type Side struct {
	Source *query.Source
	Query  *query.Query
}

// Comparison is what is compared: before with after, each of which may have several runs of the same program. The last
// run of after names what all have in common.
type Comparison struct {
	Before, After []Side
	// Scale multiplies what was before, so that what can be added adds up to the same on both sides: what is left are
	// changes of shares.
	Scale bool
	// All has trees keep what has not changed.
	All bool
	// Up asks for trees of callers: from the allocating functions to main.
	Up bool
}

// Last returns the last run of each side.
func (c *Comparison) Last() (before, after Side) {
	return c.Before[len(c.Before)-1], c.After[len(c.After)-1]
}

// Between compares two recordings, or two ranges of one.
func Between(before, after Side) *Comparison {
	return &Comparison{Before: []Side{before}, After: []Side{after}}
}

// Status says how a group has changed.
type Status uint8

// The statuses.
const (
	Unchanged Status = iota // none of the metrics has changed
	New                     // all metrics were 0
	Gone                    // all metrics are 0 now
	Grown                   // the first metric that has changed is larger
	Shrunk
	Varying // of repeated runs, the first metric's values before and after overlap: it may have changed by chance
)

func (s Status) String() string {
	return [...]string{"unchanged", "new", "gone", "grown", "shrunk", "varying"}[s]
}

// Pair has a group's values before and after; of repeated runs, the medians.
type Pair struct{ Before, After query.Values }

// Spread has the least and the most that a metric was in repeated runs.
type Spread struct{ Before, After [2]float64 }

// overlap reports whether a value before may be one after.
func (s Spread) overlap() bool { return s.Before[0] <= s.After[1] && s.After[0] <= s.Before[1] }

// Row is one group of all recordings.
type Row struct {
	query.Group               // as the last run of the second side that has it names it; if it is gone, the first
	Source      *query.Source // of that run
	Status      Status
	Self, Total Pair
	Spread      []Spread // of the totals, by metric; nil: no side has several runs
}

// Table is the difference without hierarchy.
type Table struct {
	Before, After query.Answer // of the last runs; the totals are those of all
	Spread        []Spread     // of the whole
	Rows          []Row        // sorted by the change of the first metric's total, largest first; unchanged ones last
}

// Unchanged returns the number of unchanged rows.
func (t *Table) Unchanged() (n int) {
	for i := range t.Rows {
		if t.Rows[i].Status == Unchanged {
			n++
		}
	}
	return n
}

// Changed returns the rows that have changed.
func (t *Table) Changed() []Row { return t.Rows[:len(t.Rows)-t.Unchanged()] }

// Compare answers with a table.
func Compare(ctx context.Context, c *Comparison) (*Table, error) {
	c = c.named()
	paths := newPaths()
	t := &Table{}
	var rows []*runs // by row: the values of each run
	at := make(map[any]int)
	whole := c.newRuns()
	err := c.each(func(n int, side Side) error {
		a, err := query.Flat(ctx, side.Source, side.Query)
		if err != nil {
			return err
		}
		*t.answer(c, n) = a.Answer
		whole.total[n] = a.Total
		for i := range a.Rows {
			r := &a.Rows[i]
			k := paths.key(side, &r.Group)
			row, ok := at[k]
			if !ok {
				row = len(rows)
				at[k] = row
				t.Rows = append(t.Rows, Row{Group: r.Group, Source: side.Source})
				rows = append(rows, c.newRuns())
			}
			rows[row].self[n], rows[row].total[n] = r.Self, r.Total
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	factors := c.factors(whole)
	all := c.pair(whole.total, factors)
	t.Before.Total, t.After.Total = all.Before, all.After
	t.Spread = c.spread(whole.total, &t.Before, &t.After)
	for i := range t.Rows {
		r := &t.Rows[i]
		r.Self, r.Total = c.pair(rows[i].self, factors), c.pair(rows[i].total, factors)
		r.Spread = c.spread(rows[i].total, &t.Before, &t.After)
		r.Status = t.status(&r.Self, &r.Total)
		if first := slices.IndexFunc(t.After.Metrics, func(m query.Metric) bool {
			return t.Change(m, &r.Total) != 0
		}); r.Status != Unchanged && r.Spread != nil && first >= 0 && r.Spread[first].overlap() {
			r.Status = Varying
		}
		restore(&r.Group)
	}
	t.sort(func(r *Row) *Pair { return &r.Total }, func(r *Row) *Pair { return &r.Self })
	return t, nil
}

// answer is where the answer of a run goes: that of the last one of its side stays.
func (t *Table) answer(c *Comparison, n int) *query.Answer {
	if n < len(c.Before) {
		return &t.Before
	}
	return &t.After
}

// SortSelf sorts by the self of the first metric instead.
func (t *Table) SortSelf() {
	t.sort(func(r *Row) *Pair { return &r.Self }, func(r *Row) *Pair { return &r.Total })
}

func (t *Table) sort(by ...func(*Row) *Pair) {
	size := func(r *Row, m query.Metric, of func(*Row) *Pair) float64 { return math.Abs(t.Change(m, of(r))) }
	slices.SortStableFunc(t.Rows, func(a, b Row) int {
		if c := cmp.Compare(order(a.Status), order(b.Status)); c != 0 {
			return c
		}
		for _, m := range t.After.Metrics {
			for _, of := range by {
				if c := cmp.Compare(size(&b, m, of), size(&a, m, of)); c != 0 {
					return c
				}
			}
		}
		return 0
	})
}

// order puts unchanged rows last, and those that vary before them.
func order(s Status) int {
	switch s {
	case Unchanged:
		return 2
	case Varying:
		return 1
	}
	return 0
}

// Change returns by how much a metric has changed.
func (t *Table) Change(m query.Metric, p *Pair) float64 { return change(&t.Before, &t.After, m, p) }

func change(before, after *query.Answer, m query.Metric, p *Pair) float64 {
	if b, ok := m.Integer(&p.Before); ok {
		a, _ := m.Integer(&p.After)
		return float64(int64(a - b))
	}
	return m.Of(&p.After, after.Span) - m.Of(&p.Before, before.Span)
}

// status compares the totals, and, if these are equal, the selves.
func (t *Table) status(self, total *Pair) Status {
	before, after, first := false, false, Unchanged
	for _, p := range []*Pair{total, self} {
		for _, m := range t.After.Metrics {
			before = before || m.Of(&p.Before, t.Before.Span) != 0
			after = after || m.Of(&p.After, t.After.Span) != 0
			switch c := t.Change(m, p); {
			case first != Unchanged || c == 0:
			case c > 0:
				first = Grown
			default:
				first = Shrunk
			}
		}
	}
	switch {
	case first == Unchanged:
		return Unchanged
	case !before:
		return New
	case !after:
		return Gone
	}
	return first
}

// restore removes the marks that rename set in a group's name.
func restore(g *query.Group) {
	g.Line &^= unpaired
	g.Thread &^= unpaired
}

// paths numbers call stacks. Those with the same text have the same number.
type paths struct {
	groups map[query.Group]int32
	next   map[[2]int32]int32
	nodes  map[*query.Query]map[uint32]int32
}

func newPaths() *paths {
	return &paths{make(map[query.Group]int32), make(map[[2]int32]int32), make(map[*query.Query]map[uint32]int32)}
}

// key is equal for groups of both recordings that are the same.
func (p *paths) key(side Side, g *query.Group) any {
	if g.By != query.ByStack {
		return *g
	}
	known := p.nodes[side.Query]
	if known == nil {
		known = make(map[uint32]int32)
		p.nodes[side.Query] = known
	}
	nodes := side.Source.Reader.Nodes()
	var way []uint32
	at := int32(0)
	for id := g.Stack; id != 0 && len(way) < nodes.Len(); {
		n, ok := known[id]
		if ok {
			at = n
			break
		}
		way = append(way, id)
		node, ok := nodes.Get(id)
		if !ok {
			break
		}
		id = node.Parent
	}
	for _, id := range slices.Backward(way) {
		node, _ := nodes.Get(id)
		for _, g := range slices.Backward(side.Query.StackGroups(side.Source, node.PC)) {
			at = p.down(at, g)
		}
		known[id] = at
	}
	return at
}

func (p *paths) down(at int32, g query.Group) int32 {
	id, ok := p.groups[g]
	if !ok {
		id = int32(len(p.groups))
		p.groups[g] = id
	}
	k := [2]int32{at, id}
	next, ok := p.next[k]
	if !ok {
		next = int32(len(p.next) + 1)
		p.next[k] = next
	}
	return next
}
