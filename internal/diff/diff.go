package diff

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// Side is one of the two sides of a comparison. Both queries must have the same metrics and grouping.
type Side struct {
	Source *query.Source
	Query  *query.Query
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
)

func (s Status) String() string { return [...]string{"unchanged", "new", "gone", "grown", "shrunk"}[s] }

// Pair has a group's values before and after.
type Pair struct{ Before, After query.Values }

// Row is one group of both recordings.
type Row struct {
	query.Group // as the second recording names it; if it is gone, as the first one does
	Status      Status
	Self, Total Pair
}

// Table is the difference without hierarchy.
type Table struct {
	Before, After query.Answer
	Rows          []Row // sorted by the change of the first metric's total, largest first; unchanged ones last
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
func Compare(ctx context.Context, before, after Side) (*Table, error) {
	name(&before, &after)
	a, err := query.Flat(ctx, before.Source, before.Query)
	if err != nil {
		return nil, err
	}
	b, err := query.Flat(ctx, after.Source, after.Query)
	if err != nil {
		return nil, err
	}
	t := &Table{Before: a.Answer, After: b.Answer}
	paths := newPaths()
	at := make(map[any]int)
	row := func(side Side, r *query.Row) *Row {
		k := paths.key(side, &r.Group)
		i, ok := at[k]
		if !ok {
			i = len(t.Rows)
			at[k] = i
			t.Rows = append(t.Rows, Row{Group: r.Group})
		}
		return &t.Rows[i]
	}
	for i := range b.Rows {
		r := row(after, &b.Rows[i])
		r.Self.After, r.Total.After = b.Rows[i].Self, b.Rows[i].Total
	}
	for i := range a.Rows {
		r := row(before, &a.Rows[i])
		r.Self.Before, r.Total.Before = a.Rows[i].Self, a.Rows[i].Total
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		r.Status = t.status(&r.Self, &r.Total)
		restore(&r.Group)
	}
	t.sort(func(r *Row) *Pair { return &r.Total }, func(r *Row) *Pair { return &r.Self })
	return t, nil
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

// order puts unchanged rows last.
func order(s Status) int {
	if s == Unchanged {
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

// name gives the same things the same names on both sides. Two ranges of one recording have them already.
func name(before, after *Side) {
	if before.Source == after.Source {
		return
	}
	b := newOwn(after.Source)
	a := &translated{own: newOwn(before.Source), by: before.Query.By, threads: pairThreads(before.Source, after.Source)}
	a.cache = make(map[uint32][]profile.Frame)
	a.a = align(a.own, b)
	for side, names := range map[*Side]query.Names{before: a, after: b} {
		q := *side.Query
		q.Names = names
		side.Query = &q
	}
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
