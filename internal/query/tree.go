package query

import (
	"context"
	"slices"

	"github.com/heaptap/heaptap/internal/profile"
)

// Node is a node of a tree.
type Node struct {
	Group
	Self     Values // top-down: of the stacks that end here; bottom-up: of the stacks that begin here
	Total    Values
	Children []*Node // largest first by the total of the first metric
	// Folded is the number of children that the Trim left out, and FoldedTotal their sum. At the Trim's depth, these
	// are all children.
	Folded      int
	FoldedTotal Values
}

// Trim says how much of a tree is wanted.
type Trim struct {
	// Nodes with a smaller share of the whole (in a Sandwich: of the function) are left out, by the first metric.
	Share float64
	Depth int // levels; 0: all, unless a tree of callers would exceed maxSteps
	// Selves says that own peaks are needed of nodes' selves only, not of their totals.
	Selves bool
}

// maxSteps limits the sum of the lengths of all call stacks in a tree of callers: unlike in a tree from the root down,
// they share nothing, and one deep recursion may be above them all.
const maxSteps = 8 << 20

// Tree is an answer as a tree. The root stands for everything and has no group.
type Tree struct {
	Answer
	Root *Node
}

// TopDown answers with a tree of callees: from main to the allocating functions. If blocks are grouped, the groups are
// the first level, and functions follow.
func TopDown(ctx context.Context, s *Source, q *Query, trim Trim) (*Tree, error) {
	return tree(ctx, s, q, func(b *builder) *Node { return b.downwards([]int32{0}, trim) })
}

// BottomUp answers with a tree of callers: from the allocating functions to main.
func BottomUp(ctx context.Context, s *Source, q *Query, trim Trim) (*Tree, error) {
	return tree(ctx, s, q, func(b *builder) *Node {
		var list []start
		seen := make([]bool, len(b.f.parent))
		for _, n := range b.f.cells {
			if !seen[n] {
				seen[n] = true
				list = append(list, start{n, n, b.f.self(n)})
			}
		}
		return b.upwards(list, false, trim)
	})
}

func tree(ctx context.Context, s *Source, q *Query, build func(*builder) *Node) (*Tree, error) {
	b, err := newBuilder(ctx, s, q)
	if err != nil {
		return nil, err
	}
	root := build(b)
	if err := b.ownPeaks(root); err != nil {
		return nil, err
	}
	return &Tree{Answer: b.a.Answer, Root: root}, nil
}

// SandwichTree shows a function from both sides.
type SandwichTree struct {
	Answer
	Groups  []Group // that matched
	Self    Values  // of the matching functions
	Totals  Values
	Callers *Node // the root stands for the function; its children are its callers
	Callees *Node // the same for its callees
}

// Sandwich answers with the callers and the callees of the groups that match. If such a function is on a stack more
// than once, its outermost call counts.
func Sandwich(ctx context.Context, s *Source, q *Query, match func(*Group) bool, trim Trim) (*SandwichTree, error) {
	b, err := newBuilder(ctx, s, q)
	if err != nil {
		return nil, err
	}
	t := &SandwichTree{}
	hit := make([]bool, len(b.f.groups))
	for i := range b.f.groups {
		if hit[i] = match(&b.f.groups[i]); hit[i] {
			t.Groups = append(t.Groups, b.f.groups[i])
		}
	}
	var outer []int32
	b.f.outermost(func(g int32) bool { return hit[g] }, func(n int32) { outer = append(outer, n) })
	var list []start
	for _, n := range outer {
		list = append(list, start{n, b.f.parent[n], &b.f.total[n]})
		t.Totals.Add(&b.f.total[n])
	}
	var selves []int32
	for n, g := range b.f.group {
		if n > 0 && hit[g] {
			t.Self.Add(b.f.self(int32(n)))
			selves = append(selves, int32(n))
		}
	}
	b.peak(&t.Self, false, selves...)
	b.whole = &t.Totals
	t.Callers = b.upwards(list, true, trim)
	t.Callees = b.downwards(outer, trim)
	if err := b.ownPeaks(t.Callers, t.Callees); err != nil {
		return nil, err
	}
	t.Totals.OwnPeak = t.Callees.Total.OwnPeak
	t.Answer = b.a.Answer
	return t, nil
}

// builder makes trees of a forest.
type builder struct {
	a     *ask
	c     *cells
	f     *forest
	whole *Values           // the values of which a Trim's share is a share
	out   []*uint64         // requested own peaks
	self  map[int32][]int32 // by node of the forest: indexes into out for what is at the node,
	below map[int32][]int32 // and for what is at it or below
}

func newBuilder(ctx context.Context, s *Source, q *Query) (*builder, error) {
	if q.By == ByStack {
		line := *q
		line.By = ByLine
		q = &line
	}
	a, err := newAsk(ctx, s, q)
	if err != nil {
		return nil, err
	}
	c, err := a.collect()
	if err != nil {
		return nil, err
	}
	return &builder{a: a, c: c, f: newForest(a, c, true), whole: &a.Total, self: make(map[int32][]int32),
		below: make(map[int32][]int32)}, nil
}

// peak requests the own peak of what is at nodes of the forest, or, if below is set, at or below them.
func (b *builder) peak(v *Values, below bool, nodes ...int32) {
	v.OwnPeak = 0
	if !b.a.ownPeaks {
		return
	}
	at := b.self
	if below {
		at = b.below
	}
	for _, n := range nodes {
		at[n] = append(at[n], int32(len(b.out)))
	}
	b.out = append(b.out, &v.OwnPeak)
}

