package profile

import (
	"cmp"
	"slices"

	"github.com/heaptap/heaptap/internal/tally"
)

// Metric is a number by which stacks are ranked.
type Metric struct {
	Name  string // as in a heading
	Bytes bool   // the value is a number of bytes
	Of    func(*Group) uint64
	Count func(*Group) uint64 // blocks or calls that the value belongs to; nil: Of counts them itself
	Total func(*Profile) uint64
	// Variance returns the variance of Of, an estimate in a sampled recording; nil: not known.
	Variance func(*tally.Variances) float64
	// Own leaves out the runtime's stacks.
	Own bool
}

// The metrics of a report.
var (
	LiveAtPeak = Metric{Name: "live at peak", Bytes: true,
		Of:       func(g *Group) uint64 { return g.LiveAtPeakBytes },
		Count:    func(g *Group) uint64 { return g.LiveAtPeakBlocks },
		Variance: func(v *tally.Variances) float64 { return v.PeakBytes },
		Total:    func(p *Profile) uint64 { return p.Totals.Peak.Bytes }}
	Leaked = Metric{Name: "leaked", Bytes: true, Own: true,
		Of:       func(g *Group) uint64 { return g.LeakedBytes },
		Count:    func(g *Group) uint64 { return g.LeakedBlocks },
		Variance: func(v *tally.Variances) float64 { return v.LeakedBytes },
		Total:    func(p *Profile) uint64 { return p.Leaked.Bytes }}
	Allocations = Metric{Name: "allocations",
		Of:       func(g *Group) uint64 { return g.Allocations },
		Variance: func(v *tally.Variances) float64 { return v.Allocations },
		Total:    func(p *Profile) uint64 { return p.Totals.Allocations }}
	Bytes = Metric{Name: "bytes allocated", Bytes: true,
		Of:       func(g *Group) uint64 { return g.Bytes },
		Count:    func(g *Group) uint64 { return g.Allocations },
		Variance: func(v *tally.Variances) float64 { return v.Bytes },
		Total:    func(p *Profile) uint64 { return p.Totals.Bytes }}
	Temporary = Metric{Name: "temporary",
		Of:    func(g *Group) uint64 { return g.Temporary },
		Total: func(p *Profile) uint64 { return p.Totals.Temporary }}
)

// Metrics are all metrics, in the order of a report.
var Metrics = []*Metric{&LiveAtPeak, &Leaked, &Allocations, &Bytes, &Temporary}

// Group is a set of stacks whose frames have the same text: function, file, line and module. The stacks' peaks add up
// only at the process's peak, so the group has no peak of its own.
type Group struct {
	Stack            uint32 // the id of one of its stacks
	Stacks           int
	Class            Class
	Allocations      uint64
	Bytes            uint64
	Deallocations    uint64
	LeakedBytes      uint64
	LeakedBlocks     uint64
	LiveAtPeakBytes  uint64
	LiveAtPeakBlocks uint64
	Temporary        uint64
	Reallocations    uint64
	Failed           uint64
	MinSize, MaxSize uint64
	Variances        *tally.Variances // see Profile
}

func (g *Group) add(s *Stack) {
	if g.Allocations == 0 || s.Allocations > 0 && s.MinSize < g.MinSize {
		g.MinSize = s.MinSize
	}
	g.Stacks++
	g.MaxSize = max(g.MaxSize, s.MaxSize)
	g.Allocations += s.Allocations
	g.Bytes += s.Bytes
	g.Deallocations += s.Deallocations
	g.LeakedBytes += s.Leaked.Bytes
	g.LeakedBlocks += s.Leaked.Blocks
	g.LiveAtPeakBytes += s.LiveAtPeakBytes
	g.LiveAtPeakBlocks += s.LiveAtPeakBlocks
	g.Temporary += s.Temporary
	g.Reallocations += s.Reallocations
	g.Failed += s.Failed
	g.Variances = g.Variances.Plus(s.Variances)
}

