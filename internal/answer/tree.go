package answer

import (
	"slices"

	"github.com/heaptap/heaptap/internal/query"
)

// Tree is a call tree.
type Tree struct {
	Head
	By    string `json:"by"`
	Shape string `json:"shape"` // top-down or bottom-up
	Nodes []Node `json:"nodes"`
}

// Node is a node of a tree. Parents come before their children, so that deep trees need no deep nesting.
type Node struct {
	Parent int    `json:"parent"` // number of its parent in the list; -1: none
	Group  *Group `json:"group"`  // null: of the root, unless the tree is below a path
	Self   Values `json:"self"`
	Total  Values `json:"total"`
	Folded int    `json:"folded"` // children that are not in the list
	First  uint32 `json:"first"`  // the lower, the earlier its first call stack was seen in the run; 0: not known
}

// NewTree makes the answer.
func NewTree(s *query.Source, o *query.Outline, by query.By, shape string) *Tree {
	return &Tree{newHead(s, &o.Answer), by.String(), shape, newNodes(s, &o.Answer, o)}
}

// Sandwich is the callers and the callees of functions.
type Sandwich struct {
	Head
	By      string  `json:"by"`
	Groups  []Group `json:"groups"`
	Self    Values  `json:"self"`
	Totals  Values  `json:"totals"`
	Callers []Node  `json:"callers"`
	Callees []Node  `json:"callees"`
}

// NewSandwich makes the answer.
func NewSandwich(s *query.Source, t *query.SandwichOutline, by query.By) *Sandwich {
	groups := []Group{}
	for i := range t.Groups {
		groups = append(groups, newGroup(s, &t.Groups[i], nil))
	}
	return &Sandwich{newHead(s, &t.Answer), by.String(), groups, newValues(&t.Answer, &t.Self),
		newValues(&t.Answer, &t.Totals), newNodes(s, &t.Answer, t.Callers), newNodes(s, &t.Answer, t.Callees)}
}

// newNodes returns the nodes in the order of a walk. Those of one group share it.
func newNodes(s *query.Source, a *query.Answer, o *query.Outline) []Node {
	groups := make([]*Group, len(o.Groups))
	for i := range groups {
		g := newGroup(s, &o.Groups[i], nil)
		groups[i] = &g
	}
	type work struct {
		node   int32
		parent int
	}
	kids := o.Children()
	list := make([]Node, 0, len(o.Parent))
	todo := []work{{0, -1}}
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		i := int(w.node)
		j := Node{Parent: w.parent, Self: Values{of: a, sums: o.Self, row: i},
			Total: Values{of: a, sums: o.Total, row: i}, Folded: int(o.Folded[i]), First: o.First[i]}
		if g := o.Group[i]; g >= 0 {
			j.Group = groups[g]
		}
		list = append(list, j)
		for _, k := range slices.Backward(kids(w.node)) {
			todo = append(todo, work{k, len(list) - 1})
		}
	}
	return list
}
