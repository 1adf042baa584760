package repair

import (
	"cmp"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// mendedTables are the tables of a recording that is repaired. They refer only to rows that exist, and so do the
// numbers that they return for events.
type mendedTables struct {
	threads []event.Thread
	extra   uint32 // bounds the numbers of threads that are added because events name them
	changed map[uint32]bool
	nodes   map[uint32]event.Node
	pcs     map[uint32]event.PC
	modules map[uint32]event.Module
	spans   map[uint32]span // by node: when it was on a call stack
}

// span is a time, in ns, both ends included.
type span struct{ from, to int64 }

// mendTables writes the tables on which events depend.
func mendTables(w *recording.Writer, r *recording.Reader) *mendedTables {
	t := &mendedTables{
		threads: slices.Clone(r.Threads()),
		extra:   recording.MaxGap*uint32(len(r.Threads())) + 4096,
		changed: make(map[uint32]bool),
		nodes:   make(map[uint32]event.Node, r.Nodes().Len()),
		pcs:     make(map[uint32]event.PC, r.PCs().Len()),
		modules: make(map[uint32]event.Module),
		spans:   make(map[uint32]span),
	}
	for i, v := range t.threads {
		w.Thread(uint32(i), v)
	}
	for _, m := range apart(r.Modules()) {
		t.modules[m.ID] = m
		w.Module(m)
	}
	pc := func(id uint32, p event.PC) bool {
		// A return address may be the module's end, if its last instruction is a call.
		if m, ok := t.modules[p.Module]; p.Module != 0 && (!ok || p.Addr < m.Start || p.Addr > m.End) {
			p.Module = 0
		}
		t.pcs[id] = p
		w.PC(id, p)
		return true
	}
	r.PCs().All(pc)
	r.Nodes().All(func(id uint32, n event.Node) bool {
		if _, ok := r.Nodes().Get(n.Parent); n.Parent != 0 && !ok {
			n.Parent, n.Truncated = 0, true
		}
		if _, ok := t.pcs[n.PC]; !ok {
			pc(n.PC, event.PC{})
		}
		if id != 0 {
			t.nodes[id] = n
			w.Node(id, n)
		}
		return true
	})
	return t
}

// apart returns the modules that are possible: it leaves out those whose addresses overlap with another one's at the
// same time.
func apart(list []event.Module) (kept []event.Module) {
	type moment struct {
		time int64
		load bool
		at   int // in list
	}
	var all []moment
	for i := range list {
		m := &list[i]
		if m.ID == 0 || m.Start > m.End || m.Unload != -1 && m.Unload < m.Loaded {
			continue
		}
		all = append(all, moment{m.Loaded, true, i})
		if m.Unload >= 0 {
			all = append(all, moment{m.Unload, false, i})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int {
		if a.time == b.time && a.load != b.load && a.at != b.at { // modules are unloaded before others are loaded
			if b.load {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.time, b.time)
	})
	out := make([]bool, len(list))
	var there []int // in list, by address
	for _, x := range all {
		m := &list[x.at]
		i, found := slices.BinarySearchFunc(there, m, func(a int, b *event.Module) int {
			return cmp.Or(cmp.Compare(list[a].Start, b.Start), cmp.Compare(list[a].ID, b.ID))
		})
		if !x.load {
			if found {
				there = slices.Delete(there, i, i+1)
			}
			continue
		}
		over := func(k int) bool {
			return k >= 0 && k < len(there) && list[there[k]].Start < m.End && m.Start < list[there[k]].End
		}
		if out[x.at] = over(i-1) || over(i) || len(there) >= maxModulesAtOnce; !out[x.at] {
			there = slices.Insert(there, i, x.at)
		}
	}
	for i := range list {
		if m := &list[i]; !out[i] && m.ID != 0 && m.Start <= m.End && (m.Unload == -1 || m.Unload >= m.Loaded) {
			kept = append(kept, *m)
		}
	}
	return kept
}

// maxModulesAtOnce is more than any process has.
const maxModulesAtOnce = 1 << 16

// thread returns i, or 0 if no thread can have that number. It adds the thread if the table has lost it, and makes it
// start no later than time.
func (t *mendedTables) thread(i uint32, time int64) uint32 {
	if uint64(i) >= uint64(len(t.threads)) {
		if i >= t.extra {
			i = 0
		}
		for uint64(i) >= uint64(len(t.threads)) {
			t.changed[uint32(len(t.threads))] = true
			t.threads = append(t.threads, event.Thread{})
		}
	}
	if t.threads[i].Start > time {
		t.threads[i].Start = time
		t.changed[i] = true
	}
	return i
}

// stack returns id if there is such a call stack, else 0: an unknown one.
func (t *mendedTables) stack(id uint32) uint32 {
	if _, ok := t.nodes[id]; !ok {
		return 0
	}
	return id
}

// used notes when the call stacks of an event were taken.
func (t *mendedTables) used(e *event.Event) {
	if e.Flags&event.Late != 0 {
		return // its time is not when it happened
	}
	if e.Kind != event.Free { // whose Stack is that of its allocation
		t.usedAt(e.Stack, e.Time)
	}
	t.usedAt(e.FreeStack, e.Time)
}

func (t *mendedTables) usedAt(stack uint32, time int64) {
	if stack == 0 {
		return
	}
	s, ok := t.spans[stack]
	if !ok {
		s = span{math.MaxInt64, math.MinInt64}
	}
	t.spans[stack] = span{min(s.from, time), max(s.to, time)}
}

// clockSlack is by how much the clock of the modules and that of the events may differ, in ns.
const clockSlack = 1_000_000

// finish writes again what the events show to be different: threads, and addresses whose modules were not loaded at the
// time.
func (t *mendedTables) finish(w *recording.Writer) {
	for i := range t.threads {
		if t.changed[uint32(i)] {
			w.Thread(uint32(i), t.threads[i])
		}
	}
	// A caller is on the stack whenever its callee is: go from the leaves up.
	children := make(map[uint32]int)
	for _, n := range t.nodes {
		children[n.Parent]++
	}
	var ready []uint32
	for id := range t.nodes {
		if children[id] == 0 {
			ready = append(ready, id)
		}
	}
	slices.Sort(ready)
	for len(ready) > 0 {
		id := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		n := t.nodes[id]
		if s, ok := t.spans[id]; ok {
			t.there(w, n.PC, s)
			if n.Parent != 0 {
				t.usedAt(n.Parent, s.from)
				t.usedAt(n.Parent, s.to)
			}
		}
		if children[n.Parent]--; children[n.Parent] == 0 && n.Parent != 0 {
			ready = append(ready, n.Parent)
		}
	}
}

// there removes the module of an address that was not loaded during all of a span.
func (t *mendedTables) there(w *recording.Writer, id uint32, s span) {
	p := t.pcs[id]
	m, ok := t.modules[p.Module]
	if !ok || s.from >= m.Loaded-clockSlack && (m.Unload < 0 || s.to <= m.Unload+clockSlack) {
		return
	}
	p.Module = 0
	t.pcs[id] = p
	w.PC(id, p)
}
