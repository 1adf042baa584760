package query

import (
	"cmp"
	"context"
	"slices"
)

// Table is an answer without hierarchy.
type Table struct {
	Answer
	Rows []Row // sorted by the total of the first metric, largest first; without rows that have nothing of it
}

// Row is one group of a table.
type Row struct {
	Group
	Self, Total Values
}

// Flat answers with a table. By stacks and by blocks, self and total are the same; a region's total includes the
// regions within it.
func Flat(ctx context.Context, s *Source, q *Query) (*Table, error) {
	r, err := tabulate(ctx, s, q)
	if err != nil {
		return nil, err
	}
	return r.table(), nil
}

// table makes a table of cells.
func (a *ask) table(c *cells) (*Table, error) {
	n, err := a.sumsOf(c, fieldsFor(a.Metrics), !a.q.By.ofBlocks())
	if err != nil {
		return nil, err
	}
	r, err := n.rows()
	if err != nil {
		return nil, err
	}
	return r.table(), nil
}

// rows are the rows of a table in columns.
type rows struct {
	Answer
	n      *nodeSums
	groups []Group
	nodes  []int32 // by stack: of each row, its node; else nil
	self   *Sums
	total  *Sums   // by stack, the same as self
	order  []int32 // rows as a Table has them; those that are missing have nothing of the metrics
}

// tabulate makes the rows of a table.
func tabulate(ctx context.Context, s *Source, q *Query) (*rows, error) {
	a, err := newAsk(ctx, s, q)
	if err != nil {
		return nil, err
	}
	a.noStacks = q.By.ofBlocks()
	a.estimate()
	n, err := a.nodeSums(!q.By.ofBlocks())
	if err != nil {
		return nil, err
	}
	defer n.release()
	return n.rows()
}

// grouped sums up a forest by group, or by node for whole stacks. slots are the own peaks in which a block at the end
// of a chain counts: first those of all selves.
func (n *nodeSums) grouped() (r *rows, slots func(chain int32) []int32) {
	r = &rows{n: n, Answer: n.a.Answer}
	if n.a.q.By == ByStack {
		return r, r.byStack()
	}
	return r, r.byGroup()
}

// rows are the groups in order.
func (n *nodeSums) rows() (*rows, error) {
	r, slots := n.grouped()
	if n.a.ownPeaks {
		p := newPeaks(n.a, n.cells, n.ofCell, slots)
		wanted := []*Sums{r.self, r.total}
		if r.self == r.total {
			wanted = wanted[:1]
		}
		for _, s := range wanted {
			col := s.column(fieldOwnPeak)
			for i := range col {
				col[i] = 0
				p.want(&col[i])
			}
		}
		if err := p.find(); err != nil {
			return nil, err
		}
	}
	if d := n.a.draw; d != nil {
		outs := r.self.wantMargins(d, nil)
		if r.self != r.total {
			outs = r.total.wantMargins(d, outs)
		}
		d.spread(outs, n.ofCell, slots)
	}
	r.Answer = n.a.Answer
	r.sort()
	return r, nil
}

func (r *rows) byStack() (slots func(chain int32) []int32) {
	n := r.n
	at := make([]int32, len(n.end)) // by chain
	for i := range at {
		at[i] = -1
	}
	for i, c := range n.chain {
		if n.end[c] == int32(i) && !n.self.isZero(c) {
			at[c] = int32(len(r.nodes))
			r.nodes = append(r.nodes, int32(i))
		}
	}
	r.groups = make([]Group, len(r.nodes))
	for i, node := range r.nodes {
		r.groups[i] = Group{By: ByStack, Stack: n.stack[n.chain[node]]}
	}
	r.self = newSums(n.self.fields, len(r.nodes), n.self.variances != nil)
	r.self.addAll(at, n.self)
	r.total = r.self
	return func(chain int32) []int32 { return []int32{at[chain]} }
}

func (r *rows) byGroup() (slots func(chain int32) []int32) {
	n := r.n
	r.groups = n.groups
	count := int32(len(n.groups))
	r.self = newSums(n.self.fields, len(n.groups), n.self.variances != nil)
	r.total = newSums(n.self.fields, len(n.groups), n.self.variances != nil)
	ends := make([]int32, len(n.end))
	for c, at := range n.end {
		ends[c] = n.group[at]
	}
	r.self.addAll(ends, n.self)
	r.total.addFrom(n.topChain, n.topGroup, n.total)
	above := newAncestors(n)
	return func(chain int32) []int32 {
		list := []int32{ends[chain]}
		for _, g := range above.groups(n.end[chain]) {
			list = append(list, count+g)
		}
		return list
	}
}

// sort fills in order.
func (r *rows) sort() {
	m := r.Metrics[0]
	rank := ranks(r.total, m)
	self := rank
	if r.self != r.total {
		self = ranks(r.self, m)
	}
	r.order = make([]int32, 0, len(r.groups))
	for i := range int32(len(r.groups)) {
		if rank[i] > 0 || !r.isZero(i) {
			r.order = append(r.order, i)
		}
	}
	slices.SortStableFunc(r.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(rank[b], rank[a]), cmp.Compare(self[b], self[a]))
	})
}

// ranks returns numbers in the order of a metric.
func ranks(s *Sums, m Metric) []float64 {
	list := make([]float64, s.Len())
	if col, ok := s.Column(m); ok {
		for i, n := range col {
			list[i] = float64(n)
		}
		return list
	}
	for i := range list {
		v := s.Values(i)
		list[i] = m.Of(&v, 1e9)
	}
	return list
}

// isZero reports whether all requested metrics of a row are 0.
func (r *rows) isZero(i int32) bool {
	if r.total.isZero(i) && r.self.isZero(i) {
		return true
	}
	row := r.row(i)
	return r.n.a.isZero(&row)
}

func (r *rows) row(i int32) Row {
	return Row{r.groups[i], r.self.Values(int(i)), r.total.Values(int(i))}
}

func (r *rows) table() *Table {
	t := &Table{Answer: r.Answer, Rows: make([]Row, len(r.order))}
	for i, n := range r.order {
		t.Rows[i] = r.row(n)
	}
	return t
}

// isZero reports whether all requested metrics of a row are 0.
func (a *ask) isZero(r *Row) bool {
	sums := false
	for _, m := range a.Metrics {
		if sums = sums || m.Sums(); m.Of(&r.Total, 1e9) != 0 || m.Of(&r.Self, 1e9) != 0 {
			return false
		}
	}
	return sums || r.Total.empty() // the least size may be 0
}

// SortSelf sorts the rows by the self of the first metric instead.
func (t *Table) SortSelf() {
	m := t.Metrics[0]
	// The indexes are sorted first, since rows are large.
	order := make([]int32, len(t.Rows))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return m.compare(&t.Rows[b].Self, &t.Rows[a].Self) })
	sorted := make([]Row, len(order))
	for i, n := range order {
		sorted[i] = t.Rows[n]
	}
	t.Rows = sorted
}
