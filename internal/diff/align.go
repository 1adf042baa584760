package diff

import (
	"cmp"
	"maps"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// alignment says which functions and call sites of two recordings are the same.
type alignment struct {
	modules map[string]string        // first recording: path in the second
	same    map[string]bool          // paths in the second of modules that are the same build
	known   map[function]bool        // functions of the second
	renamed map[function]string      // first recording: its name in the second
	sites   map[call]map[place]place // of calls in both
	callees map[uint32]function      // first recording: the function that a pc calls
	files   map[string]string        // first recording: the same file in the second
}

// function identifies a function in both recordings. Without a name, it has no call sites and is known by its offset.
type function struct{ name, module string }

func (f function) compare(o function) int {
	return cmp.Or(cmp.Compare(f.name, o.name), cmp.Compare(f.module, o.module))
}

// place is where a function calls another.
type place struct {
	line uint32
	file string
}

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.file, b.file))
}

// call is a function calling another one, or the allocator.
type call struct{ from, to function }

// allocator is called by the leaf of a call stack.
var allocator = function{name: "\x00"}

// weight is what was allocated through a call site.
type weight struct{ allocations, bytes uint64 }

func (w *weight) add(o weight) {
	w.allocations += o.allocations
	w.bytes += o.bytes
}

// alike reports whether two call sites allocated blocks of the same mean size.
func (w weight) alike(o weight) bool {
	a, b := float64(w.bytes)*float64(o.allocations), float64(o.bytes)*float64(w.allocations)
	return a == b
}

// calls are the call sites of a recording.
type calls map[call]map[place]weight

// align compares the call sites of two recordings.
func align(before, after *own) *alignment {
	a := &alignment{sites: make(map[call]map[place]place), files: make(map[string]string)}
	a.modules, a.same = pairModules(before.s, after.s)
	modules := before.s.Reader.Modules()
	if len(modules) > 0 && !slices.ContainsFunc(modules,
		func(m event.Module) bool { return !a.same[a.module(m.Path)] }) {
		a.same[""] = true // code compiled at run time keeps its names
		return a          // all modules are the same build: lines are equal
	}
	own := func(f *profile.Frame) function { return function{f.Function, f.Module} }
	a.known = functionsOf(after, own)
	a.renamed = pairRenamed(functionsOf(before, a.functionOf), a.known)
	from, callees := a.callsOf(before, a.functionOf)
	to, _ := a.callsOf(after, own)
	byFunction := make(map[function][]call)
	for c := range from {
		if a.known[c.from] && !a.same[c.from.module] && len(to[c]) > 0 {
			byFunction[c.from] = append(byFunction[c.from], c)
		}
	}
	for _, list := range byFunction {
		maps.Copy(a.sites, pairFunction(list, from, to))
	}
	a.chooseCallees(before, callees)
	votes := make(map[[2]string]int)
	for _, pairs := range a.sites {
		for p, q := range pairs {
			votes[[2]string{p.file, q.file}]++
		}
	}
	most := make(map[string]int)
	for _, v := range slices.SortedFunc(maps.Keys(votes),
		func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		if votes[v] > most[v[0]] {
			most[v[0]] = votes[v]
			a.files[v[0]] = v[1]
		}
	}
	return a
}

// chooseCallees chooses one call for each pc that calls several functions: the one through which most was allocated,
// among those that also exist in the second recording.
func (a *alignment) chooseCallees(before *own, callees map[uint32]map[function]weight) {
	a.callees = make(map[uint32]function, len(callees))
	for pc, list := range callees {
		f := &before.Frames(pc)[0]
		var best function
		most := weight{}
		for to, w := range list {
			if _, ok := a.sites[call{a.functionOf(f), to}][place{f.Line, f.File}]; !ok {
				continue
			}
			if best == (function{}) || cmp.Or(cmp.Compare(w.allocations, most.allocations), to.compare(best)) > 0 {
				best, most = to, w
			}
		}
		a.callees[pc] = best
	}
}

func (a *alignment) module(path string) string {
	if other, ok := a.modules[path]; ok {
		return other
	}
	return path
}

