package query

import (
	"context"

	"github.com/heaptap/heaptap/internal/event"
)

// Series tells how groups developed over a range, in steps of equal time.
type Series struct {
	Answer
	Times []int64 // at the end of each step, ns; the first is the beginning of the range
	Cuts  []uint64
	Rows  []SeriesRow // the groups that were asked for, in that order
	Rest  SeriesRow   // all others
	All   SeriesRow
}

// SeriesRow is one group's development.
type SeriesRow struct {
	Group
	Points []Point // one for each of Times; the first has no allocations
}

// Point is what a step did and where it ended.
type Point struct {
	Live, LiveBlocks   uint64 // at the end of the step
	Allocations, Bytes uint64 // in the step
	Deallocations      uint64
}

func (p *Point) add(o *Point) {
	p.Live += o.Live
	p.LiveBlocks += o.LiveBlocks
	p.Allocations += o.Allocations
	p.Bytes += o.Bytes
	p.Deallocations += o.Deallocations
}

// Develop answers with the development of the top groups (by the total of the first metric, self for groups of frames) over
// n steps. top 0: only the whole.
func Develop(ctx context.Context, s *Source, q *Query, n, top int) (*Series, error) {
	a, err := newAsk(ctx, s, q)
	if err != nil {
		return nil, err
	}
	out := &Series{}
	if err := a.steps(out, max(n, 1)); err != nil {
		return nil, err
	}
	// Every cell's points; cells are few beside events.
	var c cells
	points := make(map[int][]Point)
	at := func(stack, label uint32) []Point {
		i := c.index(stack, label)
		p := points[i]
		if p == nil {
			p = make([]Point, len(out.Times))
			points[i] = p
		}
		return p
	}
	if a.perBlock {
		err = a.developEvents(out, at)
	} else {
		err = a.developChanges(out, at)
	}
	if err != nil {
		return nil, err
	}
	chosen, err := a.topCells(&c, top)
	if err != nil {
		return nil, err
	}
	out.Rows = make([]SeriesRow, len(chosen.groups))
	for i := range out.Rows {
		out.Rows[i] = SeriesRow{Group: chosen.groups[i], Points: make([]Point, len(out.Times))}
	}
	out.Rest.Points, out.All.Points = make([]Point, len(out.Times)), make([]Point, len(out.Times))
	for i := range c.list {
		row := &out.Rest
		if k, ok := chosen.row[i]; ok {
			row = &out.Rows[k]
		}
		var live, blocks uint64
		for t := range points[i] {
			p := &points[i][t] // of what is live, it has the change
			live, blocks = live+p.Live, blocks+p.LiveBlocks
			p.Live, p.LiveBlocks = live, blocks
			row.Points[t].add(p)
			out.All.Points[t].add(p)
		}
	}
	out.Answer = a.Answer
	return out, nil
}

// steps finds the cuts at equal times.
func (a *ask) steps(out *Series, n int) error {
	out.Times, out.Cuts = []int64{a.Begin}, []uint64{a.From}
	for i := 1; i <= n; i++ {
		t := a.Begin + a.Span/int64(n)*int64(i) + a.Span%int64(n)*int64(i)/int64(n)
		cut := a.To
		if i < n {
			var err error
			if cut, err = a.Reader.CutAt(t); err != nil {
				return err
			}
		}
		out.Times, out.Cuts = append(out.Times, t), append(out.Cuts, min(max(cut, a.From), a.To))
	}
	return nil
}

func (a *ask) developChanges(out *Series, at func(stack, label uint32) []Point) error {
	a.Plan = FromSummaries
	before, err := a.Reader.LiveAt(a.ctx, a.From)
	if err != nil {
		return err
	}
	for _, l := range before {
		if a.stacks.keep(l.Stack) {
			p := &at(l.Stack, 0)[0]
			p.Live, p.LiveBlocks = l.Bytes, l.Blocks
		}
	}
	for i := 1; i < len(out.Cuts); i++ {
		if out.Cuts[i] == out.Cuts[i-1] {
			continue
		}
		changes, err := a.Reader.Changes(a.ctx, out.Cuts[i-1], out.Cuts[i])
		if err != nil {
			return err
		}
		for _, c := range changes.List() {
			if a.stacks.keep(c.Stack) {
				at(c.Stack, 0)[i] = Point{Live: c.Bytes - c.FreedBytes, LiveBlocks: c.Allocs - c.Frees,
					Allocations: c.Allocs, Bytes: c.Bytes, Deallocations: c.Frees}
			}
		}
	}
	return nil
}

func (a *ask) developEvents(out *Series, at func(stack, label uint32) []Point) error {
	a.Plan = FromEvents
	i := 0
	return a.blocksBetween(a.first, a.To, func(n uint64, e *event.Event, label uint32, _ uint64) {
		for n >= out.Cuts[i] && i < len(out.Cuts)-1 {
			i++
		}
		k := i
		if n < a.From {
			k = 0
		}
		p := &at(e.Stack, label)[k]
		move(&p.Live, &p.LiveBlocks, e)
		switch {
		case k == 0:
		case e.Kind == event.Alloc:
			p.Allocations++
			p.Bytes += e.Size
		default:
			p.Deallocations++
		}
	})
}

// choice is which groups are shown, and which cells they are of.
type choice struct {
	groups []Group
	row    map[int]int // by cell
}

// topCells chooses the top groups and finds the cells of each.
func (a *ask) topCells(c *cells, top int) (*choice, error) {
	out := &choice{row: make(map[int]int)}
	if top <= 0 {
		return out, nil
	}
	table, err := Flat(a.ctx, a.Source, a.q)
	if err != nil {
		return nil, err
	}
	rows := table.Rows
	m := a.Metrics[0]
	if !a.q.By.ofBlocks() {
		rows = append([]Row(nil), rows...)
		for i := range rows {
			rows[i].Total = rows[i].Self
		}
		sortRows(rows, m)
	}
	f := newForest(a, c, !a.q.By.ofBlocks())
	if a.q.By != ByStack {
		for i := range rows[:min(top, len(rows))] {
			out.groups = append(out.groups, rows[i].Group)
		}
		number := make(map[Group]int)
		for i, g := range out.groups {
			number[g] = i
		}
		for i, n := range f.cells {
			if k, ok := number[f.groups[f.group[n]]]; ok {
				out.row[i] = k
			}
		}
		return out, nil
	}
	// Stacks that read the same are one group, whichever of them stands for it.
	number := make(map[int32]int)
	for i := range rows[:min(top, len(rows))] {
		out.groups = append(out.groups, rows[i].Group)
		number[f.leaf(rows[i].Stack, 0, true)] = i
	}
	for i, n := range f.cells {
		if k, ok := number[n]; ok {
			out.row[i] = k
		}
	}
	return out, nil
}
