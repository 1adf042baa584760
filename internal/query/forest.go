package query

import (
	"context"
	"slices"
	"unsafe"

	"github.com/heaptap/heaptap/internal/lru"
)

// forest is the calling-context tree of stacks. Nodes whose frames are the same group are merged. Node 0 is the root of
// all; a parent comes before its children. Nodes are added and never changed, so what a query has read of a forest
// stays true.
type forest struct {
	s      *Source
	q      *Query // its grouping, hidden frames and names
	groups []Group
	parent []int32
	group  []int32 // of each node; -1: of node 0
	node   places  // by label and node of the recording's tree: number of the node plus 1
	ends   []bool  // by node: a stack of the values that are summed up ends there
	// unknown is the node of stacks without frames, if they are not grouped by blocks; 0: there is none yet.
	unknown int32
	path    []uint32
	indexed bool // what index derives is current

	// What only adding needs, see settle.
	ids   map[Group]int32
	child map[[2]int32]int32 // by parent and group
	pcs   map[uint32][]int32 // groups of a pc's frames, leaf to root, without hidden ones

	// What index derives from the nodes.
	kids  []int32 // the nodes below each node,
	first []int32 // which begin here in kids, and end where those of the next node begin
	// A chain is a row of nodes, each below the one before, that have the same total: totals differ only where a stack
	// ends or paths divide. Values are kept by chain, of which there are a third as many as of nodes. A chain comes
	// after those above it; chain 0 is node 0.
	chain []int32 // of each node
	end   []int32 // of each chain: its last node, at which its own stacks end
	above []int32 // of each chain: the one above it; -1: none
	// Of the nodes that no node of their group is above: their chains and groups.
	topChain, topGroup []int32
}

// keptForests keeps forests of groupings of frames for the next query, of all recordings of this process together.
var keptForests = lru.New[forestKey, *keptForest](lru.Process, 64<<20)

// maxKeptNodes is how many nodes the calling-context tree of a recording may have for its forests to be kept, which
// take some 60 bytes a node. Those of others have only the stacks that a query counts.
const maxKeptNodes = 1 << 20

type forestKey struct {
	s    *Source
	by   By
	hide string
}

// hidden is the same for queries that hide the same frames; "" if none are. An empty pattern hides all of them.
func (q *Query) hidden() string {
	if q.Hide == nil {
		return ""
	}
	return "/" + q.Hide.String()
}

// keptForest is a forest that queries share. One that is cancelled while it adds to the forest leaves what it has
// added, and the next one goes on.
type keptForest struct {
	gate
	f    *forest // locked for adding; queries have copies
	done int     // how many stacks of the tally it has
}

// newForest returns the forest of the stacks of cells. If frames is false, it has the groups of blocks only.
func newForest(a *ask, c *cells, frames bool) *forest {
	f := emptyForest(a)
	for i := range c.len() {
		f.leaf(c.get(i).stack, c.get(i).label, frames)
	}
	return f
}

func emptyForest(a *ask) *forest {
	f := &forest{s: a.Source, q: a.q}
	f.add(-1, -1)
	f.unsettle()
	return f
}

// settle drops what only adding needs, half of the forest's memory, once it has all stacks of a recording.
func (f *forest) settle() {
	f.ids, f.child, f.pcs = nil, nil, nil
	f.parent, f.group = slices.Clone(f.parent), slices.Clone(f.group)
}

// unsettle makes that anew if there is more to add.
func (f *forest) unsettle() {
	if f.child != nil {
		return
	}
	f.ids, f.child, f.pcs = make(map[Group]int32), make(map[[2]int32]int32), make(map[uint32][]int32)
	for i, g := range f.groups {
		f.ids[g] = int32(i)
	}
	for n := 1; n < len(f.parent); n++ {
		f.child[[2]int32{f.parent[n], f.group[n]}] = int32(n)
	}
}

