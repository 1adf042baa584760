package tally

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/grow"
)

// Block counts consecutive events and then adds their sums to a Tally. The result is the same as calling Tally.Add for
// each event. It is faster, because a block's sums by call stack lie densely in memory, and the process's sums follow
// from them.
//
// Within the block, stacks are numbered in the order of their first appearance: see Open.
type Block struct {
	t      *Tally
	events uint32 // in the block so far
	peak   uint32 // number of the event that reached the peak, if it is in this block; else 0
	most   uint64 // largest number of live bytes before or after any of its events
	stacks []Local
	// The weights of Sampled events may exceed what a Local can hold.
	sampled map[int]*Counts // by stack; only the rare counts and Lifetime are used
}

// MaxBlock is the largest number of events in a block: their numbers within it have 32 bits.
const MaxBlock = 1 << 31

// Local holds a call stack's sums within a block. Times are in the caller's unit.
type Local struct {
	last       uint32 // number of the last event that changed live memory
	slackCount uint32
	Allocs     uint64
	Bytes      uint64
	FreedBytes uint64
	// Top is the largest value of Bytes minus FreedBytes in the block, at least 0: by how much live bytes rose above
	// their value before the block.
	Top      int64
	min, max uint64
	slack    uint64

	Frees          uint64 // deallocations of blocks that this stack allocated
	ages           uint64 // sum of these blocks' lifetimes
	saved          int64  // Bytes minus FreedBytes at the peak, if last is after the peak
	savedBlocks    int64
	TemporaryBytes uint64
	Temporary      uint32
	ID             uint32 // of the stack
	failed         uint32
	reallocs       uint32
	inPlace        uint32
	zero           uint32 // the end of two cache lines
}

// Block returns the tally's empty block. There is only one at a time.
func (t *Tally) Block() *Block {
	t.block.t = t
	t.block.most = t.totals.LiveBytes
	return &t.block
}

// Live returns the live memory of all stacks.
func (b *Block) Live() (bytes, blocks uint64) { return b.t.totals.LiveBytes, b.t.totals.LiveBlocks }

// Most returns the largest number of live bytes before or after any event of the block.
func (b *Block) Most() uint64 { return b.most }

// Open gives a stack the next number. It must be called once for each stack in a block.
func (b *Block) Open(id uint32) {
	if len(b.stacks) == cap(b.stacks) {
		b.stacks = grow.For(b.stacks, 64)
	}
	b.stacks = append(b.stacks, Local{ID: id, min: ^uint64(0)})
}

// change must be called before a stack's live memory changes. It is small enough to be inlined.
func (b *Block) change(a *Local) {
	if a.last <= b.peak {
		a.saved, a.savedBlocks = int64(a.Bytes-a.FreedBytes), int64(a.Allocs-a.Frees)
	}
	a.last = b.events
}

// alloc counts an allocation that is not late and not part of a realloc. slack is the number of usable bytes beyond
// size, or negative if it is not known. now is in units of unit ns.
func (b *Block) alloc(local int, f event.Func, thread uint32, size uint64, slack int64, now int64, unit int64) {
	b.events++
	a := &b.stacks[local]
	b.change(a)
	a.Allocs++
	a.Bytes += size
	if net := int64(a.Bytes - a.FreedBytes); net > a.Top {
		a.Top = net
	}
	a.min = min(a.min, size)
	a.max = max(a.max, size)
	if size == 0 {
		a.zero++
	}
	if slack >= 0 {
		a.slack += uint64(slack)
		a.slackCount++
	}
	t := b.t
	all := &t.totals
	all.Funcs[f]++
	all.LiveBlocks++
	if all.LiveBytes += size; all.LiveBytes > b.most {
		b.rise(now * unit)
	}
	if int(thread) >= len(t.threads) {
		t.thread(thread)
	}
	th := &t.threads[min(thread, maxThreads-1)]
	th.Allocations++
	th.Bytes += size
}

// rise notes a new maximum of live bytes in the block.
func (b *Block) rise(now int64) {
	all := &b.t.totals
	b.most = all.LiveBytes
	if b.most <= all.Peak.Bytes {
		return
	}
	b.peak = b.events
	all.Peak = Peak{Bytes: all.LiveBytes, Blocks: all.LiveBlocks, Time: now, Event: b.t.events + uint64(b.events)}
}

// free counts the deallocation of a block that thread bornBy allocated at the stack age units earlier.
func (b *Block) free(local int, f event.Func, thread, bornBy uint32, size uint64, age int64, temporary bool) {
	b.events++
	a := &b.stacks[local]
	b.change(a)
	a.Frees++
	a.FreedBytes += size
	a.ages += uint64(age)
	t := b.t
	all := &t.totals
	all.Funcs[f]++
	all.LiveBytes -= size
	all.LiveBlocks--
	if int(thread) >= len(t.threads) {
		t.thread(thread)
	}
	th := &t.threads[min(thread, maxThreads-1)]
	th.Deallocations++
	th.FreedBytes += size
	if temporary {
		a.Temporary++
		a.TemporaryBytes += size
		th.Temporary++
	}
	if bornBy != thread {
		th.Foreign++
	}
}

// Add counts events. Stacks are given by their numbers in the block, but for those of Map events, which are followed
// across blocks. Times of full events are in ns.
func (b *Block) Add(batch *event.Batch, unit int64) {
	if len(batch.Others)+len(batch.Full) == 0 {
		for rows := batch.Rows; len(rows) > 0; {
			rows = rows[b.plain(rows, unit):]
		}
		return
	}
	for rows, full := range batch.Parts() {
		for len(rows) > 0 {
			rows = rows[b.plain(rows, unit):]
		}
		for i := range full {
			b.full(&full[i].Event, unit)
		}
	}
}

