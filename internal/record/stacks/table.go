package stacks

import (
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/spool"
	"github.com/heaptap/heaptap/internal/wire"
)

// Process is what a Table asks about its process.
type Process interface {
	// HasModule says whether a module is known.
	HasModule(id uint32) bool
	// PoolPC is the PC that stands for the pools with the name of this id.
	PoolPC(id uint32) event.PC
	// Final says whether no process writes to the spool any more, so that what is missing will not come.
	Final() bool
	// Note takes a sentence for the user.
	Note(format string, args ...any)
}

// Table has the stacks and program counters of one process.
type Table struct {
	Known []uint32 // the recording's numbers of the spool's stacks; 0: none yet, and of 0

	of       Process
	spool    *spool.Tables
	out      *recording.Writer
	maxDepth int
	steps    []spool.Step // memory for add
	tree     tree
	pcID     []uint32 // of the spool's pc, plus 1
	byPC     map[event.PC]uint32
	pcs      []event.PC
	waited   int // times that something was waited for in vain
}

// New returns a table that writes what it adds. Stacks have at most maxDepth frames; 0: all that there are.
func New(of Process, tables *spool.Tables, out *recording.Writer, maxDepth int) *Table {
	return &Table{
		Known: make([]uint32, 1), of: of, spool: tables, out: out, maxDepth: maxDepth, byPC: map[event.PC]uint32{},
	}
}

// PCs are the program counters, by the recording's numbers.
func (t *Table) PCs() []event.PC { return t.pcs }

// Innermost is the innermost program counter of one of the recording's stacks; false if there is no such stack.
func (t *Table) Innermost(stack uint32) (event.PC, bool) {
	if uint64(stack) >= uint64(len(t.tree.nodes)) || stack == 0 {
		return event.PC{}, false
	}
	return t.pcs[t.tree.nodes[stack].what>>1], true
}

// Restore takes over the tables of the recording that a dead recorder has left, as far as they are whole.
func (t *Table) Restore(old *recording.Reader) {
	old.PCs().All(func(i uint32, pc event.PC) bool {
		if int(i) != len(t.pcs) {
			return false
		}
		t.pcs = append(t.pcs, pc)
		t.byPC[pc] = i
		if id, ok := pc.Pool(); ok {
			t.of.PoolPC(id)
		}
		t.out.PC(i, pc)
		return true
	})
	old.Nodes().All(func(i uint32, n event.Node) bool {
		if n.Parent >= i {
			return false // damaged: they are numbered from the root
		}
		id, isNew := t.tree.child(n.Parent, n.PC, n.Truncated)
		if !isNew || id != i {
			return false
		}
		t.out.Node(i, n)
		return true
	})
}

// maxNodes bounds the spool's node ids; an agent's table is smaller.
const maxNodes = 1 << 28

// Number returns the recording's number of a spool's node, 0 if there is none.
func (t *Table) Number(id uint32) uint32 {
	if uint64(id) < uint64(len(t.Known)) && t.Known[id] != 0 {
		return t.Known[id]
	}
	return t.add(id)
}

// add returns the recording's number of a spool's node that occurs for the first time, and adds it and those above it.
func (t *Table) add(id uint32) uint32 {
	damaged := func() uint32 {
		t.of.Note("Some call stacks were damaged in the target's memory and are missing.")
		return 0
	}
	if id >= maxNodes {
		return damaged()
	}
	known, deepest, limit := t.Known, t.maxDepth, 0
	if deepest > 0 {
		known, limit = nil, deepest+1
	}
	path, missing, ok := t.spool.Path(t.steps[:0], id, known, limit)
	for ok && missing != 0 {
		if missing >= maxNodes {
			return damaged()
		}
		if !t.await(missing) {
			return 0 // and perhaps the next time it is there
		}
		path, missing, ok = t.spool.Path(path, missing, known, limit)
	}
	t.steps = path[:0]
	if !ok {
		return damaged()
	}
	if deepest > 0 {
		return t.addShort(path, deepest)
	}
	up := uint32(0)
	if len(path) > 0 {
		if at := path[len(path)-1].Parent; at != 0 {
			up = t.Known[at]
		}
	}
	for i := len(path) - 1; i >= 0; i-- {
		n := &path[i]
		pc, ok := t.pc(n.PC)
		if !ok {
			return 0
		}
		up = t.node(up, pc, n.Truncated && up == 0)
		t.Known = grown(t.Known, n.ID)
		t.Known[n.ID] = up
	}
	return up
}

