package tally_test

import (
	"cmp"
	"maps"
	"math/big"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/tally"
)

// naive sums events up again and again from the start, so that nothing in it can go wrong unseen.
type naive []event.Event

// blocks returns, for every allocation, the positions of the events at which it begins and ends (len: never).
func (n naive) blocks() (born, died []int) {
	for i, e := range n {
		switch e.Kind {
		case event.Alloc:
			born, died = append(born, i), append(died, len(n))
		case event.Free:
			died[e.Ref] = i
		}
	}
	return born, died
}

// live returns what is live after event at, of one stack or of all (-1).
func (n naive) live(at int, stack int64) (bytes, blocks uint64) {
	born, died := n.blocks()
	for k := range born {
		e := n[born[k]]
		if born[k] <= at && at < died[k] && (stack < 0 || int64(e.Stack) == stack) {
			bytes += e.Size
			blocks++
		}
	}
	return bytes, blocks
}

// series is live after every event, computed in one go for each stack to keep the tests short.
func (n naive) series(stack int64) (bytes, blocks []uint64) {
	bytes, blocks = make([]uint64, len(n)), make([]uint64, len(n))
	born, died := n.blocks()
	for k := range born {
		if e := n[born[k]]; stack < 0 || int64(e.Stack) == stack {
			for at := born[k]; at < died[k]; at++ {
				bytes[at] += e.Size
				blocks[at]++
			}
		}
	}
	return bytes, blocks
}

func (n naive) peak() (p tally.Peak) {
	bytes, blocks := n.series(-1)
	for i := range n {
		if bytes[i] > p.Bytes {
			p = tally.Peak{Bytes: bytes[i], Blocks: blocks[i], Time: n[i].Time, Event: uint64(i + 1)}
		}
	}
	return p
}

// counts counts the events of one stack, or of all (-1).
func (n naive) counts(stack int64) (c tally.Counts) {
	sum := new(big.Int)
	smallest := ^uint64(0)
	for _, e := range n {
		if stack >= 0 && int64(e.Stack) != stack {
			continue
		}
		switch e.Kind {
		case event.Alloc:
			c.Allocations++
			c.Bytes += e.Size
			smallest = min(smallest, e.Size)
			c.MinSize, c.MaxSize = smallest, max(c.MaxSize, e.Size)
			if e.Size == 0 {
				c.ZeroSize++
			}
			if e.Flags&event.Realloc != 0 {
				c.Reallocations++
			}
			if e.Flags&event.InPlace != 0 {
				c.InPlace++
			}
			if e.Flags&event.HasUsable != 0 {
				c.SlackCount++
				c.Slack += e.Usable - e.Size
			}
		case event.Free:
			c.Deallocations++
			c.FreedBytes += e.Size
			if e.Flags&event.Temporary != 0 {
				c.Temporary++
				c.TemporaryBytes += e.Size
			}
			sum.Add(sum, big.NewInt(e.Time-e.Born))
		case event.Fail:
			c.Failed++
		}
	}
	c.Lifetime.Lo = new(big.Int).And(sum, new(big.Int).SetUint64(^uint64(0))).Uint64()
	c.Lifetime.Hi = new(big.Int).Rsh(sum, 64).Uint64()
	return c
}

func (n naive) totals() tally.Totals {
	t := tally.Totals{Counts: n.counts(-1), Events: uint64(len(n)), Peak: n.peak()}
	unmapped := n.unmapped()
	for i, e := range n {
		t.LastTime = e.Time
		if e.Kind == event.Alloc || e.Flags&event.Realloc == 0 {
			t.Funcs[e.Func]++
		}
		if e.Flags&event.Late != 0 {
			t.Late++
		}
		switch e.Kind {
		case event.Unmatched:
			t.Unmatched++
		case event.Inherited:
			t.Inherited++
		case event.Free:
			if e.Func == event.FuncUnknown {
				t.Unseen++
			}
		case event.Map:
			n.mapping(&t.Maps, i, unmapped[i])
		}
	}
	if len(n) > 0 {
		t.LiveBytes, t.LiveBlocks = n.live(len(n)-1, -1)
	}
	return t
}

func (n naive) mapping(m *tally.Maps, i int, unmapped uint64) {
	e := n[i]
	c := map[event.Func]*tally.Calls{event.Mmap: &m.Mmap, event.Munmap: &m.Munmap, event.Mremap: &m.Mremap,
		event.Brk: &m.Brk}[e.Func]
	c.Calls++
	switch {
	case e.Addr == 0:
		c.Failed++
	case e.Func == event.Brk && e.Addr < e.OldAddr:
		m.BrkReturned += e.OldAddr - e.Addr
	case e.Func == event.Brk && e.OldAddr != 0:
		c.Bytes += e.Addr - e.OldAddr
	case e.Func == event.Munmap:
		c.Bytes += unmapped
	case e.Func != event.Brk:
		c.Bytes += e.Size
		if e.Func == event.Mremap {
			m.RemappedBytes += e.OldSize
		}
	}
}

// apply notes for each byte which stack has mapped it, as a number from 1; the programs map low addresses only.
func (n naive) apply(bytes *[1 << 15]uint32, e event.Event) {
	set := func(from, to uint64, owner uint32) {
		for at := from; at < to; at++ {
			bytes[at] = owner
		}
	}
	page := func(at uint64) uint64 { return (at + 4095) / 4096 * 4096 }
	if e.Kind != event.Map || e.Addr == 0 {
		return
	}
	from, to := e.Addr, e.Addr+e.Size
	switch e.Func {
	case event.Mremap:
		set(e.OldAddr, page(e.OldAddr+e.OldSize), 0)
	case event.Munmap:
		set(from, page(to), 0)
		return
	case event.Brk:
		if from, to = e.OldAddr, e.Addr; to < from {
			set(to, page(from), 0)
		}
	}
	if from < to && (e.Func != event.Brk || e.OldAddr != 0) {
		set(from, page(to), 0)
		set(from, to, e.Stack+1)
	}
}

