package query

import (
	"context"
	"errors"
	"slices"

	"github.com/heaptap/heaptap/internal/recording/atlas"
)

// Curve is how what a query selects developed over the whole run, in the steps of an atlas. Its lists have an entry for
// each step, and before these one for the beginning of the run. Bytes are requested bytes.
type Curve struct {
	Times        []int64  // at the end of each step, ns
	Cuts         []uint64 // events before it
	Live, Blocks []uint64 // at the end of the step
	// Most is the most that was live in the step: at its beginning, at its end, or when the process had the most.
	Most                              []uint64
	Allocations, Bytes, Deallocations []uint64 // in the step
}

// ErrNoCurve says that a curve needs an atlas, and a query that selects call stacks only.
var ErrNoCurve = errors.New("there is no curve without an atlas of the recording, nor of some blocks of a call stack " +
	"only: ask for a series instead")

// CurveOf answers with the curve of the call stacks on which there is a group that matches; with match nil, of all that
// the query selects. It takes no longer than these stacks need. Range, moment and metrics of the query are ignored;
// filters of blocks, and groups of blocks, are an error: ErrNoCurve. By whole stacks, groups are lines.
func CurveOf(ctx context.Context, s *Source, q *Query, match func(*Group) bool) (*Curve, error) {
	c := s.chart.Load()
	if c == nil || q.filtersBlocks() || q.By.ofBlocks() {
		return nil, ErrNoCurve
	}
	list := []atlas.Ranks{{End: uint32(len(c.Stacks()))}}
	if match != nil {
		x, err := c.grouped(ctx, s, q)
		if err == nil {
			list, err = x.matching(ctx, match)
		}
		if err != nil {
			return nil, err
		}
	}
	if f := s.stackFilter(q); f != nil {
		kept, err := c.filtered(ctx, f)
		if err != nil {
			return nil, err
		}
		list = common(list, kept)
	}
	sums := make([]atlas.Sums, len(c.Moments()))
	c.Add(sums, list)
	return curveOf(c.Atlas, sums), ctx.Err()
}

// curveOf makes a curve of what happened before each moment.
func curveOf(a *atlas.Atlas, sums []atlas.Sums) *Curve {
	c := &Curve{}
	n := len(a.Ends())
	for _, list := range []*[]uint64{&c.Cuts, &c.Live, &c.Blocks, &c.Most, &c.Allocations, &c.Bytes, &c.Deallocations} {
		*list = make([]uint64, 0, n)
	}
	c.Times = make([]int64, 0, n)
	var live, blocks, most uint64
	var step atlas.Sums
	for i, m := range a.Moments() {
		s := &sums[i]
		for k := range step {
			step[k] += s[k]
		}
		live += s[atlas.Bytes] - s[atlas.FreedBytes]
		blocks += s[atlas.Allocs] - s[atlas.Frees]
		most = max(most, live)
		if !m.End {
			continue
		}
		c.Times, c.Cuts = append(c.Times, m.Time), append(c.Cuts, m.Cut)
		c.Live, c.Blocks, c.Most = append(c.Live, live), append(c.Blocks, blocks), append(c.Most, most)
		c.Allocations, c.Bytes = append(c.Allocations, step[atlas.Allocs]), append(c.Bytes, step[atlas.Bytes])
		c.Deallocations = append(c.Deallocations, step[atlas.Frees])
		most, step = live, atlas.Sums{}
	}
	return c
}

// chart is an atlas, and where groups are on it.
type chart struct {
	*atlas.Atlas
	gate                  // protects what follows
	indexes []*groupIndex // the latest one last
	filter  *stackFilter  // the latest one
	kept    []atlas.Ranks // what it keeps
}

// filtered returns the ranks of the stacks that a filter keeps.
func (c *chart) filtered(ctx context.Context, f *stackFilter) ([]atlas.Ranks, error) {
	if err := f.prepare(ctx); err != nil {
		return nil, err
	}
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	defer c.unlock()
	if c.filter != f {
		c.filter, c.kept = f, nil
		for rank, id := range c.Stacks() {
			if f.keep(id) {
				c.kept = appendRank(c.kept, uint32(rank))
			}
		}
	}
	return c.kept, nil
}

// appendRank appends a rank, which is larger than those in the list.
func appendRank(list []atlas.Ranks, rank uint32) []atlas.Ranks {
	if n := len(list); n > 0 && list[n-1].End == rank {
		list[n-1].End++
		return list
	}
	return append(list, atlas.Ranks{First: rank, End: rank + 1})
}

