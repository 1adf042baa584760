package atlas

import (
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// Ranks are the ranks from First up to End, End excluded.
type Ranks struct{ First, End uint32 }

// Node is a node of the calling-context tree at or below which there are stacks of an atlas.
type Node struct {
	PC     uint32
	Parent int32 // index of its parent; -1: it is a root
	Ranks        // of the stacks at it and below it
}

// Tree returns the nodes of the calling-context tree, parents first. Stacks that are not in the recording's tree have
// no node.
func (a *Atlas) Tree() []Node { return a.tree }

// IsStack reports whether a node is itself one of the stacks: the first of its ranks. Below every node without children
// is one.
func (a *Atlas) IsStack(node int) bool {
	return node+1 == len(a.tree) || a.tree[node+1].First > a.tree[node].First
}

// arrange returns stacks in the order of the tree, and the tree.
func arrange(nodes *recording.Table[event.Node], stacks []uint32) (order []uint32, tree []Node) {
	stacks = slices.Clone(stacks)
	slices.Sort(stacks)
	// The nodes on the stacks. Their places in list, plus 1, are by id; 0: not there.
	var list []pathNode
	list = append(list, pathNode{}) // above the roots
	place := make([]int32, 1)
	for _, id := range stacks {
		for at := id; at != 0; {
			n, ok := nodes.Get(at)
			if !ok {
				break
			}
			if int(at) >= len(place) {
				place = append(place, make([]int32, max(int(at)+1-len(place), len(place)))...)
			}
			if place[at] != 0 {
				break
			}
			place[at] = int32(len(list))
			list = append(list, pathNode{id: at, Node: n})
			at = n.Parent
		}
		if int(id) < len(place) && place[id] != 0 {
			list[place[id]].isStack = true
		} else {
			order = append(order, id) // not in the tree
		}
	}
	for i := len(list) - 1; i > 0; i-- { // what comes first in list is visited first
		n := &list[i]
		if int(n.Parent) < len(place) {
			n.parent = place[n.Parent]
		}
		n.sibling, list[n.parent].child = list[n.parent].child, int32(i)
	}
	tree = make([]Node, 0, len(list)-1)
	parent := int32(-1) // in tree
	for at := list[0].child; at != 0; {
		n := &list[at]
		tree = append(tree, Node{PC: n.PC, Parent: parent, Ranks: Ranks{First: uint32(len(order))}})
		if n.isStack {
			order = append(order, n.id)
		}
		here := int32(len(tree) - 1)
		if n.child != 0 {
			parent, at = here, n.child
			continue
		}
		for {
			tree[here].End = uint32(len(order))
			if at = n.sibling; at != 0 || parent < 0 {
				break
			}
			here, parent, n = parent, tree[parent].Parent, &list[n.parent]
		}
	}
	return order, tree
}

// pathNode is a node on a stack. The numbers of others are places in a list; 0: none.
type pathNode struct {
	event.Node
	id                     uint32
	isStack                bool
	parent, child, sibling int32
}
