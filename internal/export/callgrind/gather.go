package callgrind

import (
	"cmp"
	"slices"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/query"
)

// key identifies a function, as the format does: the same function in another file is a different one.
type key struct{ object, file, name string }

func (k *key) compare(o *key) int {
	return cmp.Or(cmp.Compare(k.object, o.object), cmp.Compare(k.file, o.file), cmp.Compare(k.name, o.name))
}

// noFile is Callgrind's name for an unknown source or object file.
const noFile = "???"

// function holds the costs of a function and its calls.
type function struct {
	key
	lines []*lineCost
	calls []*call
	first uint32 // its lowest known line, taken for where it begins; 0: none

	self  map[uint32]*lineCost
	edges map[edge]*call
}

type lineCost struct {
	number uint32
	self   query.Values
}

type call struct {
	callee *function
	line   uint32 // of the caller
	count  uint64
	cost   query.Values
}

type edge struct {
	callee *function
	line   uint32
}

// display identifies a function as callgrind_annotate does: in its totals, functions of one name in one file are one.
type display struct{ file, name string }

// gatherer turns call stacks into functions and calls. It first adds up the costs of each subtree of the
// calling-context tree, so that it visits each node only once, however deep the tree is.
type gatherer struct {
	in     *export.Input
	known  map[key]*function
	list   []*function
	places map[uint32][]place // the frames at a pc, leaf to root
	nodes  []node             // parents before their children; the first is the root
	ids    map[uint32]int32   // indexes into nodes, by node of the recording's tree
	path   []uint32
}

// node is a node of the calling-context tree.
type node struct {
	parent int32
	places []place      // leaf to root; none if all are hidden
	caller place        // the caller of the outermost of them
	total  query.Values // of the node and all below it
}

// end is the place at which a call stack that ends at the node calls the allocator.
func (n *node) end() place {
	if len(n.places) > 0 {
		return n.places[0]
	}
	return n.caller
}

// place is a frame of a call stack.
type place struct {
	f    *function
	line uint32
}

// gather returns all functions, sorted by key.
func gather(in *export.Input, rows []query.StackRow) []*function {
	g := &gatherer{in: in, known: make(map[key]*function), places: make(map[uint32][]place),
		ids: make(map[uint32]int32)}
	root := place{f: g.function(key{object: noFile, file: noFile, name: "[root]"})}
	g.nodes = append(g.nodes, node{parent: -1, caller: root})
	unknown := int32(0) // a node for call stacks without frames
	for i := range rows {
		at := g.node(rows[i].Stack)
		if g.nodes[at].end() == root {
			if unknown == 0 {
				unknown = int32(len(g.nodes))
				f := g.function(key{object: noFile, file: noFile, name: export.Unknown})
				g.nodes = append(g.nodes, node{caller: root, places: []place{{f: f}}})
			}
			at = unknown
		}
		n := &g.nodes[at]
		add(&n.total, &rows[i].Values)
		end := n.end()
		add(end.f.at(end.line), &rows[i].Values)
	}
	for i := len(g.nodes) - 1; i > 0; i-- {
		add(&g.nodes[g.nodes[i].parent].total, &g.nodes[i].total)
	}
	g.calls()
	for _, f := range g.list {
		f.sort()
	}
	slices.SortFunc(g.list, func(a, b *function) int { return a.key.compare(&b.key) })
	return g.list
}

// node returns the index of the node of a call stack.
func (g *gatherer) node(stack uint32) int32 {
	g.path = g.path[:0]
	at := int32(0)
	for stack != 0 {
		if known, ok := g.ids[stack]; ok {
			at = known
			break
		}
		n, ok := g.in.Reader.Nodes().Get(stack)
		if !ok {
			break
		}
		g.path = append(g.path, stack)
		stack = n.Parent
	}
	for _, id := range slices.Backward(g.path) {
		n, _ := g.in.Reader.Nodes().Get(id)
		g.nodes = append(g.nodes, node{parent: at, places: g.at(n.PC), caller: g.nodes[at].end()})
		at = int32(len(g.nodes) - 1)
		g.ids[id] = at
	}
	return at
}

// calls adds the calls of all nodes. The costs of a recursive function count only at its outermost call.
func (g *gatherer) calls() {
	first, sibling := make([]int32, len(g.nodes)), make([]int32, len(g.nodes)) // 0: none
	for i := len(g.nodes) - 1; i > 0; i-- {
		p := g.nodes[i].parent
		sibling[i], first[p] = first[p], int32(i)
	}
	on := make(map[display]int) // how often each is on the path to the node
	for at := first[0]; at != 0; {
		n := &g.nodes[at]
		caller := n.caller
		for _, p := range slices.Backward(n.places) {
			c := caller.f.call(p.f, caller.line)
			c.count += n.total.Allocations
			d := display{p.f.file, p.f.name}
			if on[d]++; on[d] == 1 {
				add(&c.cost, &n.total)
			}
			caller = p
		}
		next := first[at]
		for next == 0 && at != 0 { // up again
			for _, p := range g.nodes[at].places {
				on[display{p.f.file, p.f.name}]--
			}
			next, at = sibling[at], g.nodes[at].parent
		}
		at = next
	}
}

// at returns the frames at a pc.
func (g *gatherer) at(pc uint32) []place {
	list, ok := g.places[pc]
	if ok {
		return list
	}
	for _, f := range g.in.Frames(pc) {
		k := key{object: noFile, file: noFile, name: clean(export.FrameName(&f))}
		if f.Module != "" {
			k.object = clean(f.Module)
		}
		if f.File != "" {
			k.file = clean(f.File)
		}
		p := place{g.function(k), f.Line}
		if f.Line != 0 && (p.f.first == 0 || f.Line < p.f.first) {
			p.f.first = f.Line
		}
		list = append(list, p)
	}
	g.places[pc] = list
	return list
}

func (g *gatherer) function(k key) *function {
	f := g.known[k]
	if f == nil {
		f = &function{key: k, self: make(map[uint32]*lineCost), edges: make(map[edge]*call)}
		g.known[k] = f
		g.list = append(g.list, f)
	}
	return f
}

func (f *function) at(line uint32) *query.Values {
	l := f.self[line]
	if l == nil {
		l = &lineCost{number: line}
		f.self[line] = l
		f.lines = append(f.lines, l)
	}
	return &l.self
}

func (f *function) call(callee *function, line uint32) *call {
	e := edge{callee, line}
	c := f.edges[e]
	if c == nil {
		c = &call{callee: callee, line: line}
		f.edges[e] = c
		f.calls = append(f.calls, c)
	}
	return c
}

// sort sorts lines and calls, and drops lines without costs.
func (f *function) sort() {
	f.lines = slices.DeleteFunc(f.lines, func(l *lineCost) bool { return l.self == query.Values{} })
	slices.SortFunc(f.lines, func(a, b *lineCost) int { return cmp.Compare(a.number, b.number) })
	slices.SortFunc(f.calls, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.line, b.line), a.callee.compare(&b.callee.key))
	})
}

// add adds those values that are written.
func add(to, v *query.Values) {
	to.Allocations += v.Allocations
	to.Bytes += v.Bytes
	to.Deallocations += v.Deallocations
	to.LiveBytes += v.LiveBytes
	to.PeakBytes += v.PeakBytes
	to.LeakedBytes += v.LeakedBytes
	to.Temporary += v.Temporary
}