// node returns the recording's number of a node, and adds it if it is new.
func (t *Table) node(parent, pc uint32, truncated bool) uint32 {
	id, isNew := t.tree.child(parent, pc, truncated)
	if isNew {
		t.out.Node(id, event.Node{Parent: parent, PC: pc, Truncated: truncated})
	}
	return id
}

// A record may refer to a node that another thread has just claimed and not filled in yet. That takes some ns, unless
// the thread was interrupted; so wait, but not for ever.
const (
	nodeWait     = 200 * time.Microsecond
	nodeWaits    = 50
	maxUnresolve = 20 // waits in vain, after which lookups no longer wait
)

func (t *Table) await(id uint32) bool {
	for i := 0; ; i++ {
		if _, ok := t.spool.Node(id); ok {
			return true
		}
		if i == nodeWaits || t.waited > maxUnresolve || t.of.Final() {
			break
		}
		time.Sleep(nodeWait)
	}
	t.waited++
	t.of.Note("Some call stacks were not complete when the recorder needed them and are missing.")
	return false
}

// pc returns the recording's index of a program counter.
func (t *Table) pc(id uint32) (uint32, bool) {
	if uint64(id) < uint64(len(t.pcID)) && t.pcID[id] != 0 {
		return t.pcID[id] - 1, true
	}
	if id >= maxNodes {
		return 0, false
	}
	v, ok := t.spool.PC(id)
	for i := 0; !ok && i < nodeWaits && t.waited <= maxUnresolve && !t.of.Final(); i++ {
		time.Sleep(nodeWait)
		v, ok = t.spool.PC(id)
	}
	if !ok {
		t.waited++
		t.of.Note("Some call stacks were not complete when the recorder needed them and are missing.")
		return 0, false
	}
	if v.Module != 0 && !t.of.HasModule(v.Module) {
		v.Module = 0
	}
	e := event.PC{Addr: v.Addr, Module: v.Module, Interrupted: v.Interrupted}
	if e.Module == 0 && e.Addr&wire.PCPool != 0 && !e.Interrupted {
		e = t.of.PoolPC(uint32(e.Addr))
	}
	local := t.localPC(e)
	t.pcID = grown(t.pcID, id)
	t.pcID[id] = local + 1
	return local, true
}

// localPC returns the recording's index of a program counter, and adds it if it is new.
func (t *Table) localPC(e event.PC) uint32 {
	local, ok := t.byPC[e]
	if !ok {
		local = uint32(len(t.pcs))
		t.byPC[e] = local
		t.pcs = append(t.pcs, e)
		t.out.PC(local, e)
	}
	return local
}

// addShort is add where call stacks have at most a given number of frames (--max-depth): the innermost ones stay, and
// the others become one root that all stacks share. So a node of the agent's tree stands for itself only as the
// innermost frame of a stack; as a caller it may occur in many places. path has one node more than deepest if the stack
// has more.
func (t *Table) addShort(path []spool.Step, deepest int) uint32 {
	up := uint32(0)
	if len(path) > deepest {
		path = path[:deepest]
		up = t.node(0, t.localPC(event.PC{Addr: event.CutAddr}), false)
	}
	for i := len(path) - 1; i >= 0; i-- {
		pc, ok := t.pc(path[i].PC)
		if !ok {
			return 0
		}
		up = t.node(up, pc, path[i].Truncated && up == 0)
	}
	if len(path) > 0 {
		t.Known = grown(t.Known, path[0].ID)
		t.Known[path[0].ID] = up
	}
	return up
}