// forest returns a forest that has the n stacks of those labels, and the chain of each stack. Nobody may change it.
func (a *ask) forest(n int, frames bool, leaf func(i int) (stack, label uint32)) (*forest, []int32, error) {
	nodes, w := make([]int32, n), watch{ctx: a.ctx}
	if a.q.By.ofBlocks() || a.q.Names != nil || a.Reader.Nodes().Len() > maxKeptNodes {
		f := emptyForest(a)
		for i := range nodes {
			if err := w.err(); err != nil {
				return nil, nil, err
			}
			stack, label := leaf(i)
			nodes[i] = f.ending(stack, label, frames)
		}
		if err := f.index(a.ctx); err != nil {
			return nil, nil, err
		}
		return f, f.chainsOf(nodes), nil
	}
	key := forestKey{s: a.Source, by: a.q.By, hide: a.q.hidden()}
	if key.by == ByStack {
		key.by = ByLine // as leaf has it
	}
	k, ok := keptForests.Get(key)
	if !ok {
		k = &keptForest{gate: newGate(), f: emptyForest(a)}
		k.f.q = &Query{By: key.by, Hide: a.q.Hide}
		keptForests.Put(key, k, 0) // others wait for it instead of making their own
	}
	if err := k.lock(a.ctx); err != nil {
		return nil, nil, err
	}
	defer k.unlock()
	for ; k.done < len(a.sum.Stacks); k.done++ {
		if err := w.err(); err != nil {
			return nil, nil, err
		}
		k.f.ending(a.sum.Stacks[k.done].ID, 0, true)
	}
	for i := range nodes {
		if err := w.err(); err != nil {
			return nil, nil, err
		}
		stack, _ := leaf(i)
		nodes[i] = k.f.ending(stack, 0, true)
	}
	if !k.f.indexed {
		if err := k.f.index(a.ctx); err != nil {
			return nil, nil, err
		}
		if !a.Reader.Live() {
			k.f.settle()
		}
		keptForests.Put(key, k, k.f.size())
	}
	f := *k.f
	return &f, f.chainsOf(nodes), nil
}

// chainsOf makes nodes their chains.
func (f *forest) chainsOf(nodes []int32) []int32 {
	for i, n := range nodes {
		nodes[i] = f.chain[n]
	}
	return nodes
}

// size returns about how many bytes a forest takes.
func (f *forest) size() int64 {
	n := int64(unsafe.Sizeof(Group{})) * int64(len(f.groups)+2*len(f.ids)) // twice in ids, on average
	n += 4*int64(cap(f.parent)+cap(f.group)+cap(f.kids)+cap(f.first)+cap(f.chain)+cap(f.end)+cap(f.above)) +
		4*int64(cap(f.topChain)+cap(f.topGroup)) + int64(cap(f.ends))
	n += 32*int64(len(f.child)) + 4*int64(cap(f.node.dense)) + 16*int64(cap(f.node.far.slots))
	for _, list := range f.pcs {
		n += 64 + 4*int64(cap(list))
	}
	return n
}

