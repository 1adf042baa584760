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
	a, err := newAsk(ctx, s, q)
	if err != nil {
		return nil, err
	}
	a.noStacks = q.By.ofBlocks()
	c, err := a.collect()
	if err != nil {
		return nil, err
	}
	return a.table(c)
}

// table makes a table of cells.
func (a *ask) table(c *cells) (*Table, error) {
	f := newForest(a, c, !a.q.By.ofBlocks())
	rows, slots := f.rows()
	p := newPeaks(a, c, f, slots)
	for i := range rows {
		rows[i].Self.OwnPeak, rows[i].Total.OwnPeak = 0, 0
		p.want(&rows[i].Self.OwnPeak)
		p.want(&rows[i].Total.OwnPeak)
	}
	if err := p.find(); err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r Row) bool { return a.isZero(&r) })
	sortRows(rows, a.Metrics[0])
	return &Table{Answer: a.Answer, Rows: rows}, nil
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

func sortRows(rows []Row, m Metric) {
	sortBy(rows, func(a, b *Row) int { return cmp.Or(m.compare(&b.Total, &a.Total), m.compare(&b.Self, &a.Self)) })
}

// sortBy sorts rows stably. It sorts their indexes first, since rows are large.
func sortBy(rows []Row, compare func(a, b *Row) int) {
	order := make([]int32, len(rows))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return compare(&rows[a], &rows[b]) })
	for i := range order { // move the rows along each cycle of the permutation
		if order[i] < 0 {
			continue
		}
		first, at := rows[i], i
		for int(order[at]) != i {
			next := int(order[at])
			rows[at], order[at] = rows[next], -1
			at = next
		}
		rows[at], order[at] = first, -1
	}
}

// rows sums up a forest by group, or by node for whole stacks. slots(n) returns the values in which a block at node n
// counts: twice the row's number for self, and one more for total.
func (f *forest) rows() (rows []Row, slots func(n int32) []int32) {
	if f.a.q.By == ByStack {
		at := make([]int32, len(f.parent))
		rows = make([]Row, 0, len(f.cells)) // rows are large: growing would copy more than it saves
		for _, n := range f.cells {
			if at[n] != 0 {
				continue
			}
			rows = append(rows, Row{Group: Group{By: ByStack, Stack: f.stack[n]}, Self: *f.self(n), Total: *f.self(n)})
			at[n] = int32(len(rows))
		}
		return rows, func(n int32) []int32 { return []int32{2*at[n] - 2, 2*at[n] - 1} }
	}
	rows = make([]Row, len(f.groups))
	for i := range rows {
		rows[i].Group = f.groups[i]
	}
	firsts := f.firsts()
	// The nearest node, this one or above, that is the first of its group; few nodes are in a recursion.
	up := make([]int32, len(f.parent))
	for n, first := range firsts {
		if n == 0 {
			continue
		}
		if up[n] = up[f.parent[n]]; first {
			up[n] = int32(n)
		}
		r := &rows[f.group[n]]
		r.Self.Add(f.self(int32(n)))
		if first {
			r.Total.Add(&f.total[n])
		}
	}
	return rows, func(n int32) []int32 {
		list := []int32{2 * f.group[n]}
		for n = up[n]; n > 0; n = up[f.parent[n]] {
			list = append(list, 2*f.group[n]+1)
		}
		return list
	}
}

// SortSelf sorts the rows by the self of the first metric instead.
func (t *Table) SortSelf() {
	m := t.Metrics[0]
	sortBy(t.Rows, func(a, b *Row) int { return m.compare(&b.Self, &a.Self) })
}
