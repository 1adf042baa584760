package query

import (
	"slices"

	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
	"github.com/heaptap/heaptap/internal/tally"
)

// nodeSums are the values of what a query selects, by chain of a forest.
type nodeSums struct {
	*forest
	a      *ask
	self   *Sums    // of the blocks allocated at the end of each chain
	total  *Sums    // at its nodes and below them
	cells  *cells   // nil: the values come from sums of stacks
	ofCell []int32  // of each cell: its chain
	stack  []uint32 // by stack: of each chain, a stack that ends there, 0 if nothing was counted there
	first  []uint32 // if requested: of each chain, the lowest id of the stacks that end there, plus 1; 0: none
}

// nodeSums collects what the query selects. more are fields that are needed besides those of the metrics. If frames is
// false, the forest has the groups of blocks only.
func (a *ask) nodeSums(frames bool, more ...field) (*nodeSums, error) {
	fields := fieldsFor(a.Metrics, more...)
	if a.sumsOfStacks() {
		n := &nodeSums{a: a}
		if err := n.fromSums(fields); err != nil {
			return nil, err
		}
		n.addUp()
		a.Total = n.total.Values(0)
		return n, a.ctx.Err()
	}
	c, err := a.collect()
	if err != nil {
		return nil, err
	}
	return a.sumsOf(c, fields, frames)
}

// sumsOf adds up cells.
func (a *ask) sumsOf(c *cells, fields []field, frames bool) (n *nodeSums, err error) {
	n = &nodeSums{a: a, cells: c}
	leaf := func(i int) (stack, label uint32) { return c.get(i).stack, c.get(i).label }
	if n.forest, n.ofCell, err = a.forest(c.len(), frames, leaf); err != nil {
		return nil, err
	}
	each := newSums(fields, c.len(), a.Sampled)
	for i := range c.len() {
		each.set(i, &c.get(i).Values)
	}
	n.begin(fields, a.Sampled)
	n.self.addAll(n.ofCell, each)
	n.endAt(n.ofCell, func(i int) uint32 { return c.get(i).stack })
	n.addUp()
	return n, a.ctx.Err()
}

// addUp makes the totals of the selves.
func (n *nodeSums) addUp() {
	n.total = &Sums{fields: n.self.fields, variances: slices.Clone(n.self.variances)}
	for _, col := range n.self.cols {
		all := columns.get(len(col))
		copy(all, col)
		n.total.cols = append(n.total.cols, all)
	}
	n.total.addUp(n.above)
}

// columns pools columns by chain. They have megabytes, and a question needs them for a moment.
var columns pool[uint64]

// begin begins the selves, all 0.
func (n *nodeSums) begin(fields []field, estimated bool) {
	n.self = newSums(fields, 0, false)
	for k := range n.self.cols {
		n.self.cols[k] = columns.get(len(n.end))
		clear(n.self.cols[k])
	}
	if estimated {
		n.self.variances = make([]*tally.Variances, len(n.end))
	}
}

// release gives the memory of the sums back, which nobody may use any more.
func (n *nodeSums) release() {
	for _, s := range []*Sums{n.self, n.total} {
		for _, col := range s.cols {
			columns.put(col)
		}
		s.cols = nil
	}
}

// endAt notes which stacks end at chains.
func (n *nodeSums) endAt(chains []int32, stack func(i int) uint32) {
	if n.a.firsts {
		n.first = make([]uint32, len(n.end))
		for i, at := range chains {
			n.first[at] = firstOf(n.first[at], stack(i)+1)
		}
	}
	if n.a.q.By != ByStack {
		return
	}
	if n.stack == nil {
		n.stack = make([]uint32, len(n.end))
	}
	for i, at := range chains {
		n.stack[at] = stack(i)
	}
}

// firstOf returns the lower of two numbers, of which 0 stands for none.
func firstOf(a, b uint32) uint32 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// sumsOfStacks reports whether the answer is added up from sums of whole stacks, which need no cells.
func (a *ask) sumsOfStacks() bool {
	return a.Plan != FromEvents && !a.perBlock && !a.ownPeaks && !a.q.wants(Depth) && !a.q.wants(mappingMetrics...)
}