// common returns what two lists have in common.
func common(a, b []atlas.Ranks) (list []atlas.Ranks) {
	for len(a) > 0 && len(b) > 0 {
		if r := (atlas.Ranks{First: max(a[0].First, b[0].First), End: min(a[0].End, b[0].End)}); r.First < r.End {
			list = append(list, r)
		}
		if a[0].End < b[0].End {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return list
}

// grouping says what the groups of frames depend on, Query.Names apart.
type grouping struct {
	by   By
	hide string
}

// groupIndex says which stacks each group is on.
type groupIndex struct {
	grouping
	stacks int // of the atlas
	groups []Group
	ranks  [][]atlas.Ranks // of each group: they rise and have nothing in common
}

// maxIndexes is how many indexes are kept: by function and by line, for example, with and without hidden frames.
const maxIndexes = 4

// grouped returns the index of the query's groups.
func (c *chart) grouped(ctx context.Context, s *Source, q *Query) (*groupIndex, error) {
	g := grouping{by: q.By, hide: q.hidden()}
	if g.by == ByStack {
		g.by = ByLine
	}
	if q.Names != nil {
		return newGroupIndex(ctx, s, c.Atlas, q, g)
	}
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	defer c.unlock()
	if i := slices.IndexFunc(c.indexes, func(x *groupIndex) bool { return x.grouping == g }); i >= 0 {
		x := c.indexes[i]
		c.indexes = append(slices.Delete(c.indexes, i, i+1), x)
		return x, nil
	}
	x, err := newGroupIndex(ctx, s, c.Atlas, q, g)
	if err == nil {
		c.indexes = append(c.indexes, x)
		c.indexes = c.indexes[max(0, len(c.indexes)-maxIndexes):]
	}
	return x, err
}

// newGroupIndex goes through the tree of the atlas. Of the nodes of a group, the outermost ones count: the others are
// below them.
func newGroupIndex(ctx context.Context, s *Source, a *atlas.Atlas, q *Query, by grouping) (*groupIndex, error) {
	x := &groupIndex{grouping: by, stacks: len(a.Stacks())}
	ids := make(map[Group]int32)
	id := func(g Group) int32 {
		i, ok := ids[g]
		if !ok {
			i = int32(len(x.groups))
			ids[g] = i
			x.groups, x.ranks = append(x.groups, g), append(x.ranks, nil)
		}
		return i
	}
	add := func(i int32, r atlas.Ranks) {
		list := x.ranks[i]
		if n := len(list); n == 0 || r.First >= list[n-1].End {
			x.ranks[i] = append(list, r)
		}
	}
	tree := a.Tree()
	unknown := Group{By: by.by, Unknown: true}
	first := uint32(len(a.Stacks())) // the first rank that is in the tree
	if len(tree) > 0 {
		first = tree[0].First
	}
	if first > 0 {
		add(id(unknown), atlas.Ranks{End: first})
	}
	pcs := make(map[uint32][]int32)
	named := make([]bool, len(tree)) // whether the node or one above has a group
	w := watch{ctx: ctx}
	for i := range tree {
		if err := w.err(); err != nil {
			return nil, err
		}
		n := &tree[i]
		list, ok := pcs[n.PC]
		if !ok {
			for _, g := range q.groups(s, by.by, n.PC) {
				list = append(list, id(g))
			}
			pcs[n.PC] = list
		}
		named[i] = len(list) > 0 || n.Parent >= 0 && named[n.Parent]
		for _, g := range list {
			add(g, n.Ranks)
		}
		if !named[i] && a.IsStack(i) {
			add(id(unknown), atlas.Ranks{First: n.First, End: n.First + 1})
		}
	}
	return x, nil
}

// matching returns the ranks of the stacks on which there is a group that matches.
func (x *groupIndex) matching(ctx context.Context, match func(*Group) bool) ([]atlas.Ranks, error) {
	var hits []int
	w := watch{ctx: ctx}
	for i := range x.groups {
		if err := w.err(); err != nil {
			return nil, err
		}
		if match(&x.groups[i]) {
			hits = append(hits, i)
		}
	}
	switch len(hits) {
	case 0:
		return nil, nil
	case 1:
		return x.ranks[hits[0]], nil
	}
	// Several groups may be on a stack: of each rank, by how many more of their ranges it is in than the one before.
	more := make([]int32, x.stacks+1)
	for _, i := range hits {
		for _, r := range x.ranks[i] {
			more[r.First]++
			more[r.End]--
		}
	}
	var list []atlas.Ranks
	n := int32(0)
	for rank := range uint32(x.stacks) {
		if n += more[rank]; n > 0 {
			list = appendRank(list, rank)
		}
	}
	return list, nil
}
