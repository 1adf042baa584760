package ledger

import (
	"github.com/heaptap/heaptap/internal/event"
)

// Most ops are simple: an allocation at a free address, or a deallocation of a live block by the right function, while
// nothing waits and the clock goes on. plain is the inner loop of Settle that settles these, in a few nanoseconds each.

// together has, for each deallocation function, the allocation functions, a bit each, to which it certainly belongs.
// Alignments are not known here.
var together = func() (list [64]uint64) {
	for free := range event.FuncCount {
		for alloc := range event.FuncCount {
			if alloc.Family() == free.Family() && alloc != event.AlignedAlloc {
				list[free] |= 1 << alloc
			}
		}
	}
	return list
}()

// sizedFuncs are the deallocation functions that are given the size of the block, a bit each.
var sizedFuncs = func() (set uint64) {
	for f := range event.FuncCount {
		if f.Sized() {
			set |= 1 << f
		}
	}
	return set
}()

// plain settles the first rows of list as long as they are simple, adds them up in b, and returns their number.
func (l *Ledger) plain(list []event.Row, b *event.Batch) int {
	if l.waits.ops > 0 || len(list) == 0 {
		return 0
	}
	t := l.live
	last := max(l.written, l.seen)
	latest := l.latest.dense
	allocs, total := l.allocs, t.bytes
	n := 0
	for ; n < len(list); n++ {
		p := &list[n]
		addr, now, thread := p.Addr, int64(p.Time), p.Thread
		if now < last || now > maxBorn || addr == 0 || p.Kind > event.RowFree || int(thread) >= len(latest) {
			break // also for a thread's first deallocation
		}
		h := hash(addr)
		g := &t.segs[h>>(64-segmentBits)]
		slots := g.slots
		i := home(h, addr, len(slots))
		var s *slot
		for {
			s = &slots[i]
			if s.key == 0 || s.key>>16 == addr {
				break
			}
			if i++; i == len(slots) {
				i = 0
			}
		}
		if p.Kind == event.RowAlloc {
			if s.key != 0 || p.Size >= bigSize || g.count >= g.limit {
				break
			}
			s.key = addr<<16 | uint64(thread&0xffff)
			s.ref = (allocs&refMask)<<16 | uint64(thread>>16)
			s.born = uint64(now)<<howBits | uint64(p.Func&howFunc)
			s.size = uint64(p.Stack)<<32 | p.Size
			allocs++
			latest[thread] = allocs
			g.count++
			total += p.Size
			last = now
			continue
		}
		key, ref, born, size := s.key, s.ref, s.born, s.size
		if key == 0 || ref&(inRealloc|sampled|silent) != 0 || size&bigSize == bigSize ||
			together[p.Func&howFunc]>>(born&howFunc)&1 == 0 ||
			sizedFuncs>>(p.Func&howFunc)&1 != 0 && uint8(size) != uint8(p.Ref) {
			break
		}
		p.Size = size & bigSize
		p.Stack = uint32(size >> 32)
		p.Ref = ref >> 16
		p.Born = born >> howBits
		p.BornBy = uint32(key&0xffff) | uint32(ref&0xffff)<<16
		p.Kind = event.RowFree
		if latest[thread] == ref>>16+1 {
			p.Kind = event.RowTemporary
		}
		total -= size & bigSize
		g.count--
		last = now
		if next := i + 1; next < len(slots) && slots[next].key == 0 {
			*s = slot{}
		} else {
			g.shift(i)
		}
	}
	if n > 0 {
		if l.known != nil { // which only add reads
			for i := range list[:n] {
				if list[i].Kind == event.RowAlloc {
					l.known.add(list[i].Addr)
				}
			}
		}
		t.count += 2*(allocs-l.allocs) - uint64(n)
		b.Plain += uint64(n)
		b.Allocs += allocs - l.allocs
		b.Bytes += total - t.bytes
		l.allocs, t.bytes = allocs, total
		l.seen, l.written = last, last
		// Unless there is one thread only: the op that ends the run may be the first of the second thread.
		if l.Skew > 0 && (len(latest) > 1 || n < len(list) && list[n].Thread > 0) {
			l.remember(list[:n], last-l.Skew)
		}
	}
	return n
}

// remember notes the deallocations of list since a time, with which another thread's may be exchanged, in their order:
// recentFrees forgets the oldest.
func (l *Ledger) remember(list []event.Row, since int64) {
	k := len(list)
	for k > 0 && int64(list[k-1].Time) >= since {
		k--
	}
	for i := range list[k:] {
		if p := &list[k+i]; p.Kind != event.RowAlloc {
			l.recent.add(p.Addr, int64(p.Time), p.Thread)
		}
	}
}

// touchFrom is the number of live blocks with which the table no longer fits into a first-level cache.
const touchFrom = 1024

// fetch loads the places in the table of the addresses of list into the cache, if the table is large. The loads of a
// loop that does nothing else overlap. Those of plain do not, and few would in a loop that also computes the places.
func (l *Ledger) fetch(list []event.Row) {
	t := l.live
	if t.count < touchFrom {
		return
	}
	sum := uint64(0)
	var places [64]*slot
	for len(list) > 0 {
		n := min(len(list), len(places))
		for k := range list[:n] {
			addr := list[k].Addr
			h := hash(addr)
			slots := t.segs[h>>(64-segmentBits)].slots
			places[k%len(places)] = &slots[home(h, addr, len(slots))]
		}
		for _, s := range places[:n] {
			sum += s.key
		}
		list = list[n:]
	}
	l.fetched = sum // else the compiler would remove the loads
}

// shift empties place i and moves blocks that were displaced by it back towards their homes.
func (g *segment) shift(i int) {
	slots := g.slots
	n := len(slots)
	for j := i; ; {
		if j++; j == n {
			j = 0
		}
		k := slots[j].key
		if k == 0 {
			break
		}
		// The block at j may fill the hole at i if its home is not between them.
		d := j - home(hash(k>>16), k>>16, n)
		if d < 0 {
			d += n
		}
		e := j - i
		if e < 0 {
			e += n
		}
		if d >= e {
			slots[i] = slots[j]
			i = j
		}
	}
	slots[i] = slot{}
}
