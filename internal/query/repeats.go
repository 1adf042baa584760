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
// if that gives fewer rows, at the last mark in it: programs may free everything when they end. That of samples is not
// known.
func (g *generations) repeats() ([]Repeat, error) {
	n := len(g.out.Births.Cuts) - 1
	if n < leastRepeats || g.Sampled {
		return nil, nil
	}
	stacks, err := g.mayRepeat(n)
	if err != nil || len(stacks) == 0 {
		return nil, err
	}
	places := make(map[uint32]int, len(stacks))
	for i, id := range stacks {
		places[id] = i
	}
	var cells []left // by stack, then by row
	if g.Plan == FromEvents {
		cells, err = g.leftFromEvents(places)
	} else {
		cells, err = g.leftFromSums(places)
	}
	if err != nil {
		return nil, err
	}
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
	return kept, nil
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

// mayRepeat returns the call stacks with enough live blocks, those with most live bytes first.
func (g *generations) mayRepeat(rows int) ([]uint32, error) {
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

// leftFromSums counts from the recording's sums: what changed in each row, but what ended in it of another row counts
// in that.
func (g *generations) leftFromSums(places map[uint32]int) ([]left, error) {
	cuts := g.out.Births.Cuts
	n := len(cuts) - 1
	cells := make([]left, len(places)*n)
	// count adds what happened in a row to what is left of another one, or the same.
	count := func(cells []left, place, row, in int, x Amount) {
		k := &cells[place*n+row]
		k.end.add(x)
		if in < n-1 {
			k.mark.add(x)
		}
	}
	for i := range n {
		changes, err := timetravel.Changes(g.ctx, g.Reader, cuts[i], cuts[i+1])
		if err != nil {
			return nil, err
		}
		for _, c := range changes.List() {
			if place, ok := places[c.Stack]; ok {
				count(cells, place, i, i, Amount{uint64(c.Net()), c.Allocs - c.Frees})
			}
		}
	}
	x := timetravel.Ends{Born: cuts, Ended: cuts,
		Wanted: func(born, ended int) bool { return born != ended && ended >= 1 && ended <= n },
		Counter: func() (func(born, ended int, stack uint32, blocks, bytes uint64), func()) {
			part := make(map[[3]int]Amount) // by place, row of the allocation and row of the end
			return func(born, ended int, stack uint32, blocks, bytes uint64) {
					if place, ok := places[stack]; ok {
						key := [3]int{place, born - 1, ended - 1}
						k := part[key]
						k.add(Amount{bytes, blocks})
						part[key] = k
					}
				}, func() {
					for key, k := range part {
						place, row, in := key[0], key[1], key[2]
						count(cells, place, in, in, k)
						if row >= 0 {
							count(cells, place, row, in, Amount{-k.Bytes, -k.Blocks})
						}
					}
				}
		}}
	return cells, x.Count(g.ctx, g.Reader)
}
