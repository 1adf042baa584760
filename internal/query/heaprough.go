package query

import (
	"cmp"
	"slices"
	"sort"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// roughBlocks is from how many blocks of events a rough picture is made: half of them are the last ones before its
// moment, and half are from all of the time before.
const roughBlocks = 4

// roughList chooses them; nil: there are not many more.
func (f *film) roughList() (list []int) {
	blocks := f.Reader.EventBlocks()
	first, end := blocks.At(f.first), blocks.At(f.to)
	if end < blocks.Len() && blocks.Head(end).FirstEvent < f.to {
		end++
	}
	n := end - first
	if n <= 2*roughBlocks {
		return nil
	}
	const half = roughBlocks / 2
	for i := range half {
		list = append(list, first+i*(n-half)/half)
	}
	for i := range half {
		list = append(list, end-half+i)
	}
	f.Estimate = &Estimate{Blocks: len(list), Of: n}
	for i := first; i < end; i++ {
		f.Estimate.OfEvents += blocks.Head(i).Events
	}
	for _, i := range list {
		f.Estimate.Events += blocks.Head(i).Events
	}
	return list
}

// found is a block that was allocated.
type found struct {
	addr, size    uint64
	time          int64
	stack, thread uint32
}

func (x *found) end() uint64 { return x.addr + max(x.size, 1) }

// glimpse is what a block of events says.
type glimpse struct {
	list  []found   // allocations
	freed []uint64  // a bit for each of these that was freed, too
	small bitGroups // bytes, by eights, where blocks of less than edged bytes were
	edges bitGroups // the first and the last eight of others
	large reach     // where the others were
}

// edged is from how many bytes on only the ends of a block have bits: else, blocks of 100 KB would take more memory
// than all the rest.
const edged = 16 << 10

// eights of bytes have a bit each: no allocator puts two blocks in one.
const eights = 8

// see takes an event, of the allocation with a number in this block of events.
func (g *glimpse) see(e *event.Event, number uint64) {
	if e.Kind == event.Alloc {
		if len(g.list) == 64*len(g.freed) {
			g.freed = append(g.freed, 0)
		}
		g.list = append(g.list, found{e.Addr, e.Size, e.Time, e.Stack, e.Thread})
		return
	}
	if number < uint64(len(g.list)) {
		g.freed[number/64] |= 1 << (number % 64)
	}
	g.note(&found{addr: e.Addr, size: e.Size})
}

// finish leaves the blocks that were not freed.
func (g *glimpse) finish() {
	n := 0
	for i := range g.list {
		if x := &g.list[i]; g.freed[i/64]&(1<<(i%64)) == 0 && x.fits() {
			g.note(x)
			g.list[n] = *x
			n++
		}
	}
	g.list = g.list[:n]
}

func (x *found) fits() bool { return fits(x.addr, max(x.size, 1)) }

// note notes where a block is.
func (g *glimpse) note(x *found) {
	if !x.fits() {
		return
	}
	first, last := x.addr/eights, (x.end()-1)/eights
	if x.size < edged {
		g.small.set(first, last)
		return
	}
	g.edges.set(first, first)
	g.edges.set(last, last)
	g.large.note(x.addr, x.size)
}

// set sets the bits from first to last.
func (b *bitGroups) set(first, last uint64) {
	for at := first; at <= last; {
		g := b.of(at / groupPages)
		for end := min(last, at|(groupPages-1)); at <= end; {
			stop := min(end, at|63)
			g[at%groupPages/64] |= ^uint64(0) << (at % 64) & (^uint64(0) >> (63 - stop%64))
			at = stop + 1
		}
	}
}

// any says whether one of the bits from first to last is set.
func (b *bitGroups) any(first, last uint64) bool {
	for at := first; at <= last; {
		g := b.find(at / groupPages)
		if g == nil {
			at = (at | (groupPages - 1)) + 1
			continue
		}
		for end := min(last, at|(groupPages-1)); at <= end; {
			stop := min(end, at|63)
			if g[at%groupPages/64]&(^uint64(0)<<(at%64)&(^uint64(0)>>(63-stop%64))) != 0 {
				return true
			}
			at = stop + 1
		}
	}
	return false
}

// manyRecent is how many groups bitGroups with many bits find fast: those of 64 MiB.
const manyRecent = 1 << 14

// guess makes the only picture from some blocks of events: a block is taken to be live if it is allocated there and not
// freed, and no other block was later where it is, as far as is read. So blocks are missing that were allocated in
// between, and others are taken to be live that were freed there, where nothing was allocated since.
func (f *film) guess(list []int) error {
	var glimpses []*glimpse
	collect := func(s recording.Stretch) (observer, func()) {
		n := min(s.Allocs, s.Events)
		g := &glimpse{list: make([]found, 0, n), freed: make([]uint64, 0, n/64+1),
			small: bitGroups{recent: make([]recentBits, manyRecent)}}
		left := min(s.Events, f.to-s.First)
		return func(b *recording.Batch, _ []bool) {
				for i := range b.Events {
					if e := &b.Events[i]; e.Kind <= event.Free {
						g.see(e, b.Refs[i]-s.FirstAlloc)
					}
				}
				if left -= uint64(len(b.Events)); left == 0 {
					g.finish()
				}
			}, func() {
				if left > 0 { // the block is damaged
					g.finish()
				}
				glimpses = append(glimpses, g)
			}
	}
	fields := recording.Times | recording.Addresses | recording.Sizes
	err := f.noteDamage(f.Reader.ScanBlocks(f.ctx, list, f.to, fields, f.pass(f.first, f.to, noBlocks, collect)),
		f.to-f.first)
	if err != nil {
		return err
	}
	live, all, ok := together(glimpses)
	if !ok {
		return errSpread
	}
	f.lay(all)
	if err := f.tints(); err != nil {
		return err
	}
	f.empty()
	w := &filmWorker{film: f}
	for _, list := range live {
		w.deposits = slices.Grow(w.deposits[:0], len(list)+len(list)/8)
		for i := range list {
			x := &list[i]
			e := event.Event{Kind: event.Alloc, Addr: x.addr, Size: x.size, Stack: x.stack, Thread: x.thread}
			w.block(&e, x.time, 1)
		}
		f.deposit(w.deposits)
	}
	// How much is live is known exactly.
	bytes, blocks, err := timetravel.LevelAt(f.Reader, f.to)
	f.snapshot(0, f.to, Amount{bytes, blocks})
	return err
}

// together returns lists of the blocks that are live after the last one of some blocks of events, and where these have
// blocks; false: in too many places.
func together(glimpses []*glimpse) (live [][]found, all *reach, ok bool) {
	all, ok = new(reach), true
	later, edges := bitGroups{recent: make([]recentBits, manyRecent)}, bitGroups{}
	taken := func(first, last uint64) bool { return later.any(first, last) || edges.any(first, last) }
	var large []found
	for _, g := range slices.Backward(glimpses) {
		n := 0
		for i := range g.list {
			x := &g.list[i]
			first, last := x.addr/eights, (x.end()-1)/eights
			switch {
			case x.size >= edged:
				if !taken(first, first) && !taken(last, last) {
					large = append(large, *x)
				}
			case !taken(first, last):
				g.list[n] = *x
				n++
			}
		}
		live = append(live, g.list[:n])
		later.add(&g.small)
		edges.add(&g.edges)
		ok = ok && all.add(&g.large)
	}
	for page := range later.known {
		all.small.of(page / groupPages)[page%groupPages/64] |= 1 << (page % 64)
	}
	if large = latest(large); len(large) > 0 {
		live = withLarge(live, large)
	}
	return live, all, ok && all.add(new(reach))
}

// latest returns blocks that do not overlap, by address: of two that do, the later one has taken the other one's place.
func latest(list []found) []found {
	slices.SortFunc(list, func(a, b found) int { return cmp.Compare(a.addr, b.addr) })
	n := 0
	for _, x := range list {
		for n > 0 && list[n-1].end() > x.addr && list[n-1].time <= x.time {
			n--
		}
		if n == 0 || list[n-1].end() <= x.addr {
			list[n] = x
			n++
		}
	}
	return list[:n]
}

// withLarge returns small blocks, and large ones that are sorted, as far as a later one has not taken their place.
func withLarge(small [][]found, large []found) [][]found {
	dead := make([]bool, len(large))
	for i, list := range small {
		small[i] = slices.DeleteFunc(list, func(x found) (gone bool) {
			k := sort.Search(len(large), func(k int) bool { return large[k].end() > x.addr })
			for ; k < len(large) && large[k].addr < x.end(); k++ {
				later := large[k].time > x.time
				gone = gone || later
				dead[k] = dead[k] || !later
			}
			return gone
		})
	}
	var left []found
	for k := range large {
		if !dead[k] {
			left = append(left, large[k])
		}
	}
	return append(small, left)
}
