package tally

import "github.com/heaptap/heaptap/internal/event"

// Plain is an event as nearly all are: an allocation that is not late, not Sampled and no part of a realloc, whose slack is known; or a
// deallocation of a live block, likewise. It has 56 bytes.
type Plain struct {
	Time   uint64 // in units
	Addr   uint64
	Size   uint64
	Ref    uint64 // PlainFree: number of the allocation
	Born   uint64 // PlainFree: in units, not later than Time
	Stack  uint32
	Thread uint32
	BornBy uint32 // PlainFree
	Way    Way
	Func   event.Func
}

// Slack is how many usable bytes beyond its size a PlainAlloc has, and Count its first argument, 0 if it is not told. They lie where
// others have Ref and Born.
func (p *Plain) Slack() uint64 { return p.Ref }
func (p *Plain) Count() uint64 { return p.Born }

// Way says what a Plain is.
type Way uint8

// The ways.
const (
	PlainAlloc     Way = iota
	PlainFree          // of an allocation that was not the thread's latest
	PlainTemporary     // of the thread's latest allocation
	NotPlain           // it is kept elsewhere
)

// Plains counts plain events of one thread, whose stacks are given by their numbers in the block.
func (b *Block) Plains(list []Plain, unit int64) {
	t := b.t
	thread := list[0].Thread
	if int(thread) >= len(t.threads) {
		t.thread(thread)
	}
	th := &t.threads[min(thread, maxThreads-1)]
	all, stacks := &t.totals, b.stacks
	events, peak := b.events, b.peak
	live, blocks := all.LiveBytes, all.LiveBlocks
	var allocs, bytes, freed, foreign uint64
	for i := range list {
		p := &list[i]
		events++
		a := &stacks[p.Stack]
		if a.last <= peak {
			a.saved, a.savedBlocks = int64(a.Bytes-a.FreedBytes), int64(a.Allocs-a.Frees)
		}
		a.last = events
		all.Funcs[p.Func]++
		size := p.Size
		if p.Way == PlainAlloc {
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
			allocs++
			bytes += size
			blocks++
			if live += size; live > b.most {
				b.events, all.LiveBytes, all.LiveBlocks = events, live, blocks
				b.rise(int64(p.Time) * unit)
				peak = b.peak
			}
			continue
		}
		a.Frees++
		a.FreedBytes += size
		a.ages += p.Time - p.Born
		freed += size
		live -= size
		blocks--
		if p.Way == PlainTemporary {
			a.Temporary++
			a.TemporaryBytes += size
			th.Temporary++
		}
		if p.BornBy != thread {
			foreign++
		}
	}
	th.Allocations += allocs
	th.Bytes += bytes
	th.Deallocations += uint64(len(list)) - allocs
	th.FreedBytes += freed
	b.events, all.LiveBytes, all.LiveBlocks = events, live, blocks
	th.Foreign += foreign
}
