package timetravel

import (
	"context"
	"sort"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/inorder"
)

// Ends is a question about deallocations: when they were, and when their blocks were allocated. Far sums answer it for
// blocks of events that no cut divides; others are decoded.
type Ends struct {
	// Cuts, which rise. An allocation or a deallocation is known by how many cuts come before it.
	Born, Ended []uint64
	// Wanted reports whether deallocations count. It must be false where no cut of both lists is between the two.
	Wanted func(born, ended int) bool
	// Counter returns a function that counts deallocations, on any goroutine, and another that adds what it has
	// counted to the result.
	Counter func() (add func(born, ended int, stack uint32, blocks, bytes uint64), done func())
	// Progress is called with the number of blocks of events that are decoded, and of all that have to be; nil: not
	// wanted.
	Progress func(done, total int)

	blocks   *recording.EventBlocks
	before   []int    // by cut of Born: the blocks of events below this one end before it
	after    []int    // and those from this one on begin after it
	allocs   []uint64 // allocations before it
	first    int      // the first block of events that has a part
	decoded  []bool   // by block from first on: it is to be decoded
	interval []int    // of a block that is not: its place among Ended
}

// Count answers.
func (x *Ends) Count(ctx context.Context, r *recording.Reader) error {
	if err := r.NeedEvents(); err != nil {
		return err
	}
	x.blocks = r.EventBlocks()
	n := len(x.Ended)
	x.first = x.blocks.At(x.Ended[0])
	end := max(x.first, x.blocks.At(x.Ended[n-1]))
	if end < x.blocks.Len() && x.blocks.Head(end).FirstEvent < x.Ended[n-1] {
		end++
	}
	x.decoded, x.interval = make([]bool, end-x.first), make([]int, end-x.first)
	x.locate()
	tables := x.blocks.FarTables()
	x.divide(tables)
	for _, t := range tables {
		x.each(t, func(i int, s *recording.FarSum) {
			x.decoded[i] = x.decoded[i] || x.unclear(t, i, s)
		})
	}
	add, done := x.Counter()
	for _, t := range tables {
		x.each(t, func(i int, s *recording.FarSum) {
			if first, _ := t.Births(s); !x.decoded[i] {
				if born := x.least(first); x.Wanted(born, x.interval[i]) {
					add(born, x.interval[i], s.Stack, s.Frees, s.Bytes)
				}
			}
		})
	}
	done()
	return x.decode(ctx, r)
}

// locate finds between which blocks of events the cuts of Born are.
func (x *Ends) locate() {
	for _, cut := range x.Born {
		i := x.blocks.At(cut)
		x.before = append(x.before, i)
		if i < x.blocks.Len() && x.blocks.Head(i).FirstEvent < cut {
			i++
		}
		x.after = append(x.after, i)
	}
}

// least returns how many cuts of Born come before all allocations from a block of events on.
func (x *Ends) least(first int) int {
	return sort.Search(len(x.after), func(k int) bool { return x.after[k] > first })
}

// most returns how many may come before one in a block before end.
func (x *Ends) most(end int) int {
	return sort.Search(len(x.before), func(k int) bool { return x.before[k] >= end })
}

// any reports whether anything that ends in an interval may count.
func (x *Ends) any(ended int) bool {
	for born := range len(x.Born) + 1 {
		if x.Wanted(born, ended) {
			return true
		}
	}
	return false
}

// divide decides which blocks are to be decoded whatever the far sums say: those that a cut divides, and those without
// far sums.
func (x *Ends) divide(tables []*recording.FarTable) {
	for i := range x.decoded {
		h := x.blocks.Head(x.first + i)
		last := x.place(h.FirstEvent + h.Events - 1)
		x.interval[i] = x.place(h.FirstEvent)
		for q := x.interval[i]; q <= last; q++ {
			divided := x.interval[i] < last || !knows(tables, x.blocks, x.first+i)
			x.decoded[i] = x.decoded[i] || divided && x.any(q)
		}
	}
}

// knows reports whether the far sums of a block of events are there. The first one has none.
func knows(tables []*recording.FarTable, blocks *recording.EventBlocks, i int) bool {
	if blocks.Head(i).FirstAlloc == 0 {
		return true
	}
	k := sort.Search(len(tables), func(k int) bool { return tables[k].FirstBlock > uint64(i) }) - 1
	return k >= 0 && uint64(i) < tables[k].FirstBlock+tables[k].Blocks
}

// HasFarSums reports whether a recording has the far sums of the blocks of events between two cuts. Those of older
// versions of heaptap have none. The latest blocks may lack them, while a recorder still writes or if it was killed.
func HasFarSums(r *recording.Reader, from, to uint64) bool {
	blocks := r.EventBlocks()
	tables := blocks.FarTables()
	end := 0 // of the last table
	if n := len(tables); n > 0 {
		end = int(tables[n-1].FirstBlock + tables[n-1].Blocks)
	}
	for i := blocks.At(from); i < blocks.Len() && blocks.Head(i).FirstEvent < to; i++ {
		if !knows(tables, blocks, i) && (i < end || end == 0 || blocks.Len()-end > block.Fan) {
			return false
		}
	}
	return true
}

