package ledger

import (
	"math/bits"

	"github.com/heaptap/heaptap/internal/event"
)

// Most ops are simple: an allocation at an address that is free, a deallocation of a block that is live, nothing waits and
// the clock goes on. Born and Died settle these in some twenty nanoseconds and decline all others, which then take the
// way of Add. What both do is the same.

// Hash is what Born, Died and Fetch need to know of an address besides the address. A caller computes it once, and well
// ahead.
func Hash(addr uint64) uint64 { return hash(addr) }

// Far says whether the table is too large for the caches, so that Fetch pays.
func (l *Ledger) Far() bool { return l.live.count >= touchFrom }

// Fetch brings what Born or Died will need near: the place of an address and the one behind it, which may be in another line of the
// cache. The loads of a tight loop over the addresses to come overlap; those of as many Borns do not. It returns a meaningless number,
// which the caller adds up, so that the loads are not optimised away.
func (l *Ledger) Fetch(h uint64) uint64 {
	slots := l.live.segs[h>>(64-segmentBits)].slots
	i := home(h, len(slots))
	return slots[i].key + slots[min(i+1, len(slots)-1)].key
}

// Born adds a block that f allocated at addr, whose hash is h. It returns false, and does nothing, if the op is not a
// simple one.
func (l *Ledger) Born(h, addr, size uint64, f event.Func, stack, thread uint32, now int64) bool {
	t := l.live
	g := &t.segs[h>>(64-segmentBits)]
	if now < l.written || now < l.seen || now > maxBorn || addr == 0 || size >= bigSize || l.waits.ops > 0 || g.count >= g.limit {
		return false
	}
	slots := g.slots
	i := home(h, len(slots))
	for {
		k := slots[i].key
		if k == 0 {
			break
		}
		if k>>16 == addr {
			return false
		}
		if i++; i == len(slots) {
			i = 0
		}
	}
	s := &slots[i]
	ref := l.allocs
	s.key = addr<<16 | uint64(thread&0xffff)
	s.ref = (ref&refMask)<<16 | uint64(thread>>16)
	s.born = uint64(now)<<howBits | uint64(f)
	s.size = uint64(stack)<<32 | size
	l.allocs++
	g.count++
	t.count++
	t.bytes += size
	l.seen, l.written = now, now
	if l.known != nil {
		l.known.add(addr)
	}
	if int(thread) < len(l.latest.dense) {
		l.latest.dense[thread] = ref + 1
	} else {
		l.latest.grow(thread, ref)
	}
	return true
}

// Died ends the block at addr, whose hash is h, and returns it; temporary says that it was the thread's latest allocation.
// The block is valid until the next call. It returns nil, and does nothing, if the op is not a simple one.
func (l *Ledger) Died(h, addr uint64, thread uint32, now int64) (b *Block, temporary bool) {
	t := l.live
	g := &t.segs[h>>(64-segmentBits)]
	if now < l.written || now < l.seen || l.waits.ops > 0 {
		return nil, false
	}
	slots := g.slots
	i := home(h, len(slots))
	var s *slot
	for {
		s = &slots[i]
		k := s.key
		if k>>16 == addr {
			break
		}
		if k == 0 {
			return nil, false
		}
		if i++; i == len(slots) {
			i = 0
		}
	}
	key, ref, size := s.key, s.ref, s.size
	if ref&(inRealloc|sampled|silent) != 0 || size&bigSize == bigSize || key == 0 {
		return nil, false
	}
	b = &l.ending
	b.Addr = addr
	b.Size = size & bigSize
	b.Stack = uint32(size >> 32)
	b.Thread = uint32(key&0xffff) | uint32(ref&0xffff)<<16
	b.Ref = ref >> 16
	b.Born = int64(s.born >> howBits)
	b.Func = event.Func(s.born & howFunc)
	b.Sampled = false
	l.seen, l.written = now, now
	t.bytes -= b.Size
	t.count--
	g.count--
	shift(slots, i)
	return b, int(thread) < len(l.latest.dense) && l.latest.dense[thread] == b.Ref+1
}

// shift empties place i and moves blocks that were displaced by it back towards their homes.
func shift(slots []slot, i int) {
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
		hi, _ := bits.Mul64(hash(k>>16)<<segmentBits, uint64(n))
		d := j - int(hi)
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
