package verify

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// span is the time in which code was loaded, in ns.
type span struct{ from, to int64 }

var always = span{0, math.MaxInt64}

func (s span) and(o span) span { return span{max(s.from, o.from), min(s.to, o.to)} }

// lifespan is the time in which all code of a stack was loaded, once that is known.
type lifespan struct {
	span
	known bool
}

// tree is the calling-context tree, and when each stack is possible.
type tree struct {
	nodes   *recording.Table[event.Node]
	modules *Check
	spans   *byStack[lifespan]
	loaded  map[uint32]event.Module
	used    uint64 // stacks that were compared with their modules
}

func newTree(r *recording.Reader, tables, modules *Check) *tree {
	t := &tree{nodes: r.Nodes(), modules: modules, spans: newByStack[lifespan](r.Nodes().Len()),
		loaded: make(map[uint32]event.Module)}
	for _, m := range r.Modules() {
		t.loaded[m.ID] = m
		modules.require(m.ID != 0 && m.Start <= m.End && (m.Unload == -1 || m.Unload >= m.Loaded),
			"module %d (%s) begins at %#x and ends at %#x, was loaded at %d ns and unloaded at %d ns",
			m.ID, m.Path, m.Start, m.End, m.Loaded, m.Unload)
	}
	overlaps(modules, r.Modules())
	frames := 0
	r.PCs().All(func(id uint32, pc event.PC) bool {
		if len(r.Frames(id)) > 0 {
			frames++
		}
		m, ok := t.loaded[pc.Module]
		switch {
		case pc.Module == 0:
		case !ok:
			tables.problem("address %d (%#x) lies in module %d, which does not exist", id, pc.Addr, pc.Module)
		default:
			// A return address may be the module's end, right after its last call.
			modules.require(pc.Addr >= m.Start && pc.Addr <= m.End,
				"address %d (%#x) does not lie in its module %d (%s, %#x to %#x)",
				id, pc.Addr, m.ID, m.Path, m.Start, m.End)
		}
		return true
	})
	t.nodes.All(func(id uint32, n event.Node) bool {
		_, ok := r.PCs().Get(n.PC)
		tables.require(ok, "node %d has address %d, which does not exist", id, n.PC)
		t.span(tables, r.PCs(), id)
		return true
	})
	tables.What = fmt.Sprintf("%d threads, %d modules, %d addresses (%d with functions), %d nodes of the tree",
		len(r.Threads()), len(r.Modules()), r.PCs().Len(), frames, t.nodes.Len())
	return t
}

// span returns when all code of a stack was loaded. It walks up to the first known node, then down again. The reader
// has removed cycles, so this ends.
func (t *tree) span(tables *Check, pcs *recording.Table[event.PC], id uint32) {
	var way []uint32
	at := always
	for id != 0 {
		s := t.spans.at(id)
		if s.known {
			at = s.span
			break
		}
		n, ok := t.nodes.Get(id)
		if !ok {
			tables.problem("node %d has a parent %d, which does not exist", way[len(way)-1], id)
			break
		}
		way = append(way, id)
		id = n.Parent
	}
	for _, id := range slices.Backward(way) {
		n, _ := t.nodes.Get(id)
		pc, _ := pcs.Get(n.PC)
		if m, ok := t.loaded[pc.Module]; ok {
			s := span{m.Loaded, m.Unload}
			if m.Unload < 0 {
				s.to = always.to
			}
			at = at.and(s)
		}
		*t.spans.at(id) = lifespan{at, true}
	}
}

// slack is by how much the clocks of modules and events may differ, in ns: both are converted from the same counter,
// but not at the same moment.
const slack = 1_000_000

// checkLoaded checks that the code of a stack was loaded at a time.
func (t *tree) checkLoaded(stack uint32, time int64, number uint64) {
	s := t.spans.at(stack)
	if !s.known {
		return
	}
	t.used++
	if time < s.from-slack || time-slack > s.to {
		t.modules.problem("event %d at %d ns: the code of its call stack %d was only loaded from %d to %d ns", number,
			time, stack, s.from, s.to)
	}
}

// maxModules limits the modules that are loaded at once, far above any real loader: a forged file may have any number.
const maxModules = 1 << 16

// overlaps finds modules at the same addresses at the same time.
func overlaps(c *Check, list []event.Module) {
	type moment struct {
		time int64
		load bool
		m    *event.Module
	}
	var all []moment
	for i := range list {
		m := &list[i]
		all = append(all, moment{m.Loaded, true, m})
		if m.Unload >= 0 {
			all = append(all, moment{m.Unload, false, m})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int {
		if a.m != b.m && a.time == b.time && a.load != b.load { // unload first
			if b.load {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.time, b.time)
	})
	var there []*event.Module // by address
	for _, x := range all {
		i, found := slices.BinarySearchFunc(there, x.m, func(a, b *event.Module) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.ID, b.ID))
		})
		if !x.load {
			if found {
				there = slices.Delete(there, i, i+1)
			}
			continue
		}
		for _, j := range [2]int{i - 1, i} {
			if j >= 0 && j < len(there) && there[j].Start < x.m.End && x.m.Start < there[j].End {
				c.problem("modules %d (%s) and %d (%s) lie at the same addresses at %d ns", there[j].ID, there[j].Path,
					x.m.ID, x.m.Path, x.time)
			}
		}
		if len(there) == maxModules {
			c.problem("more than %d modules are loaded at %d ns", maxModules, x.time)
			return
		}
		there = slices.Insert(there, i, x.m)
	}
}