// unmapped is how many mapped bytes each munmap ends.
func (n naive) unmapped() []uint64 {
	sums := make([]uint64, len(n))
	var bytes [1 << 15]uint32
	for i, e := range n {
		if e.Kind != event.Map {
			continue
		}
		before := bytes
		n.apply(&bytes, e)
		for at := range before {
			if e.Func == event.Munmap && before[at] != 0 && bytes[at] == 0 {
				sums[i]++
			}
		}
	}
	return sums
}

// mapped is what the program has mapped: live, and the most.
func (n naive) mapped() *tally.Mapped {
	m := &tally.Mapped{}
	sites := map[uint32]*tally.Site{}
	var bytes [1 << 15]uint32
	for _, e := range n {
		if e.Kind != event.Map || e.Addr == 0 {
			continue
		}
		if e.Func == event.Mmap || e.Func == event.Mremap || e.Func == event.Brk && e.Addr > e.OldAddr &&
			e.OldAddr != 0 {
			size := e.Size
			if e.Func == event.Brk {
				size = e.Addr - e.OldAddr
			}
			if size > 0 {
				if sites[e.Stack] == nil {
					sites[e.Stack] = &tally.Site{Stack: e.Stack}
				}
				sites[e.Stack].Calls++
				sites[e.Stack].Bytes += size
			}
		}
		n.apply(&bytes, e)
		live, all := map[uint32]uint64{}, uint64(0)
		for i, k := 0, 0; i < len(bytes); i = k { // what has one owner
			for k = i; k < len(bytes) && bytes[k] == bytes[i]; k++ {
			}
			if bytes[i] != 0 {
				live[bytes[i]-1] += uint64(k - i)
				all += uint64(k - i)
			}
		}
		for stack, s := range sites {
			s.Ended = s.Bytes - live[stack]
			s.OwnPeak = max(s.OwnPeak, live[stack])
			if all > m.PeakBytes {
				s.LiveAtPeak = live[stack]
			}
		}
		if m.LiveBytes = all; all > m.PeakBytes {
			m.PeakBytes, m.PeakTime = all, e.Time
		}
	}
	if len(sites) == 0 {
		return nil
	}
	for _, stack := range slices.Sorted(maps.Keys(sites)) {
		m.Sites = append(m.Sites, *sites[stack])
	}
	return m
}

// spread is how blocks spread over sizes, lifetimes and threads.
func (n naive) spread() *tally.Spread {
	s := &tally.Spread{}
	class := func(v uint64) (bits int) {
		for ; v > 0; v /= 2 {
			bits++
		}
		return bits
	}
	crossings := map[[2]uint32]tally.Bucket{}
	for _, e := range n {
		switch e.Kind {
		case event.Alloc:
			b := &s.Sizes[class(e.Size)]
			*b = tally.Bucket{Count: b.Count + 1, Bytes: b.Bytes + e.Size}
		case event.Free:
			b := &s.Lifetimes[class(uint64(e.Time-e.Born))]
			*b = tally.Bucket{Count: b.Count + 1, Bytes: b.Bytes + e.Size}
			from, to := min(e.BornBy, tally.Together), min(e.Thread, tally.Together)
			if e.Func == event.FuncUnknown {
				to = tally.Nobody
			} else if e.BornBy == e.Thread {
				continue
			}
			c := crossings[[2]uint32{from, to}]
			crossings[[2]uint32{from, to}] = tally.Bucket{Count: c.Count + 1, Bytes: c.Bytes + e.Size}
		}
	}
	for key, b := range crossings {
		s.Crossings = append(s.Crossings, tally.Crossing{From: key[0], To: key[1], Bucket: b})
	}
	slices.SortFunc(s.Crossings, func(a, b tally.Crossing) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return s
}

func (n naive) stack(id uint32) tally.Stack {
	s := tally.Stack{ID: id, Counts: n.counts(int64(id))}
	bytes, _ := n.series(int64(id))
	for _, b := range bytes {
		s.OwnPeakBytes = max(s.OwnPeakBytes, b)
	}
	if p := n.peak(); p.Event > 0 {
		s.LiveAtPeakBytes, s.LiveAtPeakBlocks = n.live(int(p.Event-1), int64(id))
	}
	return s
}

func (n naive) stacks() (list []tally.Stack) {
	used := map[uint32]bool{}
	var last uint32
	for _, e := range n {
		if e.Kind == event.Alloc || e.Kind == event.Fail {
			used[e.Stack] = true
			last = max(last, e.Stack)
		}
	}
	for id := range last + 1 {
		if used[id] {
			list = append(list, n.stack(id))
		}
	}
	return list
}

func (n naive) threads() (list []tally.Thread) {
	for _, e := range n {
		if e.Kind == event.Map || e.Kind == event.Free && e.Func == event.FuncUnknown {
			continue
		}
		for int(e.Thread) >= len(list) {
			list = append(list, tally.Thread{})
		}
		t := &list[e.Thread]
		switch e.Kind {
		case event.Alloc:
			t.Allocations++
			t.Bytes += e.Size
		case event.Free:
			t.Deallocations++
			t.FreedBytes += e.Size
			if e.BornBy != e.Thread {
				t.Foreign++
			}
			if e.Flags&event.Temporary != 0 {
				t.Temporary++
			}
		case event.Fail:
			t.Failed++
		case event.Unmatched:
			t.Unmatched++
		case event.Inherited:
			t.Inherited++
		}
	}
	return list
}
