package recording

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// Tables are the tables that a Reader has read: what events refer to, and what was recorded beside events.
type Tables struct {
	threads   []event.Thread
	modules   []event.Module
	pcs       Table[event.PC]
	nodes     Table[event.Node]
	unordered bool // there are nodes that come before their parents
	samples   []event.Sample
	variables []event.Variable
	sections  []event.DataSection
	residency []event.Residency
	stackUse  []event.StackUse
	resident  []event.ResidentPart
	counts    *event.Counts // nil: nothing was counted
	marks     []event.Mark  // by rising time
	regions   []event.RegionNote
	ranges    []event.NamedRange
	pairs     []event.Pair
	pools     []event.Pool
	frames    map[uint32][]event.Frame
	added     addedRows
}

// addedRows are rows that are read, but not yet part of the tables: complete adds them. Those of many are kept as their
// blocks have them: one list would be copied again and again.
type addedRows struct {
	threads []entry[event.Thread]
	modules []event.Module
	pcs     [][]entry[event.PC]
	nodes   [][]entry[event.Node]
}

// loadTable reads a block of a table.
func (t *Tables) loadTable(typ blockType, s *column.Set) (err error) {
	a := &t.added
	switch typ {
	case blockThreads:
		a.threads, err = threadTable.Decode(s, a.threads)
	case blockModules:
		a.modules, err = moduleTable.Decode(s, a.modules)
	case blockPCs:
		var list []entry[event.PC]
		list, err = pcTable.Decode(s, nil)
		a.pcs = append(a.pcs, list)
	case blockNodes:
		var list []entry[event.Node]
		list, err = nodeTable.Decode(s, nil)
		a.nodes = append(a.nodes, list)
	case blockSamples:
		t.samples, err = decodeSamples(s, t.samples)
	case blockSymbols:
		err = t.loadSymbols(s)
	case blockMarks:
		t.marks, err = markTable.Decode(s, t.marks)
	case blockRegions:
		t.regions, err = regionTable.Decode(s, t.regions)
	case blockRanges:
		t.ranges, err = rangeTable.Decode(s, t.ranges)
	case blockCounts:
		var c *event.Counts
		if c, err = decodeCounts(s); err == nil {
			t.counts = c
		}
	case blockStackUse:
		t.stackUse, err = stackUseTable.Decode(s, t.stackUse)
	case blockResident:
		t.resident, err = residentTable.Decode(s, t.resident)
	case blockPairs:
		t.pairs, err = pairTable.Decode(s, t.pairs)
	case blockPools:
		t.pools, err = poolTable.Decode(s, t.pools)
	case blockVariables:
		t.variables, err = variableTable.Decode(s, t.variables)
	case blockDataSections:
		t.sections, err = dataSectionTable.Decode(s, t.sections)
	case blockResidency:
		t.residency, err = residencyTable.Decode(s, t.residency)
	}
	return err
}

// complete adds the rows of the blocks that were loaded since it was last called. It returns a sentence about each row
// that is impossible.
func (t *Tables) complete() (damage []string) {
	a := t.added
	t.added = addedRows{}
	damage = t.setThreads(a.threads)
	t.setModules(a.modules)
	t.pcs.add(a.pcs...)
	t.nodes.add(a.nodes...)
	if n, id := t.cutCycles(a.nodes); n > 0 {
		damage = append(damage, fmt.Sprintf("the tree of call stacks: %d of its nodes are their own ancestors, "+
			"for example node %d", n, id))
	}
	slices.SortStableFunc(t.marks, func(a, b event.Mark) int { return cmp.Compare(a.Time, b.Time) })
	return damage
}

// setThreads adds threads. It returns a sentence about each that is impossible.
func (t *Tables) setThreads(list []entry[event.Thread]) (damage []string) {
	top := len(t.threads)
	for _, x := range list {
		if uint64(x.id) > MaxGap*uint64(len(t.threads)+len(list))+4096 {
			damage = append(damage, fmt.Sprintf("thread %d of %d has an impossible number", x.id, len(list)))
			continue
		}
		top = max(top, int(x.id)+1)
	}
	t.threads = append(t.threads, make([]event.Thread, top-len(t.threads))...)
	for _, x := range list {
		if int64(x.id) >= int64(top) {
			continue
		}
		if x.v.End != event.NotEnded && x.v.End != 0 && x.v.End < x.v.Start {
			what := fmt.Sprintf("thread %d began at %d ns and ended at %d ns", x.id, x.v.Start, x.v.End)
			damage = append(damage, what)
			x.v.End = 0
		}
		t.threads[x.id] = x.v
	}
	return damage
}

func (t *Tables) setModules(list []event.Module) {
	at := make(map[uint32]int)
	for i := range t.modules {
		at[t.modules[i].ID] = i
	}
	for _, m := range list {
		if i, ok := at[m.ID]; ok {
			t.modules[i] = m
			continue
		}
		at[m.ID] = len(t.modules)
		t.modules = append(t.modules, m)
	}
}

