package stacks

import "github.com/heaptap/heaptap/internal/grow"

// tree finds the nodes of the recording's calling-context tree by parent and program counter. Nearly all new nodes have
// a parent that is new, too, and has no children yet: lists of children then cost nothing, while every look-up in a
// large map misses the cache.
type tree struct {
	nodes []treeNode        // by id; [0] is the parent of the roots
	far   map[uint64]uint32 // children beyond the first of those that have many
}

type treeNode struct {
	first, next uint32 // child; sibling
	what        uint32 // program counter << 1 | truncated
	children    uint32
}

// nearChildren is how many children are looked through one by one.
const nearChildren = 16

// child returns the id of a node, which is new if it was not there.
func (t *tree) child(parent, pc uint32, truncated bool) (id uint32, isNew bool) {
	if t.nodes == nil {
		t.nodes = make([]treeNode, 1, 64)
		t.far = map[uint64]uint32{}
	}
	what := pc << 1
	if truncated {
		what |= 1
	}
	for c := t.nodes[parent].first; c != 0; c = t.nodes[c].next {
		if t.nodes[c].what == what {
			return c, false
		}
	}
	id = uint32(len(t.nodes))
	node := treeNode{what: what}
	if up := &t.nodes[parent]; up.children < nearChildren {
		up.children++
		node.next, up.first = up.first, id
	} else {
		key := uint64(parent)<<32 | uint64(what)
		if c, ok := t.far[key]; ok {
			return c, false
		}
		t.far[key] = id
	}
	t.nodes = append(grow.For(t.nodes, 1), node)
	return id, true
}

func grown(list []uint32, i uint32) []uint32 {
	if uint64(i) < uint64(len(list)) {
		return list
	}
	g := make([]uint32, max(int(i)+1, 2*len(list), 1024))
	copy(g, list)
	return g
}