// Select returns the stacks that are among the first n by any of the metrics, in the order of p.Stacks.
func (p *Profile) Select(n int) []*Stack {
	groups := make([]Group, len(p.Stacks))
	for i := range p.Stacks {
		groups[i] = Group{Stack: p.Stacks[i].ID, Class: p.Stacks[i].Class}
		groups[i].add(&p.Stacks[i])
	}
	chosen := make(map[uint32]bool)
	for _, m := range Metrics {
		for _, g := range Rank(groups, m, n) {
			chosen[g.Stack] = true
		}
	}
	var list []*Stack
	for i := range p.Stacks {
		if chosen[p.Stacks[i].ID] {
			list = append(list, &p.Stacks[i])
		}
	}
	return list
}

// merger gives the same number to stacks with the same text. It works along the tree, so that each node is visited once
// however many stacks pass through it.
type merger struct {
	p    *Profile
	pcs  map[uint32]uint32 // by pc: the number of its text
	text map[string]uint32 // numbers of texts
	node map[uint32]uint32 // by node: the merged node
	path map[[2]uint32]uint32
}

func newMerger(p *Profile) *merger {
	return &merger{p, make(map[uint32]uint32), make(map[string]uint32), make(map[uint32]uint32),
		make(map[[2]uint32]uint32)}
}

// pc returns the number of a pc's text; 0 if all of its frames are hidden.
func (m *merger) pc(pc uint32) uint32 {
	if k, ok := m.pcs[pc]; ok {
		return k
	}
	var b []byte
	for _, f := range m.p.PCFrames(pc) {
		b = append(b, f.Function...)
		b = append(b, 0)
		b = append(b, f.File...)
		b = append(b, 0)
		b = append(b, f.Module...)
		b = append(b, 0, byte(f.Line), byte(f.Line>>8), byte(f.Line>>16), byte(f.Line>>24))
		if f.Function == "" { // only the address identifies it
			for i := range 8 {
				b = append(b, byte(f.Offset>>(8*i)))
			}
		}
	}
	k, ok := m.text[string(b)]
	if !ok && len(b) > 0 {
		k = uint32(len(m.text) + 1)
		m.text[string(b)] = k
	}
	m.pcs[pc] = k
	return k
}

// stack returns the merged number of a stack. It walks up to the first known node, then down again.
func (m *merger) stack(id uint32) uint32 {
	var way []uint32
	merged := uint32(0)
	for id != 0 {
		if k, ok := m.node[id]; ok {
			merged = k
			break
		}
		n, ok := m.p.nodes.Get(id)
		if !ok {
			break
		}
		way = append(way, id)
		id = n.Parent
	}
	for i := len(way) - 1; i >= 0; i-- {
		n, _ := m.p.nodes.Get(way[i])
		pc := m.pc(n.PC)
		if pc == 0 {
			m.node[way[i]] = merged
			continue
		}
		key := [2]uint32{merged, pc}
		k, ok := m.path[key]
		if !ok {
			k = uint32(len(m.path) + 1)
			m.path[key] = k
		}
		m.node[way[i]] = k
		merged = k
	}
	return merged
}

// Groups returns the stacks merged by text, in no particular order.
func (p *Profile) Groups() []Group {
	m := newMerger(p)
	type key struct {
		stack uint32
		class Class
	}
	at := make(map[key]int)
	var list []Group
	for i := range p.Stacks {
		s := &p.Stacks[i]
		k := key{m.stack(s.ID), s.Class}
		j, ok := at[k]
		if !ok {
			j = len(list)
			at[k] = j
			list = append(list, Group{Stack: s.ID, Class: s.Class})
		}
		list[j].add(s)
	}
	return list
}

// Rank returns the first n groups by a metric, without those whose value is 0. Equal groups are in the order of their
// stack ids, so that a report is always the same.
func Rank(groups []Group, m *Metric, n int) []Group {
	var list []Group
	for i := range groups {
		if g := &groups[i]; m.Of(g) > 0 && !(m.Own && g.Class == Runtime) {
			list = append(list, *g)
		}
	}
	slices.SortFunc(list, func(a, b Group) int {
		return cmp.Or(cmp.Compare(m.Of(&b), m.Of(&a)), cmp.Compare(a.Stack, b.Stack))
	})
	return list[:min(n, len(list))]
}
