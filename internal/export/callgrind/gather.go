package callgrind

import (
	"cmp"
	"slices"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/query"
)

// key tells functions apart, as the form does: the same function's code in another file is another one.
type key struct{ object, file, name string }

func (k *key) compare(o *key) int {
	return cmp.Or(cmp.Compare(k.object, o.object), cmp.Compare(k.file, o.file), cmp.Compare(k.name, o.name))
}

// noFile is the name of a source or object file that is not known, as Callgrind writes it.
const noFile = "???"

// function is what a function costs, and whom it calls.
type function struct {
	key
	lines []*lineCost
	calls []*call
	first uint32 // lowest line that is known of it: where it may begin; 0: none

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

// display is what callgrind_annotate tells functions by: for a total, functions of the same name in one file are one.
type display struct{ file, name string }

// gatherer makes functions and calls of call stacks.
type gatherer struct {
	in     *export.Input
	known  map[key]*function
	list   []*function
	places map[uint32][]place // the frames at a pc, leaf to root
	on     map[display]bool   // what is on the call stack so far
	path   []place
}

// place is a frame of a call stack.
type place struct {
	f    *function
	line uint32
}

// gather returns all functions, in order.
func gather(in *export.Input, rows []query.StackRow) []*function {
	g := &gatherer{in: in, known: make(map[key]*function), places: make(map[uint32][]place), on: make(map[display]bool)}
	root := place{f: g.function(key{object: noFile, file: noFile, name: "[root]"})}
	for i := range rows {
		g.stack(root, &rows[i])
	}
	for _, f := range g.list {
		f.sort()
	}
	slices.SortFunc(g.list, func(a, b *function) int { return a.key.compare(&b.key) })
	return g.list
}

// stack adds a call stack.
func (g *gatherer) stack(root place, r *query.StackRow) {
	g.path = g.path[:0]
	g.in.PCs(r.Stack, func(pc uint32) bool {
		g.path = append(g.path, g.at(pc)...)
		return true
	})
	if len(g.path) == 0 {
		g.path = append(g.path, place{f: g.function(key{object: noFile, file: noFile, name: export.Unknown})})
	}
	clear(g.on)
	caller := root
	for _, p := range slices.Backward(g.path) {
		c := caller.f.call(p.f, caller.line)
		c.count += r.Allocations
		if d := (display{p.f.file, p.f.name}); !g.on[d] {
			g.on[d] = true
			add(&c.cost, &r.Values)
		}
		caller = p
	}
	add(caller.f.at(caller.line), &r.Values)
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

// sort orders lines and calls, and drops lines without costs.
func (f *function) sort() {
	f.lines = slices.DeleteFunc(f.lines, func(l *lineCost) bool { return l.self == query.Values{} })
	slices.SortFunc(f.lines, func(a, b *lineCost) int { return cmp.Compare(a.number, b.number) })
	slices.SortFunc(f.calls, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.line, b.line), a.callee.compare(&b.callee.key))
	})
}

// add adds what is written of a call stack.
func add(to, v *query.Values) {
	to.Allocations += v.Allocations
	to.Bytes += v.Bytes
	to.Deallocations += v.Deallocations
	to.LiveBytes += v.LiveBytes
	to.PeakBytes += v.PeakBytes
	to.LeakedBytes += v.LeakedBytes
	to.Temporary += v.Temporary
}
