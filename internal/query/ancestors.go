package query

// ancestors finds the groups of nodes and of all nodes above them. Most nodes have the same groups above them as their
// parents: these share a set, so that only the first question about a node goes up as far as the stack is deep.
type ancestors struct {
	parent, group []int32 // of nodes
	set           []int32 // of each node, 0 if it is not known yet
	sets          []groupSet
	seen          []int32 // by group: in which call
	calls         int32
	list          []int32
	path          []int32
}

// groupSet is what one group adds to another set.
type groupSet struct{ rest, group int32 }

// newAncestors returns the ancestors of nodes. Node 0 is the root, which has no group.
func newAncestors(n *nodeSums) *ancestors {
	return &ancestors{
		parent: n.parent, group: n.group,
		set:  make([]int32, len(n.parent)),
		sets: []groupSet{{}}, // nothing
		seen: make([]int32, len(n.groups)),
	}
}

// groups returns the groups of a node and of those above it, each once. The list is valid until the next call.
func (a *ancestors) groups(node int32) []int32 {
	a.calls++
	a.list, a.path = a.list[:0], a.path[:0]
	for ; node > 0 && a.set[node] == 0; node = a.parent[node] {
		a.path = append(a.path, node)
	}
	set := a.set[node]
	for s := set; s != 0; s = a.sets[s].rest {
		a.see(a.sets[s].group)
	}
	for i := len(a.path) - 1; i >= 0; i-- {
		if g := a.group[a.path[i]]; a.see(g) {
			a.sets = append(a.sets, groupSet{set, g})
			set = int32(len(a.sets) - 1)
		}
		a.set[a.path[i]] = set
	}
	return a.list
}

// see puts a group into the list, and returns false if it was there already.
func (a *ancestors) see(group int32) bool {
	if a.seen[group] == a.calls {
		return false
	}
	a.seen[group] = a.calls
	a.list = append(a.list, group)
	return true
}