// place returns how many cuts of Ended come before an event.
func (x *Ends) place(n uint64) int {
	return sort.Search(len(x.Ended), func(k int) bool { return x.Ended[k] > n })
}

// each calls f with the far sums of a table that are about blocks from first on, and the place of these blocks.
func (x *Ends) each(t *recording.FarTable, f func(i int, s *recording.FarSum)) {
	for k := range t.List {
		s := &t.List[k]
		if i := int(t.FirstBlock) + int(s.In) - x.first; i >= 0 && i < len(x.decoded) {
			f(i, s)
		}
	}
}

// unclear reports whether a far sum has deallocations that count and others that do not, or differently.
func (x *Ends) unclear(t *recording.FarTable, i int, s *recording.FarSum) bool {
	first, end := t.Births(s)
	least, most := x.least(first), x.most(end)
	for born := least; born <= most && least < most; born++ {
		if x.Wanted(born, x.interval[i]) {
			return true
		}
	}
	return false
}

// decode counts what far sums cannot tell.
func (x *Ends) decode(ctx context.Context, r *recording.Reader) error {
	var list []int
	for i, d := range x.decoded {
		if d {
			list = append(list, x.first+i)
		}
	}
	if list == nil {
		return nil
	}
	for _, cut := range x.Born {
		n, err := r.AllocsBefore(cut)
		if err != nil {
			return err
		}
		x.allocs = append(x.allocs, n)
	}
	total := 0
	return inorder.Do(ctx, len(list), func(i int, stopped *atomic.Bool) (func(), error) {
		add, done := x.Counter()
		err := x.decodeBlock(list[i], stopped, add)
		return func() {
			done()
			if total++; x.Progress != nil {
				x.Progress(total, len(list))
			}
		}, err
	})
}

func (x *Ends) decodeBlock(i int, stopped *atomic.Bool,
	add func(born, ended int, stack uint32, blocks, bytes uint64)) error {
	ended := x.place(x.blocks.Head(i).FirstEvent)
	before := sort.Search(len(x.Born), func(k int) bool { return x.Born[k] > x.blocks.Head(i).FirstEvent })
	return x.blocks.DecodeBatches(i, recording.Sizes, func(b *recording.Batch) bool {
		for k := range b.Events {
			n := b.First + uint64(k)
			for ended < len(x.Ended) && x.Ended[ended] <= n {
				ended++
			}
			for before < len(x.Born) && x.Born[before] <= n {
				before++
			}
			e := &b.Events[k]
			if e.Kind != event.Free {
				continue
			}
			born := before
			for born > 0 && x.allocs[born-1] > b.Refs[k] { // most blocks are young
				born--
			}
			if x.Wanted(born, ended) {
				blocks, bytes := e.Weight()
				add(born, ended, e.Stack, blocks, bytes)
			}
		}
		return !stopped.Load()
	})
}

// KeptAt returns what was allocated between two cuts and is live at a third one at each call stack, in no particular
// order.
func KeptAt(ctx context.Context, r *recording.Reader, from, to, at uint64, progress func(done, total int)) ([]Live,
	error) {
	to = min(to, at)
	if from >= to {
		return nil, nil
	}
	sum, err := Changes(ctx, r, from, to)
	if err != nil {
		return nil, err
	}
	// What ended of older blocks counts back; what ended of the range's blocks after it is to be counted.
	const older, ours = 0, 1
	const during, later = 1, 2
	x := Ends{Born: []uint64{from}, Ended: []uint64{from, to}, Progress: progress,
		Wanted: func(born, ended int) bool {
			return born == older && ended == during || born == ours && ended == later && to < at
		},
		Counter: func() (func(born, ended int, stack uint32, blocks, bytes uint64), func()) {
			var c recording.Changes
			return func(born, _ int, stack uint32, blocks, bytes uint64) {
					if born == older {
						blocks, bytes = -blocks, -bytes
					}
					s := c.At(stack)
					s.Frees += blocks
					s.FreedBytes += bytes
				}, func() {
					for i := range c.List() {
						sum.Add(&c.List()[i])
					}
				}
		}}
	if to < at {
		x.Born, x.Ended = append(x.Born, to), append(x.Ended, at)
	}
	if err := x.Count(ctx, r); err != nil {
		return nil, err
	}
	var list []Live
	for _, c := range sum.List() {
		if c.Allocs != c.Frees || c.Bytes != c.FreedBytes {
			list = append(list, Live{c.Stack, c.Allocs - c.Frees, c.Bytes - c.FreedBytes})
		}
	}
	return list, nil
}
