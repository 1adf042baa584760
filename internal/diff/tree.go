package diff

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/query"
)

// Node is a node of both trees.
type Node struct {
	query.Group
	Self, Total Pair
	// Moved sums up by how much the first metric's selves have changed here and below, up or down: new bytes at one
	// place and gone bytes at another do not cancel out.
	Moved    float64
	Children []*Node // those with the largest Moved first
	Folded   int     // number of children that were left out
}

// Tree is the difference as a call tree from main down.
type Tree struct {
	Before, After query.Answer
	Root          *Node
}

// CompareTrees answers with a tree. Nodes whose Moved is 0, or less than the trim's share of the whole, are left out.
func CompareTrees(ctx context.Context, before, after Side, trim query.Trim) (*Tree, error) {
	name(&before, &after)
	a, err := query.TopDown(ctx, before.Source, before.Query, query.Trim{})
	if err != nil {
		return nil, err
	}
	b, err := query.TopDown(ctx, after.Source, after.Query, query.Trim{})
	if err != nil {
		return nil, err
	}
	t := &Tree{Before: a.Answer, After: b.Answer, Root: &Node{}}
	all := t.join(a.Root, b.Root)
	for _, n := range slices.Backward(all) { // children before their parents
		n.Moved += math.Abs(change(&t.Before, &t.After, t.After.Metrics[0], &n.Self))
		for _, c := range n.Children {
			n.Moved += c.Moved
		}
		slices.SortStableFunc(n.Children, func(a, b *Node) int { return cmp.Compare(b.Moved, a.Moved) })
	}
	least := max(trim.Share*t.Root.Moved, math.SmallestNonzeroFloat64)
	depth := map[*Node]int{}
	for _, n := range all {
		level := depth[n]
		delete(depth, n)
		kept := n.Children[:0]
		for _, c := range n.Children {
			if c.Moved >= least && (trim.Depth == 0 || level < trim.Depth) {
				kept = append(kept, c)
				depth[c] = level + 1
			} else if c.Moved > 0 {
				n.Folded++
			}
		}
		n.Children = kept
		restore(&n.Group)
	}
	return t, nil
}

// join merges two trees, and returns all nodes, each after its parent.
func (t *Tree) join(a, b *query.Node) (all []*Node) {
	type work struct {
		to   *Node
		a, b *query.Node
	}
	todo := []work{{t.Root, a, b}}
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		all = append(all, w.to)
		at := make(map[query.Group]int)
		first := len(todo)
		child := func(n *query.Node) *work {
			i, ok := at[n.Group]
			if !ok {
				i = len(todo)
				at[n.Group] = i
				c := &Node{Group: n.Group}
				w.to.Children = append(w.to.Children, c)
				todo = append(todo, work{to: c})
			}
			return &todo[i]
		}
		if w.b != nil {
			w.to.Self.After, w.to.Total.After = w.b.Self, w.b.Total
			for _, n := range w.b.Children {
				child(n).b = n
			}
		}
		if w.a != nil {
			w.to.Self.Before, w.to.Total.Before = w.a.Self, w.a.Total
			for _, n := range w.a.Children {
				child(n).a = n
			}
		}
		slices.Reverse(todo[first:])
	}
	return all
}
