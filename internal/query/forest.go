package query

import "slices"

// forest is the calling-context tree of the stacks that count. Nodes whose frames are the same group are merged. Node 0
// is the root of all; a parent comes before its children.
type forest struct {
	a      *ask
	groups []Group
	parent []int32
	group  []int32  // of each node; -1: of node 0
	own    []int32  // of each node: index into selves; most nodes have no self
	selves []Values // values of blocks allocated at a node; the first is empty
	total  []Values // of the node and all below it
	ids    map[Group]int32
	child  map[[2]int32]int32 // by parent and group
	node   map[uint64]int32   // by label and node of the recording's tree
	pcs    map[uint32][]int32 // groups of a pc's frames, leaf to root, without hidden ones
	cells  []int32            // of each cell: its node
	stack  []uint32           // of each node: a stack that ends there
	path   []uint32
}

// newForest adds the stacks of cells. If frames is false, it has the groups of blocks only.
func newForest(a *ask, c *cells, frames bool) *forest {
	f := &forest{a: a, ids: make(map[Group]int32), child: make(map[[2]int32]int32), node: make(map[uint64]int32),
		pcs: make(map[uint32][]int32)}
	f.add(-1, -1)
	for i := range c.list {
		n := f.leaf(c.list[i].stack, c.list[i].label, frames)
		f.cells = append(f.cells, n)
		f.stack[n] = c.list[i].stack
	}
	f.sumUp(c)
	return f
}

// sumUp adds up the values of the cells.
func (f *forest) sumUp(c *cells) {
	f.own, f.total = make([]int32, len(f.parent)), make([]Values, len(f.parent))
	f.selves = make([]Values, 1, len(f.cells)+1)
	for i, n := range f.cells {
		if f.own[n] == 0 {
			f.own[n] = int32(len(f.selves))
			f.selves = append(f.selves, Values{})
		}
		f.self(n).Add(&c.list[i].Values)
	}
	for n := int32(len(f.total) - 1); n >= 0; n-- {
		f.total[n].Add(f.self(n))
		if n > 0 {
			f.total[f.parent[n]].Add(&f.total[n])
		}
	}
}

// self returns the values of the blocks allocated at a node.
func (f *forest) self(n int32) *Values { return &f.selves[f.own[n]] }

func (f *forest) add(parent, group int32) int32 {
	f.parent, f.group = append(f.parent, parent), append(f.group, group)
	f.stack = append(f.stack, 0)
	return int32(len(f.parent) - 1)
}

func (f *forest) id(g Group) int32 {
	i, ok := f.ids[g]
	if !ok {
		i = int32(len(f.groups))
		f.ids[g] = i
		f.groups = append(f.groups, g)
	}
	return i
}

func (f *forest) down(parent, group int32) int32 {
	k := [2]int32{parent, group}
	n, ok := f.child[k]
	if !ok {
		n = f.add(parent, group)
		f.child[k] = n
	}
	return n
}

// leaf returns the node of a stack and a label.
func (f *forest) leaf(stack, label uint32, frames bool) int32 {
	by := f.a.q.By
	at := int32(0)
	if by.ofBlocks() {
		if names := f.a.q.Names; by == ByThread && names != nil {
			label = names.Thread(label)
		}
		for _, g := range f.a.GroupsOfLabel(by, label) {
			at = f.down(at, f.id(g))
		}
		if !frames {
			return at
		}
		by = ByFunction
	}
	root := at
	if by == ByStack {
		by = ByLine
	}
	key := func(id uint32) uint64 { return uint64(label)<<32 | uint64(id) }
	f.path = f.a.pathToRoot(f.path[:0], stack, func(id uint32) bool {
		n, ok := f.node[key(id)]
		if ok {
			at = n
		}
		return ok
	})
	for _, id := range slices.Backward(f.path) {
		n, _ := f.a.Reader.Nodes().Get(id)
		for _, g := range slices.Backward(f.pc(by, n.PC)) {
			at = f.down(at, g)
		}
		f.node[key(id)] = at
	}
	if at == root { // no frames known, or all hidden
		return f.down(root, f.id(Group{By: by, Unknown: true}))
	}
	return at
}

func (f *forest) pc(by By, pc uint32) []int32 {
	list, ok := f.pcs[pc]
	if ok {
		return list
	}
	for _, g := range f.a.q.groups(f.a.Source, by, pc) {
		list = append(list, f.id(g))
	}
	f.pcs[pc] = list
	return list
}

// outermost calls visit for the nodes whose group matches while no group above matches.
func (f *forest) outermost(match func(group int32) bool, visit func(n int32)) {
	within := make([]bool, len(f.parent))
	for n := int32(1); n < int32(len(f.parent)); n++ {
		if within[n] = within[f.parent[n]]; !within[n] && match(f.group[n]) {
			within[n] = true
			visit(n)
		}
	}
}

// firsts reports for each node whether no node above it has the same group.
func (f *forest) firsts() []bool {
	n := int32(len(f.parent))
	first, sibling := make([]int32, n), make([]int32, n) // 0: none
	for i := n - 1; i > 0; i-- {
		p := f.parent[i]
		sibling[i], first[p] = first[p], i
	}
	on := make([]int32, len(f.groups))
	out := make([]bool, n)
	at := first[0]
	for at != 0 {
		g := f.group[at]
		out[at] = on[g] == 0
		on[g]++
		next := first[at]
		for next == 0 && at != 0 { // go up again
			on[f.group[at]]--
			next = sibling[at]
			at = f.parent[at]
		}
		at = next
	}
	return out
}
