package query

import (
	"cmp"
	"slices"

	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

const (
	// leastRepeats is the least number of consecutive rows in which a call stack leaves equally many blocks behind.
	leastRepeats = 3
	// mostRepeatCells bounds the memory: so many call stacks times rows are looked at, those with most live bytes.
	mostRepeatCells = 1 << 20
)

// Repeat is a call stack that left equally many blocks behind in each of some consecutive rows, and so probably in
// each repeat of what the program did between marks. The numbers of bytes need not be equal.
type Repeat struct {
	Group
	First, Rows int    // the rows: the first one, and how many
	At          int    // the end of a row, among Births, at which the blocks are live: the last one, or the last mark
	Blocks      uint64 // of each row
	Bytes       uint64 // of each row, on average
}

// left is how much of what a row allocated is live at the end of the range, and at the last mark of it.
type left struct{ end, mark Amount }

// repeats finds the call stacks that left equally many blocks behind in at least three consecutive rows, which must be
// at least half of the spans that begin and end with a mark. What counts is what is live at the end of the range; or,
// if that gives fewer rows, at the last mark in it: programs may free everything when they end. The cells are by stack,
// then by row.
func (g *generations) repeats(stacks []uint32, cells []left) []Repeat {
	n := len(g.out.Births.Cuts) - 1
	f := emptyForest(g.ask) // call stacks with the same text are one
	joined := make(map[int32]int)
	var list []Repeat
	var sums [][]left
	for i, id := range stacks {
		row, node := cells[i*n:(i+1)*n], f.leaf(id, 0, true)
		if k, ok := joined[node]; ok {
			for j := range row {
				sums[k][j].end.add(row[j].end)
				sums[k][j].mark.add(row[j].mark)
			}
			continue
		}
		joined[node] = len(list)
		list, sums = append(list, Repeat{Group: Group{By: ByStack, Stack: id}}), append(sums, row)
	}
	kept := list[:0]
	for i := range list {
		if r := list[i]; r.find(sums[i]) {
			kept = append(kept, r)
		}
	}
	slices.SortStableFunc(kept, func(a, b Repeat) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Blocks, a.Blocks), cmp.Compare(a.Stack, b.Stack))
	})
	return kept
}

// find finds the longest series of equal numbers of blocks, of several the last one.
func (r *Repeat) find(rows []left) bool {
	n := len(rows)
	for _, at := range []int{n, n - 1} {
		of := func(i int) Amount { return rows[i].end }
		if at < n {
			of = func(i int) Amount { return rows[i].mark }
		}
		for first := 0; first < at; {
			end, sum := first, uint64(0)
			for ; end < at && of(end).Blocks == of(first).Blocks; end++ {
				sum += of(end).Bytes
			}
			count := end - first
			if of(first).Blocks > 0 && (count > r.Rows || count == r.Rows && at == r.At) {
				r.First, r.Rows, r.At, r.Blocks = first, count, at, of(first).Blocks
				r.Bytes = (sum + uint64(count)/2) / uint64(count)
			}
			first = end
		}
	}
	return r.Rows >= leastRepeats && 2*r.Rows >= n-2
}

// mayRepeat returns the call stacks that may have left something behind in each row, those with most live bytes first.
// Of samples that is not known.
func (g *generations) mayRepeat() ([]uint32, error) {
	rows := len(g.out.Births.Cuts) - 1
	if !g.out.Marks || rows < leastRepeats || g.Sampled {
		return nil, nil
	}
	most := make(map[uint32]uint64)
	for _, cut := range g.out.Births.Cuts[rows-1:] {
		list, err := timetravel.LiveAt(g.ctx, g.Reader, cut)
		if err != nil {
			return nil, err
		}
		for _, l := range list {
			if l.Blocks > 0 && g.stacks.keep(l.Stack) {
				most[l.Stack] = max(most[l.Stack], l.Bytes)
			}
		}
	}
	stacks := make([]uint32, 0, len(most))
	for id := range most {
		stacks = append(stacks, id)
	}
	slices.SortFunc(stacks, func(a, b uint32) int { return cmp.Or(cmp.Compare(most[b], most[a]), cmp.Compare(a, b)) })
	return stacks[:min(len(stacks), mostRepeatCells/rows)], nil
}

