package tally

import (
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// maxStacks bounds the stack ids that are counted separately; larger ones count as stack 0. An agent would need
// gigabytes for so many.
const maxStacks = 1 << 26

// pageSize is the number of accounts in a page.
const pageSize = 256

// maxThreads bounds the thread indexes that are counted separately; larger ones count as the last one.
const maxThreads = 1 << 20

// Tally counts events. Its zero value is not usable: call New.
type Tally struct {
	totals  Totals
	events  uint64 // events seen: the number of the latest, counting from 1
	index   []uint32
	pages   []*[pageSize]account // in order of first appearance; the first is stack 0. Accounts never move
	count   int                  // of accounts
	threads []Thread
	mapper  Mapper
	block   Block // the block that is being counted

	// See Spread.
	sizes, lifetimes [Classes]Bucket
	crossings        *crossings
	unspread         bool // the tally goes on from one that did not count them
}

// account holds the sums of a call stack so far.
type account struct {
	Stack
	live  level
	saved level  // the level at the peak, if last is after the peak
	last  uint64 // number of the last event that changed live
}

// level is the live memory at one moment.
type level struct {
	bytes, blocks uint64
}

// New returns a tally of no events.
func New() *Tally {
	return &Tally{pages: []*[pageSize]account{new([pageSize]account)}, count: 1}
}

// Add counts one event. Events come in the order of the recording.
func (t *Tally) Add(e *event.Event) {
	t.events++
	if e.Time > t.totals.LastTime {
		t.totals.LastTime = e.Time
	}
	f := e.Func
	if f >= event.FuncCount {
		f = event.FuncUnknown
	}
	n, bytes := e.Weight()
	if e.Kind == event.Alloc || e.Flags&event.Realloc == 0 { // a realloc is one call
		t.totals.Funcs[f] += n
	}
	if e.Flags&event.Late != 0 {
		t.totals.Late++
	}
	switch e.Kind {
	case event.Alloc:
		t.alloc(e, n, bytes)
		t.spreads(e, n, bytes, 1)
	case event.Free:
		t.free(e, n, bytes)
		t.spreads(e, n, bytes, 1)
	case event.Fail:
		t.totals.Failed++
		t.account(e.Stack).Failed++
		t.thread(e.Thread).Failed++
	case event.Unmatched:
		t.totals.Unmatched++
		t.thread(e.Thread).Unmatched++
	case event.Inherited:
		t.totals.Inherited++
		t.thread(e.Thread).Inherited++
	case event.Unrecorded:
		t.totals.Unrecorded++
		t.thread(e.Thread).Unrecorded++
	case event.Map:
		t.mapping(e)
	}
}

// alloc counts an allocation that stands for n, of so many bytes.
func (t *Tally) alloc(e *event.Event, n, bytes uint64) {
	a := t.account(e.Stack)
	t.change(a)
	a.live.bytes += bytes
	a.live.blocks += n
	a.OwnPeakBytes = max(a.OwnPeakBytes, a.live.bytes)
	if a.Allocations == 0 || e.Size < a.MinSize {
		a.MinSize = e.Size
	}
	a.MaxSize = max(a.MaxSize, e.Size)

	all := &t.totals
	if all.Allocations == 0 || e.Size < all.MinSize {
		all.MinSize = e.Size
	}
	all.MaxSize = max(all.MaxSize, e.Size)
	a.alloc(e, n, bytes)
	all.alloc(e, n, bytes)
	if e.Flags&event.Sampled != 0 {
		all.Samples++
	}
	all.LiveBytes += bytes
	all.LiveBlocks += n
	if all.LiveBytes > all.Peak.Bytes {
		all.Peak = Peak{Bytes: all.LiveBytes, Blocks: all.LiveBlocks, Time: e.Time, Event: t.events}
	}

	th := t.thread(e.Thread)
	th.Allocations += n
	th.Bytes += bytes
}

func (t *Tally) free(e *event.Event, n, bytes uint64) {
	a := t.account(e.Stack)
	t.change(a)
	a.live.bytes -= bytes
	a.live.blocks -= n
	a.free(e, n, bytes)

	all := &t.totals
	all.free(e, n, bytes)
	all.LiveBytes -= bytes
	all.LiveBlocks -= n
	if e.Func == event.FuncUnknown {
		all.Unseen += n
		return // unseen: the thread is not known
	}
	th := t.thread(e.Thread)
	th.Deallocations += n
	th.FreedBytes += bytes
	if e.Flags&event.Temporary != 0 {
		th.Temporary++
	}
	if e.BornBy != e.Thread {
		th.Foreign += n
	}
}

// change is called before a stack's level changes. If the level has not changed since the peak, it is what was live at
// the peak, and is kept: so the level at the peak is known at any time, for a few instructions an event.
func (t *Tally) change(a *account) {
	if a.last <= t.totals.Peak.Event {
		a.saved = a.live
	}
	a.last = t.events
}

func (c *Counts) alloc(e *event.Event, n, bytes uint64) {
	c.Allocations += n
	c.Bytes += bytes
	c.rare(e, n)
}

// rare counts what not every allocation has.
func (c *Counts) rare(e *event.Event, n uint64) {
	if e.Size == 0 {
		c.ZeroSize += n
	}
	if e.Flags&(event.Realloc|event.InPlace|event.HasUsable) == 0 {
		return
	}
	if e.Flags&event.Realloc != 0 {
		c.Reallocations += n
		if e.Flags&event.InPlace != 0 {
			c.InPlace += n
		}
	}
	if e.Flags&event.HasUsable != 0 && e.Usable >= e.Size {
		c.Slack += n * (e.Usable - e.Size)
		c.SlackCount += n
	}
}

func (c *Counts) free(e *event.Event, n, bytes uint64) {
	c.Deallocations += n
	c.FreedBytes += bytes
	if e.Flags&event.Temporary != 0 {
		c.Temporary++
		c.TemporaryBytes += e.Size
	}
	if age := e.Time - e.Born; age > 0 {
		c.Lifetime.Add(uint64(age), n)
	}
}

func (t *Tally) mapping(e *event.Event) {
	m := &t.totals.Maps
	failed := e.Addr == 0
	unmapped := t.mapper.See(e)
	switch e.Func {
	case event.Mmap:
		m.Mmap.add(e.Size, failed)
	case event.Munmap:
		m.Munmap.add(unmapped, failed)
	case event.Mremap:
		m.Mremap.add(e.Size, failed)
		if !failed {
			m.RemappedBytes += e.OldSize
		}
	case event.Brk:
		var grown uint64
		if e.Addr > e.OldAddr && e.OldAddr != 0 {
			grown = e.Addr - e.OldAddr
		} else if e.Addr < e.OldAddr && !failed {
			m.BrkReturned += e.OldAddr - e.Addr
		}
		m.Brk.add(grown, failed)
	}
}

func (t *Tally) at(i uint32) *account { return &t.pages[i/pageSize][i%pageSize] }

// account returns the account of a stack.
func (t *Tally) account(id uint32) *account {
	if int(id) < len(t.index) {
		if i := t.index[id]; i != 0 || id == 0 {
			return t.at(i)
		}
	}
	return t.open(id)
}

func (t *Tally) open(id uint32) *account {
	if id == 0 || id >= maxStacks {
		return t.at(0)
	}
	if int(id) >= len(t.index) {
		grown := make([]uint32, max(int(id)+1, len(t.index)*3/2, 1024))
		copy(grown, t.index)
		t.index = grown
	}
	if t.count%pageSize == 0 {
		t.pages = append(t.pages, new([pageSize]account))
	}
	i := uint32(t.count)
	t.index[id] = i
	t.count++
	a := t.at(i)
	a.ID = id
	return a
}

func (t *Tally) thread(i uint32) *Thread {
	if int(i) < len(t.threads) {
		return &t.threads[i]
	}
	i = min(i, maxThreads-1)
	for int(i) >= len(t.threads) {
		t.threads = append(t.threads, Thread{})
	}
	return &t.threads[i]
}

// Resume returns a tally that goes on from where a summary was taken.
func Resume(s *Summary) *Tally {
	t := New()
	t.totals, t.events, t.threads = s.Totals, s.Totals.Events, slices.Clone(s.Threads)
	t.mapper.resume(s.Mapped)
	t.resumeSpread(s.Spread)
	for i := range s.Stacks {
		st := &s.Stacks[i]
		a := t.account(st.ID)
		a.Stack = *st
		a.live = level{st.LeakedBytes(), st.LeakedBlocks()}
		// As if each stack had changed with the latest event: what it had at the peak is saved.
		a.saved, a.last = level{st.LiveAtPeakBytes, st.LiveAtPeakBlocks}, t.events
	}
	return t
}