// functionsOf collects the functions with a name.
func functionsOf(o *own, name func(*profile.Frame) function) map[function]bool {
	list := make(map[function]bool)
	o.s.Reader.Nodes().All(func(_ uint32, n event.Node) bool {
		for _, f := range o.Frames(n.PC) {
			if f.Function != "" {
				list[name(&f)] = true
			}
		}
		return true
	})
	return list
}

// callsOf collects the call sites of a recording's tree in modules that are not the same build, and the function that
// each pc calls.
func (a *alignment) callsOf(o *own, functionOf func(*profile.Frame) function) (list calls,
	callees map[uint32]map[function]weight) {
	list, callees = make(calls), make(map[uint32]map[function]weight)
	add := func(from *profile.Frame, to function, w weight) {
		if from.Function == "" || a.same[functionOf(from).module] {
			return
		}
		c := call{functionOf(from), to}
		if list[c] == nil {
			list[c] = make(map[place]weight)
		}
		p := place{from.Line, from.File}
		sum := list[c][p]
		sum.add(w)
		list[c][p] = sum
	}
	leaves := func(pc uint32, to function, w weight) {
		add(&o.Frames(pc)[0], to, w)
		if callees[pc] == nil {
			callees[pc] = make(map[function]weight, 1)
		}
		sum := callees[pc][to]
		sum.add(w)
		callees[pc][to] = sum
	}
	through, ends := weights(o.s)
	for node, w := range through {
		n, _ := o.s.Reader.Nodes().Get(node)
		frames := o.Frames(n.PC)
		for i := 1; i < len(frames); i++ {
			add(&frames[i], functionOf(&frames[i-1]), w)
		}
		if end, ok := ends[node]; ok {
			leaves(n.PC, allocator, end)
		}
		if parent, ok := o.s.Reader.Nodes().Get(n.Parent); ok && n.Parent != 0 {
			leaves(parent.PC, functionOf(&frames[len(frames)-1]), w)
		}
	}
	return list, callees
}

// weights returns what was allocated at each node of a recording's tree or below it, and at each node where stacks end.
func weights(s *query.Source) (through, leaves map[uint32]weight) {
	through, leaves = make(map[uint32]weight, s.Reader.Nodes().Len()), make(map[uint32]weight, len(s.Profile.Stacks))
	nodes := s.Reader.Nodes()
	var order []uint32 // parents before their children
	for i := range s.Profile.Stacks {
		st := &s.Profile.Stacks[i]
		var path []uint32
		for id := st.ID; id != 0; {
			if _, seen := through[id]; seen {
				break
			}
			n, ok := nodes.Get(id)
			if !ok {
				break
			}
			through[id] = weight{} // also ends a cycle in a forged tree
			path = append(path, id)
			id = n.Parent
		}
		slices.Reverse(path)
		order = append(order, path...)
		if _, ok := through[st.ID]; ok {
			leaves[st.ID] = weight{st.Allocations, st.Bytes}
		}
	}
	for _, id := range slices.Backward(order) {
		w := through[id]
		w.add(leaves[id])
		through[id] = w
		if n, _ := nodes.Get(id); n.Parent != 0 {
			if p, ok := through[n.Parent]; ok {
				p.add(w)
				through[n.Parent] = p
			}
		}
	}
	return through, leaves
}

// rename gives a frame of the first recording, which calls callee, its name in the second, as far as the grouping needs
// it. A frame without a counterpart keeps its name.
func (a *alignment) rename(f *profile.Frame, callee function, by query.By) {
	fn := a.functionOf(f)
	at := place{f.Line, f.File}
	switch {
	case f.Function == "" || a.same[fn.module]:
		f.Module = fn.module
		return
	case by == query.ByModule || by == query.ByFile:
		f.Module = fn.module
		if other, ok := a.files[f.File]; ok {
			f.File = other
		}
	case a.known[fn]:
		f.Function, f.Module = fn.name, fn.module
	}
	if to, ok := a.sites[call{fn, callee}][at]; ok {
		f.File, f.Line = to.file, to.line
	} else {
		f.Line |= unpaired
	}
}

// functionOf returns the function of a frame of the first recording, named as in the second.
func (a *alignment) functionOf(f *profile.Frame) function {
	fn := function{f.Function, a.module(f.Module)}
	if name, ok := a.renamed[fn]; ok {
		fn.name = name
	}
	return fn
}