// leftFromEvents counts the events one by one.
func (g *generations) leftFromEvents(places map[uint32]int) ([]left, error) {
	births, err := g.births()
	if err == nil {
		err = g.prepare(g.From, g.To)
	}
	if err != nil {
		return nil, err
	}
	n := len(births) - 1
	cells, lastMark := make([]left, len(places)*n), g.out.Births.Cuts[n-1]
	err = g.scan(g.From, g.To, 0, func(s recording.Stretch) (observer, func()) {
		part := make(map[int]left)
		observe := func(b *recording.Batch, counts []bool) {
			for i := range b.Events {
				number, e := b.First+uint64(i), &b.Events[i]
				place, ok := places[e.Stack]
				row := atMost(births, b.Refs[i]) - 1
				if !ok || !counts[i] || number < g.From || row < 0 || row >= n {
					continue
				}
				k := part[place*n+row]
				move(&k.end.Bytes, &k.end.Blocks, e)
				if number < lastMark {
					move(&k.mark.Bytes, &k.mark.Blocks, e)
				}
				part[place*n+row] = k
			}
		}
		return observe, func() {
			for i, k := range part {
				cells[i].end.add(k.end)
				cells[i].mark.add(k.mark)
			}
		}
	})
	return cells, err
}

// spansFromSums makes the triangle whose columns are ends of rows, and what is left of some call stacks, from the
// recording's sums: what changed in each row, but what ended in it of another row counts in that.
func (g *generations) spansFromSums(places map[uint32]int) ([]left, error) {
	cuts := g.out.Births.Cuts
	n := len(cuts) - 1
	cells := make([]left, len(places)*n)
	// count adds what happened in a row to what is left of another one, or the same.
	count := func(place, row, in int, x Amount) {
		k := &cells[place*n+row]
		k.end.add(x)
		if in < n-1 {
			k.mark.add(x)
		}
	}
	g.out.Born = make([]Amount, n)
	changed := make([][]Amount, n) // by row, then by the row in which it happened
	for i := range n {
		changed[i] = make([]Amount, n)
		changes, err := timetravel.Changes(g.ctx, g.Reader, cuts[i], cuts[i+1])
		if err != nil {
			return nil, err
		}
		for _, c := range changes.List() {
			if !g.stacks.keep(c.Stack) {
				continue
			}
			net := Amount{uint64(c.Net()), c.Allocs - c.Frees}
			g.out.Born[i].add(Amount{c.Bytes, c.Allocs})
			changed[i][i].add(net)
			if place, ok := places[c.Stack]; ok {
				count(place, i, i, net)
			}
		}
	}
	x := timetravel.Ends{Born: cuts, Ended: cuts,
		Wanted: func(born, ended int) bool { return born != ended && ended >= 1 && ended <= n },
		Counter: func() (func(born, ended int, stack uint32, blocks, bytes uint64), func()) {
			all := make([]Amount, (n+1)*n) // by row of the allocation, of which the first is before all, and of the end
			part := make(map[[2]int]Amount)
			return func(born, ended int, stack uint32, blocks, bytes uint64) {
					if !g.stacks.keep(stack) {
						return
					}
					at, x := born*n+ended-1, Amount{bytes, blocks}
					all[at].add(x)
					if place, ok := places[stack]; ok {
						k := part[[2]int{place, at}]
						k.add(x)
						part[[2]int{place, at}] = k
					}
				}, func() {
					for at, k := range all {
						row, in := at/n-1, at%n
						changed[in][in].add(k)
						if row >= 0 {
							changed[row][in].subtract(k)
						}
					}
					for key, k := range part {
						place, row, in := key[0], key[1]/n-1, key[1]%n
						count(place, in, in, k)
						if row >= 0 {
							count(place, row, in, Amount{-k.Bytes, -k.Blocks})
						}
					}
				}
		},
		Progress: func(done, total int) {
			all := g.To - g.From
			g.progress(uint64(float64(all)*float64(done)/float64(total)), all)
		}}
	if err := x.Count(g.ctx, g.Reader); err != nil {
		return nil, err
	}
	g.out.Rows = g.rows()
	for i, row := range g.out.Rows {
		for j, cut := range g.out.Moments.Cuts {
			for in := i; in < n && cuts[in+1] <= cut; in++ {
				row[j].add(changed[i][in])
			}
		}
	}
	return cells, nil
}