func (f *forest) add(parent, group int32) int32 {
	f.parent, f.group, f.ends = append(f.parent, parent), append(f.group, group), append(f.ends, false)
	f.indexed = false
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

// ending is leaf for a stack that has values.
func (f *forest) ending(stack, label uint32, frames bool) int32 {
	n := f.leaf(stack, label, frames)
	if !f.ends[n] {
		f.ends[n], f.indexed = true, false
	}
	return n
}

// leaf returns the node of a stack and a label.
func (f *forest) leaf(stack, label uint32, frames bool) int32 {
	by := f.q.By
	if !by.ofBlocks() {
		switch at := *f.node.at(stack, label); {
		case at > 1:
			return int32(at - 1)
		case (at == 1 || stack == 0) && f.unknown > 0: // all of its frames are hidden, or it has none
			return f.unknown
		}
	}
	f.unsettle()
	at := int32(0)
	if by.ofBlocks() {
		if names := f.q.Names; by == ByThread && names != nil {
			label = names.Thread(label)
		}
		for _, g := range f.s.GroupsOfLabel(by, label) {
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
	f.path = f.s.pathToRoot(f.path[:0], stack, func(id uint32) bool {
		n := *f.node.at(id, label)
		if n != 0 {
			at = int32(n - 1)
		}
		return n != 0
	})
	for _, id := range slices.Backward(f.path) {
		n, _ := f.s.Reader.Nodes().Get(id)
		for _, g := range slices.Backward(f.pc(by, n.PC)) {
			at = f.down(at, g)
		}
		*f.node.at(id, label) = uint32(at + 1)
	}
	if at == root { // no frames known, or all hidden
		if at = f.down(root, f.id(Group{By: by, Unknown: true})); root == 0 {
			f.unknown = at
		}
	}
	return at
}

// self returns the group of the frame that a stack ends with, hidden ones apart. It adds no nodes.
func (f *forest) self(stack uint32) int32 {
	for stack != 0 {
		n, ok := f.s.Reader.Nodes().Get(stack)
		if !ok {
			break
		}
		if list := f.pc(f.q.By, n.PC); len(list) > 0 {
			return list[0]
		}
		stack = n.Parent
	}
	return f.id(Group{By: f.q.By, Unknown: true})
}

func (f *forest) pc(by By, pc uint32) []int32 {
	list, ok := f.pcs[pc]
	if ok {
		return list
	}
	for _, g := range f.q.groups(f.s, by, pc) {
		list = append(list, f.id(g))
	}
	f.pcs[pc] = list
	return list
}

// index fills in what the nodes imply. It makes new lists, since others may read the old ones. If it is cancelled, it
// changes nothing.
func (f *forest) index(ctx context.Context) error {
	n := int32(len(f.parent))
	x := *f
	x.first, x.kids = make([]int32, n+1), make([]int32, n)
	for i := int32(1); i < n; i++ {
		x.first[f.parent[i]+1]++
	}
	for i := range n {
		x.first[i+1] += x.first[i]
	}
	next := slices.Clone(x.first[:n])
	for i := int32(1); i < n; i++ {
		p := f.parent[i]
		x.kids[next[p]] = i
		next[p]++
	}
	x.kids = x.kids[:n-1]
	x.chains()
	if err := x.topmosts(ctx); err != nil {
		return err
	}
	x.indexed = true
	*f = x
	return nil
}

// chains fills in chain, end and above.
func (f *forest) chains() {
	f.chain, f.end, f.above = make([]int32, len(f.parent)), []int32{0}, []int32{-1}
	for n := int32(1); n < int32(len(f.parent)); n++ {
		p := f.parent[n]
		c := f.chain[p]
		if p == 0 || f.ends[p] || f.first[p+1]-f.first[p] > 1 {
			f.end, f.above = append(f.end, n), append(f.above, c)
			c = int32(len(f.end) - 1)
		}
		f.chain[n], f.end[c] = c, n
	}
}

// isEnd reports whether a node is the last of its chain. At others, no stack ends.
func (f *forest) isEnd(n int32) bool { return f.end[f.chain[n]] == n }

// topmosts fills in topChain and topGroup. It follows each path from the root, and counts the nodes of each group on
// it.
func (f *forest) topmosts(ctx context.Context) error {
	on := make([]int32, len(f.groups))
	var chains, groups []int32
	todo, w := slices.Clone(f.below(0)), watch{ctx: ctx}
	for len(todo) > 0 {
		if err := w.err(); err != nil {
			return err
		}
		n := todo[len(todo)-1]
		if n < 0 { // everything below it is done
			on[f.group[-n]]--
			todo = todo[:len(todo)-1]
			continue
		}
		todo[len(todo)-1] = -n
		g := f.group[n]
		if on[g] == 0 {
			chains, groups = append(chains, f.chain[n]), append(groups, g)
		}
		on[g]++
		todo = append(todo, f.below(n)...)
	}
	f.topChain, f.topGroup = slices.Clone(chains), slices.Clone(groups)
	return nil
}

// below returns the nodes below a node.
func (f *forest) below(n int32) []int32 { return f.kids[f.first[n]:f.first[n+1]] }

// topmost returns the nodes whose group matches while no group above matches, of those for which counts is true.
func (f *forest) topmost(match []bool, counts func(n int32) bool) (list []int32) {
	within := make([]bool, len(f.parent))
	for n := int32(1); n < int32(len(f.parent)); n++ {
		if within[n] = within[f.parent[n]]; !within[n] && match[f.group[n]] {
			within[n] = true
			if counts(n) {
				list = append(list, n)
			}
		}
	}
	return list
}
