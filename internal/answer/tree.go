package answer

import "github.com/heaptap/heaptap/internal/query"

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
}

// NewTree makes the answer.
func NewTree(s *query.Source, t *query.Tree, by query.By, shape string) *Tree {
	return &Tree{newHead(s, &t.Answer), by.String(), shape, newNodes(s, &t.Answer, t.Root)}
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
func NewSandwich(s *query.Source, t *query.SandwichTree, by query.By) *Sandwich {
	groups := []Group{}
	for i := range t.Groups {
		groups = append(groups, newGroup(s, &t.Groups[i], nil))
	}
	return &Sandwich{newHead(s, &t.Answer), by.String(), groups, newValues(&t.Answer, &t.Self),
		newValues(&t.Answer, &t.Totals), newNodes(s, &t.Answer, t.Callers), newNodes(s, &t.Answer, t.Callees)}
}

func newNodes(s *query.Source, a *query.Answer, root *query.Node) []Node {
	type work struct {
		n      *query.Node
		parent int
	}
	list := []Node{}
	groups := map[query.Group]*Group{} // most nodes have one that others have, too
	todo := []work{{root, -1}}
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		j := Node{Parent: w.parent, Self: newValues(a, &w.n.Self), Total: newValues(a, &w.n.Total), Folded: w.n.Folded}
		if w.parent >= 0 || w.n.Group != (query.Group{}) {
			if j.Group = groups[w.n.Group]; j.Group == nil {
				g := newGroup(s, &w.n.Group, nil)
				j.Group, groups[w.n.Group] = &g, &g
			}
		}
		list = append(list, j)
		for i := len(w.n.Children) - 1; i >= 0; i-- {
			todo = append(todo, work{w.n.Children[i], len(list) - 1})
		}
	}
	return list
}