// fromSums adds up the tally or summaries, and what was live at the moments of the query.
func (n *nodeSums) fromSums(fields []field) (err error) {
	a := n.a
	var whole []uint32 // indexes of stacks of the tally
	var changes []recording.Change
	var live, kept, leaked, peak []timetravel.Live
	counted := a.Plan == FromTally || a.Plan == FromSummaries && a.whole
	if counted {
		for i := range a.sum.Stacks {
			if a.stacks.keep(a.sum.Stacks[i].ID) {
				whole = append(whole, uint32(i))
			}
		}
	} else if slices.ContainsFunc(fields, field.ofChanges) {
		list, done, err := a.changes()
		defer done()
		if err != nil {
			return err
		}
		if changes = list; a.stacks != nil {
			changes = slices.DeleteFunc(list, func(c recording.Change) bool { return !a.stacks.keep(c.Stack) })
		}
	}
	leave := func(l timetravel.Live) bool { return !a.stacks.keep(l.Stack) }
	if a.q.wants(Live, LiveBlocks) && !(counted && a.At == a.last) {
		list, err := a.liveThen()
		if err != nil {
			return err
		}
		live = slices.DeleteFunc(list, leave)
	}
	if a.q.wants(keptMetrics...) && !(counted && a.At == a.last) {
		list, err := a.liveOfRange(a.At)
		if err != nil {
			return err
		}
		kept = slices.DeleteFunc(list, leave)
	}
	if a.q.wants(leakedMetrics...) && !counted {
		list, err := a.leaks()
		if err != nil {
			return err
		}
		leaked = slices.DeleteFunc(list, leave)
	}
	if a.q.wants(Peak, PeakBlocks) && !counted {
		list, err := a.liveAtPeak()
		if err != nil {
			return err
		}
		peak = slices.DeleteFunc(list, leave)
	}
	stack := func(i int) uint32 {
		if i < len(whole) {
			return a.sum.Stacks[whole[i]].ID
		}
		if i -= len(whole); i < len(changes) {
			return changes[i].Stack
		}
		if i -= len(changes); i < len(live) {
			return live[i].Stack
		}
		if i -= len(live); i < len(kept) {
			return kept[i].Stack
		}
		if i -= len(kept); i < len(leaked) {
			return leaked[i].Stack
		}
		return peak[i-len(leaked)].Stack
	}
	var chains []int32
	all := len(whole) + len(changes) + len(live) + len(kept) + len(leaked) + len(peak)
	n.forest, chains, err = a.forest(all, true, func(i int) (uint32, uint32) { return stack(i), 0 })
	if err != nil {
		return err
	}
	n.endAt(chains, stack)
	n.begin(fields, false)
	n.addWhole(chains[:len(whole)], whole)
	chains = chains[len(whole):]
	n.addChanges(chains[:len(changes)], changes)
	chains = chains[len(changes):]
	n.addLive(chains[:len(live)], live, fieldLiveBytes, fieldLiveBlocks)
	chains = chains[len(live):]
	n.addLive(chains[:len(kept)], kept, fieldKeptBytes, fieldKeptBlocks)
	chains = chains[len(kept):]
	n.addLive(chains[:len(leaked)], leaked, fieldLeakedBytes, fieldLeakedBlocks)
	n.addLive(chains[len(leaked):], peak, fieldPeakBytes, fieldPeakBlocks)
	return nil
}

// ofChanges reports whether the field is counted from changes.
func (f field) ofChanges() bool {
	switch f {
	case fieldPeakBytes, fieldPeakBlocks, fieldLeakedBytes, fieldLeakedBlocks:
		return false
	}
	return !f.ofMoment()
}

// ofMoment reports whether the field is about what is live at the query's cut.
func (f field) ofMoment() bool {
	return f == fieldLiveBytes || f == fieldLiveBlocks || f == fieldKeptBytes || f == fieldKeptBlocks
}

// addWhole adds stacks of the tally.
func (n *nodeSums) addWhole(chains []int32, list []uint32) {
	a := n.a
	runtimes := a.runtimes()
	for _, k := range list {
		if s := &a.sum.Stacks[k]; a.AboutLeaks() && runtimes.has(s.ID) {
			a.Runtime.Add(profile.Leak{Bytes: s.LeakedBytes(), Blocks: s.LeakedBlocks()})
		}
	}
	for k, f := range n.self.fields {
		col, info := n.self.cols[k], &fieldTable[f]
		leaks := f == fieldLeakedBytes || f == fieldLeakedBlocks
		if info.whole == nil || f.ofMoment() && a.At != a.last {
			continue
		}
		for i, k := range list {
			s, at := &a.sum.Stacks[k], chains[i]
			if leaks && runtimes.has(s.ID) {
				continue
			}
			if v := info.whole(s); info.most {
				col[at] = max(col[at], v)
			} else {
				col[at] += v
			}
		}
	}
}

// addChanges adds changes of stacks.
func (n *nodeSums) addChanges(chains []int32, list []recording.Change) {
	for k, f := range n.self.fields {
		col := n.self.cols[k]
		switch f {
		case fieldAllocations:
			for i, at := range chains {
				col[at] += list[i].Allocs
			}
		case fieldBytes:
			for i, at := range chains {
				col[at] += list[i].Bytes
			}
		case fieldDeallocations:
			for i, at := range chains {
				col[at] += list[i].Frees
			}
		case fieldFreedBytes:
			for i, at := range chains {
				col[at] += list[i].FreedBytes
			}
		case fieldTemporary:
			for i, at := range chains {
				col[at] += list[i].Temporary
			}
		case fieldCells:
			for _, at := range chains {
				col[at]++
			}
		}
	}
}

// addLive adds what was live at a moment, as those fields.
func (n *nodeSums) addLive(chains []int32, list []timetravel.Live, bytes, blocks field) {
	for k, f := range n.self.fields {
		col := n.self.cols[k]
		switch f {
		case bytes:
			for i, at := range chains {
				col[at] += list[i].Bytes
			}
		case blocks:
			for i, at := range chains {
				col[at] += list[i].Blocks
			}
		case fieldCells:
			for _, at := range chains {
				col[at]++
			}
		}
	}
}
