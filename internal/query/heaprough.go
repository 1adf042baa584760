package query

import (
	"cmp"
	"maps"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// roughBlocks is from how many blocks of events a rough picture is made: half of them are the last ones before its
// moment, and half are from all of the time before.
const roughBlocks = 6

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

// lastAt is what the last event at an address says.
type lastAt struct {
	addr, size    uint64
	time          int64
	stack, thread uint32
	live          bool
}

// guess makes the only picture from some blocks of events: a block is taken to be live if the last event at its address
// that is read is its allocation, and no later one lies where it was. So blocks are missing that were allocated in
// between, and others are taken to be live that were freed there, where nothing was allocated since.
func (f *film) guess(list []int) error {
	var all reach
	ok := true
	known := make(map[uint64]lastAt)
	collect := func(s recording.Stretch) (observer, func()) {
		var part reach
		ends := make(map[uint64]lastAt, s.Events/4)
		return func(b *recording.Batch, _ []bool) {
				for i := range b.Events {
					e := &b.Events[i]
					if b.First+uint64(i) >= f.to || e.Kind > event.Free {
						continue
					}
					part.note(e.Addr, e.Size)
					ends[e.Addr] = lastAt{e.Addr, e.Size, e.Time, e.Stack, e.Thread, e.Kind == event.Alloc}
				}
			}, func() {
				ok = ok && all.add(&part)
				maps.Copy(known, ends)
			}
	}
	fields := recording.Times | recording.Addresses | recording.Sizes
	err := f.noteDamage(f.Reader.ScanBlocks(f.ctx, list, f.to, fields, f.pass(f.first, f.to, noBlocks, collect)),
		f.to-f.first)
	switch {
	case err != nil:
		return err
	case !ok:
		return errSpread
	}
	f.lay(&all)
	if err := f.tints(); err != nil {
		return err
	}
	f.empty()
	w := &filmWorker{film: f}
	for _, x := range latest(known) {
		e := event.Event{Kind: event.Alloc, Addr: x.addr, Size: x.size, Stack: x.stack, Thread: x.thread}
		w.block(&e, x.time, 1)
	}
	f.deposit(w.deposits)
	// How much is live is known exactly.
	live, err := timetravel.LiveAt(f.ctx, f.Reader, f.to)
	for i := range live {
		f.current.add(Amount{live[i].Bytes, live[i].Blocks})
	}
	f.snapshot(0, f.to, f.current)
	return err
}

// latest returns the blocks that are live. Of two that overlap, the later one has taken the other one's place.
func latest(known map[uint64]lastAt) (list []lastAt) {
	for _, x := range known {
		if x.live && fits(x.addr, max(x.size, 1)) {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b lastAt) int { return cmp.Compare(a.addr, b.addr) })
	n := 0
	for _, x := range list {
		for n > 0 && list[n-1].addr+max(list[n-1].size, 1) > x.addr && list[n-1].time <= x.time {
			n--
		}
		if n == 0 || list[n-1].addr+max(list[n-1].size, 1) <= x.addr {
			list[n] = x
			n++
		}
	}
	return list[:n]
}
