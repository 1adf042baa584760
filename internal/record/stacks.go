package record

import (
	"slices"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/wire"
)

// A recording has ids of its own, without gaps, for the nodes and program counters that occur in its events. What the
// agent's tables hold twice (two threads may have added the same stack at the same time) is one here.

// maxNodes bounds the spool's node ids; an agent's table is smaller.
const maxNodes = 1 << 28

// stack returns the recording's id of a spool's node, 0 if there is none.
func (p *process) stack(id uint32) uint32 {
	if uint64(id) < uint64(len(p.nodeID)) && p.nodeID[id] != 0 {
		return p.nodeID[id]
	}
	return p.newNode(id)
}

// newNode returns the recording's id of a spool's node that occurs for the first time, and adds it and those above it.
func (p *process) newNode(id uint32) uint32 {
	damaged := func() uint32 {
		p.note("Some call stacks were damaged in the target's memory and are missing.")
		return 0
	}
	if id >= maxNodes {
		return damaged()
	}
	known, deepest, limit := p.nodeID, p.w.run.config.MaxDepth, 0
	if deepest > 0 {
		known, limit = nil, deepest+1
	}
	path, missing, ok := p.w.tables.Path(p.steps[:0], id, known, limit)
	for ok && missing != 0 {
		if missing >= maxNodes {
			return damaged()
		}
		if !p.await(missing) {
			return 0 // and perhaps the next time it is there
		}
		path, missing, ok = p.w.tables.Path(path, missing, known, limit)
	}
	p.steps = path[:0]
	if !ok {
		return damaged()
	}
	if deepest > 0 {
		return p.cutNode(path, deepest)
	}
	up := uint32(0)
	if len(path) > 0 {
		if at := path[len(path)-1].Parent; at != 0 {
			up = p.nodeID[at]
		}
	}
	for i := len(path) - 1; i >= 0; i-- {
		n := &path[i]
		pc, ok := p.pc(n.PC)
		if !ok {
			return 0
		}
		up = p.node(up, pc, n.Truncated && up == 0)
		p.nodeID = grown(p.nodeID, n.ID)
		p.nodeID[n.ID] = up
	}
	return up
}

// node returns the recording's id of a node, and adds it if it is new.
func (p *process) node(parent, pc uint32, truncated bool) uint32 {
	id, isNew := p.tree.child(parent, pc, truncated)
	if isNew {
		p.out.Node(id, event.Node{Parent: parent, PC: pc, Truncated: truncated})
	}
	return id
}

// tree finds the nodes of the recording's calling-context tree by parent and program counter. Nearly all nodes that are
// new have a parent that is new, too, and has no children yet: lists of children then cost nothing, where every look-up in a
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
	if id == uint32(cap(t.nodes)) {
		t.nodes = slices.Grow(t.nodes, len(t.nodes)) // append would grow a large one by a quarter only
	}
	t.nodes = append(t.nodes, node)
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

// A record may refer to a node that another thread has just claimed and not filled in yet. That takes it some ns, unless it
// was interrupted; so wait, but not for ever.
const (
	nodeWait     = 200 * time.Microsecond
	nodeWaits    = 50
	maxUnresolve = 20
)

func (p *process) await(id uint32) bool {
	for i := 0; ; i++ {
		if _, ok := p.w.tables.Node(id); ok {
			return true
		}
		if i == nodeWaits || p.waited > maxUnresolve || p.w.final {
			break
		}
		time.Sleep(nodeWait)
	}
	p.waited++
	p.note("Some call stacks were not complete when the recorder needed them and are missing.")
	return false
}

// pc returns the recording's index of a program counter.
func (p *process) pc(id uint32) (uint32, bool) {
	if uint64(id) < uint64(len(p.pcID)) && p.pcID[id] != 0 {
		return p.pcID[id] - 1, true
	}
	if id >= maxNodes {
		return 0, false
	}
	v, ok := p.w.tables.PC(id)
	for i := 0; !ok && i < nodeWaits && p.waited <= maxUnresolve && !p.w.final; i++ {
		time.Sleep(nodeWait)
		v, ok = p.w.tables.PC(id)
	}
	if !ok {
		p.waited++
		p.note("Some call stacks were not complete when the recorder needed them and are missing.")
		return 0, false
	}
	if v.Module != 0 && p.modules[v.Module] == nil {
		p.loadModules()
		if p.modules[v.Module] == nil {
			v.Module = 0
		}
	}
	e := event.PC{Addr: v.Addr, Module: v.Module, Interrupted: v.Interrupted}
	if e.Module == 0 && e.Addr&wire.PCPool != 0 && !e.Interrupted {
		e = p.pools.pc(uint32(e.Addr), p.w.name(uint32(e.Addr)))
	}
	local := p.localPC(e)
	p.pcID = grown(p.pcID, id)
	p.pcID[id] = local + 1
	return local, true
}

// localPC returns the recording's index of a program counter, and adds it if it is new.
func (p *process) localPC(e event.PC) uint32 {
	local, ok := p.byPC[e]
	if !ok {
		local = uint32(len(p.pcs))
		p.byPC[e] = local
		p.pcs = append(p.pcs, e)
		p.out.PC(local, e)
	}
	return local
}

// loadModules takes the modules that were logged since the last time: the process's own, and those that its parent had
// when it was forked.
func (p *process) loadModules() {
	p.w.readModules()
	for ; p.moduleAt < len(p.w.modules); p.moduleAt++ {
		m := &p.w.modules[p.moduleAt]
		if !p.has(m.Proc, m.Time) {
			continue
		}
		if m.Apart != 0 {
			p.past(m)
			continue
		}
		if m.Unload {
			if have := p.modules[m.ID]; have != nil {
				have.Unload = p.order.Clock.At(m.Time)
				p.putModule(have)
			}
			continue
		}
		have := &event.Module{
			ID: m.ID, Path: m.Path, BuildID: m.BuildID, Start: m.Start, End: m.End, Bias: m.Bias,
			Loaded: p.order.Clock.At(m.Time), Unload: -1,
		}
		p.modules[m.ID] = have
		p.putModule(have)
	}
}

func (p *process) putModule(m *event.Module) {
	p.out.Module(*m)
	p.layout.PutModule(*m)
}

// has says whether what happened in a process at some time is part of this one's past.
func (p *process) has(slot uint32, time uint64) bool {
	q := p
	for range len(p.w.procs) + 1 {
		if q.slot == slot {
			return true
		}
		if q.parent == nil || time > q.info.ForkTime {
			return false
		}
		q = q.parent
	}
	return false
}

func (w *worker) readModules() {
	list, err := w.tables.Modules()
	w.modules = append(w.modules, list...)
	if err != nil && !w.badModules {
		w.badModules = true
		w.note(err.Error())
	}
}