func (t *Tables) loadSymbols(s *column.Set) error {
	list, err := symbolTable.Decode(s, nil)
	for _, x := range list {
		t.frames[x.id] = x.v
	}
	return err
}

// Threads returns the threads; an event's Thread is an index into them.
func (t *Tables) Threads() []event.Thread { return t.threads }

// Modules returns the modules, each once, in the order in which they were recorded.
func (t *Tables) Modules() []event.Module { return t.modules }

// PCs returns the addresses on call stacks.
func (t *Tables) PCs() *Table[event.PC] { return &t.pcs }

// Nodes returns the calling-context tree.
func (t *Tables) Nodes() *Table[event.Node] { return &t.nodes }

// Samples returns the readings of the process's memory.
func (t *Tables) Samples() []event.Sample { return t.samples }

// StackUse returns the readings of the memory of the threads' stacks, in the order in which they were taken.
func (t *Tables) StackUse() []event.StackUse { return t.stackUse }

// Resident returns what the resident set consisted of, each time that it was read.
func (t *Tables) Resident() []event.ResidentPart { return t.resident }

// Marks returns the marks by rising time.
func (t *Tables) Marks() []event.Mark { return t.marks }

// Regions returns the notes of regions in the order of the events.
func (t *Tables) Regions() []event.RegionNote { return t.regions }

// Ranges returns the names that the program gave to its memory, in the order of the events.
func (t *Tables) Ranges() []event.NamedRange { return t.ranges }

// Pairs returns the allocations and deallocations that do not match, in the order in which they were found.
func (t *Tables) Pairs() []event.Pair { return t.pairs }

// Pools returns the totals of the program's own pools, by name.
func (t *Tables) Pools() []event.Pool { return t.pools }

// Counts returns what the process's threads counted; nil if they did not count. It must not be changed.
func (t *Tables) Counts() *event.Counts { return t.counts }

// Variables returns the static variables that the recording names: of each file the largest ones.
func (t *Tables) Variables() []event.Variable { return t.variables }

// DataSections returns the sections of each file that hold static data.
func (t *Tables) DataSections() []event.DataSection { return t.sections }

// Residency returns which parts of the modules' writable segments were in memory when heaptap last looked. A module at
// which it never looked is left out.
func (t *Tables) Residency() []event.Residency { return t.residency }

// Frames returns the functions at a pc, leaf to root; nil if its symbols are not in the recording.
func (t *Tables) Frames(pc uint32) []event.Frame {
	p, _ := t.pcs.Get(pc)
	if name := p.Placeholder(); name != "" {
		return []event.Frame{{Function: name}}
	}
	return t.frames[pc]
}

// Symbols returns the functions at each pc, leaf to root, as the recording has them. They must not be changed.
func (t *Tables) Symbols() map[uint32][]event.Frame { return t.frames }

// known reports whether events may name a stack id. Small ones are always known; large ones, which damaged and forged
// files may have, only if the tree has them.
func (t *Tables) known(id uint32) bool {
	if id < 1<<22 {
		return true
	}
	_, ok := t.nodes.Get(id)
	return ok && t.nodes.sparse == nil
}

// cutCycles makes every path up the calling-context tree end, since those who follow parents do not count steps. Only
// damaged and forged files have nodes that are their own ancestors; the last node on such a path loses its parent.
// cutCycles returns how many lost theirs, and one of them. added are the nodes that are new in the table.
func (t *Tables) cutCycles(added [][]entry[event.Node]) (cut int, example uint32) {
	for _, list := range added {
		for i := range list {
			// A recorder numbers callers before their callees: then there can be no cycle.
			if e := &list[i]; e.v.Parent >= e.id && e.id != 0 {
				t.unordered = true
			}
		}
	}
	if !t.unordered {
		return 0, 0
	}
	const (
		walking = 1 + iota
		ends
	)
	var state Table[uint8]
	visits := make([]entry[uint8], 0, t.nodes.Len())
	t.nodes.All(func(id uint32, _ event.Node) bool {
		visits = append(visits, entry[uint8]{id: id})
		return true
	})
	state.add(visits)
	var way []uint32
	for _, start := range visits {
		way = way[:0]
		for id := start.id; id != 0; {
			seen, there := state.Get(id)
			if !there || seen == ends {
				break
			}
			if seen == walking {
				last := way[len(way)-1]
				n, _ := t.nodes.Get(last)
				n.Parent = 0
				t.nodes.set(last, n)
				cut, example = cut+1, last
				break
			}
			state.set(id, walking)
			way = append(way, id)
			n, _ := t.nodes.Get(id)
			id = n.Parent
		}
		for _, id := range way {
			state.set(id, ends)
		}
	}
	return cut, example
}
