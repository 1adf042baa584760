package diff

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/query"
)

// Node is a node of the trees of both sides.
type Node struct {
	query.Group
	Source      *query.Source // of the run that names it; nil: it is the root, which has a group only below a path
	Self, Total Pair
	// Moved sums up by how much the first metric's selves have changed here and below, up or down: new bytes at one
	// place and gone bytes at another do not cancel out.
	Moved float64
	// Larger sums up the larger ones of the first metric's selves before and after, here and below.
	Larger   float64
	Children []*Node // those with the largest Moved first; with Comparison.All, with the largest Larger
	Folded   int     // number of children that were left out
}

// Tree is the difference as a call tree.
type Tree struct {
	Before, After query.Answer // of the last runs; the totals are those of all
	Root          *Node
}

// Walk calls visit for each node, parents before their children, with the number of its parent in this order; -1: of
// the root.
func (t *Tree) Walk(visit func(n *Node, parent int)) {
	type work struct {
		n      *Node
		parent int
	}
	todo := []work{{t.Root, -1}}
	for count := 0; len(todo) > 0; count++ {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		visit(w.n, w.parent)
		for _, c := range slices.Backward(w.n.Children) {
			todo = append(todo, work{c, count})
		}
	}
}

// mostNodes bounds the tree of each run: those that count most.
const mostNodes = 1 << 20

// CompareTrees answers with a tree. Nodes whose Moved (with All, whose Larger) is 0, or less than the trim's share of
// the whole, are left out, and, if there are more nodes than the trim allows, those with the least of it.
func CompareTrees(ctx context.Context, c *Comparison, trim query.Trim) (*Tree, error) {
	c = c.named()
	ask := query.Down
	if c.Up {
		ask = query.Up
	}
	j := &joined{c: c, of: make([]*query.Outline, len(c.Before)+len(c.After))}
	t := &Tree{}
	whole := c.newRuns()
	err := c.each(func(n int, side Side) (err error) {
		o, err := query.Draw(ctx, side.Source, side.Query, ask, query.Trim{Below: trim.Below, Nodes: mostNodes})
		if err != nil {
			return err
		}
		if n < len(c.Before) {
			t.Before = o.Answer
		} else {
			t.After = o.Answer
		}
		j.of[n], whole.total[n] = o, o.Answer.Total
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	j.factors = c.factors(whole)
	all := c.pair(whole.total, j.factors)
	t.Before.Total, t.After.Total = all.Before, all.After
	j.join()
	j.measure(&t.Before, &t.After)
	t.Root = j.tree(trim)
	return t, ctx.Err()
}

// joined is the tree that the trees of all runs make together, in columns. Parents come before their children.
type joined struct {
	c       *Comparison
	of      []*query.Outline // by run
	factors []float64

	groups        []query.Group
	parent, group []int32         // group -1: the root has none
	names         []*query.Source // by group
	at            [][]int32       // by run: the node in its outline; -1: it has none
	moved, larger []float64
}

// join finds the nodes that the runs have in common.
func (j *joined) join() {
	numbers := make(map[query.Group]int32)
	type place struct{ parent, group int32 }
	known := make(map[place]int32)
	j.at = make([][]int32, len(j.of))
	_ = j.c.each(func(run int, _ Side) error {
		o := j.of[run]
		groups := make([]int32, len(o.Groups))
		for i, g := range o.Groups {
			n, ok := numbers[g]
			if !ok {
				n = int32(len(j.groups))
				numbers[g] = n
				j.groups, j.names = append(j.groups, g), append(j.names, j.c.source(run))
			}
			groups[i] = n
		}
		nodes := make([]int32, len(o.Parent)) // of the outline: their numbers here
		for i, p := range o.Parent {
			at := place{-1, -1} // the root
			group := int32(-1)
			if g := o.Group[i]; g >= 0 {
				group = groups[g]
			}
			if p >= 0 {
				at = place{nodes[p], group}
			}
			n, ok := known[at]
			if !ok {
				n = int32(len(j.parent))
				known[at] = n
				j.parent, j.group = append(j.parent, at.parent), append(j.group, group)
			}
			if j.group[n] < 0 {
				j.group[n] = group
			}
			nodes[i] = n
			for len(j.at[run]) <= int(n) {
				j.at[run] = append(j.at[run], -1)
			}
			j.at[run][n] = int32(i)
		}
		return nil
	})
	for run := range j.at {
		for len(j.at[run]) < len(j.parent) {
			j.at[run] = append(j.at[run], -1)
		}
	}
}

// values returns what a node has in all runs. They are valid until the next call.
func (j *joined) values(n int, r *runs) {
	for run, o := range j.of {
		r.self[run], r.total[run] = query.Values{}, query.Values{}
		if i := j.at[run][n]; i >= 0 {
			r.self[run], r.total[run] = o.Self.Values(int(i)), o.Total.Values(int(i))
		}
	}
}

// measure adds up how much has changed, and what is larger.
func (j *joined) measure(before, after *query.Answer) {
	m := after.Metrics[0]
	r := j.c.newRuns()
	j.moved, j.larger = make([]float64, len(j.parent)), make([]float64, len(j.parent))
	for n := len(j.parent) - 1; n >= 0; n-- {
		j.values(n, r)
		self := j.c.pair(r.self, j.factors)
		j.moved[n] += math.Abs(change(before, after, m, &self))
		j.larger[n] += max(m.Of(&self.Before, before.Span), m.Of(&self.After, after.Span))
		if p := j.parent[n]; p >= 0 {
			j.moved[p] += j.moved[n]
			j.larger[p] += j.larger[n]
		}
	}
}

// tree returns what the trim allows.
func (j *joined) tree(trim query.Trim) *Node {
	size := j.moved
	if j.c.All {
		size = j.larger
	}
	least := max(trim.Share*size[0], math.SmallestNonzeroFloat64)
	if trim.Nodes > 0 && len(size) > trim.Nodes {
		sorted := slices.Sorted(slices.Values(size))
		// No node is larger than its parent, so the largest ones are a tree. Of equal ones, all or none are there.
		if most := sorted[len(sorted)-trim.Nodes-1]; most >= least {
			least = math.Nextafter(most, math.Inf(1))
		}
	}
	r := j.c.newRuns()
	made := make([]*Node, len(size))
	depth := make([]int32, len(size))
	for n, p := range j.parent {
		if p >= 0 {
			depth[n] = depth[p] + 1
			switch {
			case made[p] == nil || size[n] == 0:
				continue
			case size[n] < least || trim.Depth > 0 && int(depth[n]) > trim.Depth:
				made[p].Folded++
				continue
			}
		}
		j.values(n, r)
		node := &Node{Self: j.c.pair(r.self, j.factors), Total: j.c.pair(r.total, j.factors), Moved: j.moved[n],
			Larger: j.larger[n]}
		if g := j.group[n]; g >= 0 {
			node.Group, node.Source = j.groups[g], j.names[g]
			restore(&node.Group)
		}
		made[n] = node
		if p >= 0 {
			made[p].Children = append(made[p].Children, node)
		}
	}
	for _, n := range made {
		if n == nil {
			continue
		}
		slices.SortStableFunc(n.Children, func(a, b *Node) int {
			if j.c.All {
				return cmp.Compare(b.Larger, a.Larger)
			}
			return cmp.Compare(b.Moved, a.Moved)
		})
	}
	return made[0]
}