// full counts an event of any kind. Its stack is ignored if its kind has none.
func (b *Block) full(e *event.Event, unit int64) {
	local := int(e.Stack)
	t := b.t
	all := &t.totals
	f := e.Func
	if f >= event.FuncCount {
		f = event.FuncUnknown
	}
	if e.Flags&event.Late != 0 {
		all.Late++
	}
	if e.Kind <= event.Free { // forged events of other kinds may have the flag Sampled
		n, bytes := e.Weight()
		t.spreads(e, n, bytes, unit)
		if e.Flags&event.Sampled != 0 {
			b.addSampled(local, f, e, unit)
			return
		}
	}
	switch e.Kind {
	case event.Alloc:
		slack := int64(-1)
		if e.Flags&event.HasUsable != 0 && e.Usable >= e.Size && e.Usable-e.Size < 1<<63 {
			slack = int64(e.Usable - e.Size)
		}
		b.alloc(local, f, e.Thread, e.Size, slack, e.Time/unit, unit)
		a := &b.stacks[local]
		if e.Flags&event.Realloc != 0 {
			a.reallocs++
			if e.Flags&event.InPlace != 0 {
				a.inPlace++
			}
		}
	case event.Free:
		if f == event.FuncUnknown {
			// Unseen: it is not known which thread freed the block.
			b.unseen(local, e, unit)
		} else {
			b.free(local, f, e.Thread, e.BornBy, e.Size, max(0, e.Time/unit-e.Born/unit), e.Flags&event.Temporary != 0)
		}
		if e.Flags&event.Realloc != 0 {
			all.Funcs[f]-- // a realloc is one call, which is counted with its result
		}
	default:
		b.events++
		if e.Flags&event.Realloc == 0 {
			all.Funcs[f]++
		}
		switch e.Kind {
		case event.Fail:
			b.stacks[local].failed++
			t.thread(e.Thread).Failed++
		case event.Unmatched:
			all.Unmatched++
			t.thread(e.Thread).Unmatched++
		case event.Inherited:
			all.Inherited++
			t.thread(e.Thread).Inherited++
		case event.Unrecorded:
			all.Unrecorded++
			t.thread(e.Thread).Unrecorded++
		case event.Map:
			t.mapping(e)
		}
	}
	all.LastTime = max(all.LastTime, e.Time)
}

func (b *Block) unseen(local int, e *event.Event, unit int64) {
	b.events++
	a := &b.stacks[local]
	b.change(a)
	a.Frees++
	a.FreedBytes += e.Size
	a.ages += uint64(max(0, e.Time/unit-e.Born/unit))
	if e.Flags&event.Temporary != 0 {
		a.Temporary++
		a.TemporaryBytes += e.Size
	}
	all := &b.t.totals
	all.Funcs[event.FuncUnknown]++
	all.Unseen++
	all.LiveBytes -= e.Size
	all.LiveBlocks--
}

// Close adds the block to the tally, returns the sums of its stacks, and begins the next block in the memory of spare.
// last is the time of the last event, in ns.
func (b *Block) Close(last, unit int64, spare []Local) []Local {
	t := b.t
	all := &t.totals
	base := t.events
	for i := range b.stacks {
		l := &b.stacks[i]
		if l.last == 0 && l.failed == 0 {
			continue // only events that allocate nothing refer to it
		}
		a := t.account(l.ID)
		c := Counts{
			Allocations: l.Allocs, Bytes: l.Bytes, Deallocations: l.Frees, FreedBytes: l.FreedBytes,
			Failed: uint64(l.failed), Temporary: uint64(l.Temporary), TemporaryBytes: l.TemporaryBytes,
			Reallocations: uint64(l.reallocs), InPlace: uint64(l.inPlace), ZeroSize: uint64(l.zero),
			Slack: l.slack, SlackCount: uint64(l.slackCount),
		}
		if l.Allocs > 0 {
			c.MinSize, c.MaxSize = l.min, l.max
		}
		c.Lifetime.Add(l.ages, uint64(unit))
		if s := b.sampled[i]; s != nil {
			c.Add(s)
		}
		a.Counts.Add(&c)
		all.Counts.Add(&c)
		if l.last == 0 {
			continue // only failures
		}
		net, blocks := l.Bytes-l.FreedBytes, l.Allocs-l.Frees
		switch {
		case b.peak > 0 && l.last > b.peak:
			a.saved = level{a.live.bytes + uint64(l.saved), a.live.blocks + uint64(l.savedBlocks)}
		case b.peak == 0 && a.last <= all.Peak.Event:
			a.saved = a.live
		}
		if l.Top > 0 {
			a.OwnPeakBytes = max(a.OwnPeakBytes, a.live.bytes+uint64(l.Top))
		}
		a.live.bytes += net
		a.live.blocks += blocks
		a.last = base + uint64(l.last)
	}
	t.events += uint64(b.events)
	if b.events > 0 {
		all.LastTime = max(all.LastTime, last)
	}
	list := b.stacks
	if cap(spare) < len(list) {
		spare = make([]Local, 0, cap(list)) // the next block will have about as many
	}
	b.stacks, b.events, b.peak, b.most = spare[:0], 0, 0, all.LiveBytes
	clear(b.sampled)
	return list
}
