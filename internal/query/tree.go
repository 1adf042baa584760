package query

import "context"

// Node is a node of a tree.
type Node struct {
	Group
	Self     Values // top-down: of the stacks that end here; bottom-up: of the stacks that begin here
	Total    Values
	First    uint32  // as in Outline
	Children []*Node // largest first by the total of the first metric
	// Folded is the number of children that the Trim left out, and FoldedTotal their sum. At the Trim's depth, these
	// are all children.
	Folded      int
	FoldedTotal Values
}

// Tree is an answer as a tree. The root stands for everything and has no group, unless it is at the end of Trim.Below.
type Tree struct {
	Answer
	Root *Node
}

// TopDown answers with a tree of callees: from main to the allocating functions. If blocks are grouped, the groups are
// the first level, and functions follow.
func TopDown(ctx context.Context, s *Source, q *Query, trim Trim) (*Tree, error) {
	return tree(ctx, s, q, Down, trim)
}

// BottomUp answers with a tree of callers: from the allocating functions to main.
func BottomUp(ctx context.Context, s *Source, q *Query, trim Trim) (*Tree, error) {
	return tree(ctx, s, q, Up, trim)
}

func tree(ctx context.Context, s *Source, q *Query, shape Shape, trim Trim) (*Tree, error) {
	o, err := Draw(ctx, s, q, shape, trim)
	if err != nil {
		return nil, err
	}
	return &Tree{Answer: o.Answer, Root: o.Tree()}, nil
}

// Tree returns the same tree as linked nodes.
func (o *Outline) Tree() *Node {
	nodes, pointers := make([]Node, len(o.Parent)), make([]*Node, len(o.Parent))
	kids := o.Children()
	for i := range nodes {
		n := &nodes[i]
		if g := o.Group[i]; g >= 0 {
			n.Group = o.Groups[g]
		}
		n.Self, n.Total, n.First = o.Self.Values(i), o.Total.Values(i), o.First[i]
		if n.Folded = int(o.Folded[i]); n.Folded > 0 {
			n.FoldedTotal = o.FoldedTotal.Values(i)
		}
		list := kids(int32(i))
		n.Children, pointers = pointers[:0:len(list)], pointers[len(list):]
		for _, c := range list {
			n.Children = append(n.Children, &nodes[c])
		}
	}
	return &nodes[0]
}

// SandwichOutline shows a function from both sides.
type SandwichOutline struct {
	Answer
	Groups  []Group // that matched
	Self    Values  // of the matching functions
	Totals  Values
	Callers *Outline // the root stands for the function; its children are its callers
	Callees *Outline // the same for its callees
}

// SandwichTree is a SandwichOutline with linked nodes.
type SandwichTree struct {
	Answer
	Groups           []Group
	Self, Totals     Values
	Callers, Callees *Node
}

// Sandwich answers with the callers and the callees of the groups that match. If such a function is on a stack more
// than once, its outermost call counts.
func Sandwich(ctx context.Context, s *Source, q *Query, match func(*Group) bool, trim Trim) (*SandwichTree, error) {
	o, err := DrawSandwich(ctx, s, q, match, trim)
	if err != nil {
		return nil, err
	}
	return o.Tree(), nil
}

// Tree returns the same with linked nodes.
func (o *SandwichOutline) Tree() *SandwichTree {
	return &SandwichTree{o.Answer, o.Groups, o.Self, o.Totals, o.Callers.Tree(), o.Callees.Tree()}
}

// DrawSandwich is Sandwich in columns.
func DrawSandwich(ctx context.Context, s *Source, q *Query, match func(*Group) bool, trim Trim) (*SandwichOutline,
	error) {
	b, err := newBuilder(ctx, s, q, fieldCells)
	if err != nil {
		return nil, err
	}
	trim.Below = nil
	n := b.n
	matching := make([]bool, len(n.groups))
	for i := range n.groups {
		matching[i] = match(&n.groups[i])
	}
	t, cells := &SandwichOutline{}, n.total.column(fieldCells)
	selves := n.self.empty()
	selves.grow()
	counted := make([]bool, len(n.groups))
	var at []item
	for node := int32(1); node < int32(len(n.group)); node++ {
		g, c := n.group[node], n.chain[node]
		if !matching[g] || cells[c] == 0 {
			continue
		}
		if counted[g] = true; n.isEnd(node) {
			at = append(at, item{c, 0})
			selves.add(0, n.self, c)
		}
	}
	for i, yes := range counted {
		if yes {
			t.Groups = append(t.Groups, n.groups[i])
		}
	}
	outer := n.topmost(matching, func(node int32) bool { return cells[n.chain[node]] > 0 })
	if !n.a.ownPeaks { // else nodes that have nothing of the metrics would be in the trees
		n.self.drop(fieldCells)
		n.total.drop(fieldCells)
	}
	list := make([]item, len(outer))
	for i, node := range outer {
		list[i] = item{n.chain[node], n.parent[node]}
	}
	if t.Callees, err = b.downwards(outer, trim); err != nil {
		return nil, err
	}
	if t.Callers, err = b.upwards(list, true, trim); err != nil {
		return nil, err
	}
	x := &explorer{b: b, out: &Outline{}}
	x.want(selves, 0, false, at)
	if err := b.ownPeaks(t.Callers, t.Callees); err != nil {
		return nil, err
	}
	t.Self, t.Totals, t.Answer = selves.Values(0), t.Callees.Total.Values(0), n.a.Answer
	return t, nil
}
