package tally

import (
	"math/bits"

	"github.com/heaptap/heaptap/internal/event"
)

// plain is the inner loop of Add: it counts the first rows of list that are of one thread, and returns their number.
func (b *Block) plain(list []event.Row, unit int64) int {
	t := b.t
	thread := list[0].Thread
	if int(thread) >= len(t.threads) {
		t.thread(thread)
	}
	th := &t.threads[min(thread, maxThreads-1)]
	all, stacks := &t.totals, b.stacks
	// As few as possible, for the registers: what else is counted follows from these.
	first := b.events
	live, blocks := all.LiveBytes, all.LiveBlocks
	before, blocksBefore := live, blocks
	freed := uint64(0)
	n := 0
	for ; n < len(list); n++ {
		p := &list[n]
		if p.Thread != thread {
			break
		}
		events := first + uint32(n) + 1
		a := &stacks[p.Stack]
		if a.last <= b.peak {
			a.saved, a.savedBlocks = int64(a.Bytes-a.FreedBytes), int64(a.Allocs-a.Frees)
		}
		a.last = events
		all.Funcs[p.Func]++
		size := p.Size
		if p.Kind == event.RowAlloc {
			a.Allocs++
			a.Bytes += size
			a.Top = max(a.Top, int64(a.Bytes-a.FreedBytes))
			a.min = min(a.min, size)
			a.max = max(a.max, size)
			if size == 0 {
				a.zero++
			}
			a.slack += p.Slack()
			a.slackCount++
			s := &t.sizes[bits.Len64(size)]
			s.Count++
			s.Bytes += size
			blocks++
			if live += size; live > b.most {
				b.events, all.LiveBytes, all.LiveBlocks = events, live, blocks
				b.rise(int64(p.Time) * unit)
			}
			continue
		}
		a.Frees++
		a.FreedBytes += size
		age := p.Time - p.Born
		a.ages += age
		l := &t.lifetimes[bits.Len64(age*uint64(unit))]
		l.Count++
		l.Bytes += size
		freed += size
		live -= size
		blocks--
		if p.Kind == event.RowTemporary {
			a.Temporary++
			a.TemporaryBytes += size
			th.Temporary++
		}
		if p.BornBy != thread {
			th.Foreign++
			t.foreign(p.BornBy, thread, 1, size)
		}
	}
	allocs := (uint64(n) + blocks - blocksBefore) / 2
	th.Allocations += allocs
	th.Bytes += live - before + freed
	th.Deallocations += uint64(n) - allocs
	th.FreedBytes += freed
	b.events, all.LiveBytes, all.LiveBlocks = first+uint32(n), live, blocks
	return n
}