// ownPeaks determines what peak requested, and sorts the children of trees if own peaks are their order.
func (b *builder) ownPeaks(roots ...*Node) error {
	var up []int32 // by node: the nearest node above with a request
	if b.a.ownPeaks {
		up = make([]int32, len(b.f.parent))
		for n, p := range b.f.parent {
			if up[n] = -1; p >= 0 {
				if up[n] = up[p]; len(b.below[p]) > 0 {
					up[n] = p
				}
			}
		}
	}
	p := newPeaks(b.a, b.c, b.f, func(n int32) []int32 {
		list := slices.Clone(b.self[n])
		for ; n >= 0; n = up[n] {
			list = append(list, b.below[n]...)
		}
		return list
	})
	p.out = b.out
	if err := p.find(); err != nil {
		return err
	}
	if m := b.a.Metrics[0]; m == OwnPeak || m == Recycling {
		for len(roots) > 0 {
			n := roots[len(roots)-1]
			roots = append(roots[:len(roots)-1], n.Children...)
			n.sort(m)
		}
	}
	return nil
}

// small reports whether a node is left out.
func (b *builder) small(v *Values, trim Trim) bool {
	m := b.a.Metrics[0]
	return v.empty() && !b.a.ownPeaks || m.Of(v, 1e9) < trim.Share*m.Of(b.whole, 1e9)
}

// downwards makes the tree of everything below some nodes of the forest together.
func (b *builder) downwards(from []int32, trim Trim) *Node {
	children := make([][]int32, len(b.f.parent))
	for n := 1; n < len(b.f.parent); n++ {
		p := b.f.parent[n]
		children[p] = append(children[p], int32(n))
	}
	type work struct {
		node  *Node
		nodes []int32
		level int
	}
	root := &Node{}
	todo := []work{{root, from, 0}}
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		parts, order := make(map[int32][]int32), []int32(nil)
		for _, n := range w.nodes {
			w.node.Self.Add(b.f.self(n))
			if w.level == 0 {
				w.node.Total.Add(&b.f.total[n])
			}
			for _, c := range children[n] {
				g := b.f.group[c]
				if parts[g] == nil {
					order = append(order, g)
				}
				parts[g] = append(parts[g], c)
			}
		}
		b.peak(&w.node.Self, false, w.nodes...)
		if !trim.Selves {
			b.peak(&w.node.Total, true, w.nodes...)
		}
		for _, g := range order {
			child := &Node{Group: b.f.groups[g]}
			for _, n := range parts[g] {
				child.Total.Add(&b.f.total[n])
			}
			if w.node.take(b, child, trim, w.level) {
				todo = append(todo, work{child, parts[g], w.level + 1})
			}
		}
		w.node.sort(b.a.Metrics[0])
	}
	return root
}

// take adds a child to a node, or folds it; it reports whether it was added.
func (n *Node) take(b *builder, child *Node, trim Trim, level int) bool {
	if b.small(&child.Total, trim) || trim.Depth > 0 && level >= trim.Depth {
		n.Folded++
		n.FoldedTotal.Add(&child.Total)
		return false
	}
	n.Children = append(n.Children, child)
	return true
}

func (n *Node) sort(m Metric) {
	slices.SortStableFunc(n.Children, func(a, b *Node) int { return m.compare(&b.Total, &a.Total) })
}

// start is where a path upwards begins: a node of the forest, the next node, and the values of the path.
type start struct {
	origin, next int32
	values       *Values
}

// stepLimit returns how many levels a tree of callers can have; 0: all.
func (b *builder) stepLimit(list []start) int {
	level := make([]int, len(b.f.parent))
	for n := 1; n < len(level); n++ {
		level[n] = level[b.f.parent[n]] + 1
	}
	depths := make([]int, len(list))
	for i, s := range list {
		depths[i] = level[max(s.next, 0)]
	}
	return profile.DepthLimit(depths, maxSteps, 100)
}

// upwards makes the tree of the paths from nodes of the forest to its root. deep says that a node's values include
// those below it.
func (b *builder) upwards(list []start, deep bool, trim Trim) *Node {
	type work struct {
		node  *Node
		list  []start
		level int
	}
	if trim.Depth == 0 {
		trim.Depth = b.stepLimit(list)
	}
	root := &Node{}
	for _, s := range list {
		root.Total.Add(s.values)
	}
	todo := []work{{root, list, 0}}
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		parts, order := make(map[int32][]start), []int32(nil)
		var here, ends []int32
		for _, s := range w.list {
			if b.a.ownPeaks {
				here = append(here, s.origin)
			}
			if s.next <= 0 {
				w.node.Self.Add(s.values)
				ends = append(ends, s.origin)
				continue
			}
			g := b.f.group[s.next]
			if parts[g] == nil {
				order = append(order, g)
			}
			parts[g] = append(parts[g], start{s.origin, b.f.parent[s.next], s.values})
		}
		b.peak(&w.node.Self, deep, ends...)
		b.peak(&w.node.Total, deep, here...)
		for _, g := range order {
			child := &Node{Group: b.f.groups[g]}
			for _, s := range parts[g] {
				child.Total.Add(s.values)
			}
			if w.node.take(b, child, trim, w.level) {
				todo = append(todo, work{child, parts[g], w.level + 1})
			}
		}
		w.node.sort(b.a.Metrics[0])
	}
	return root
}
