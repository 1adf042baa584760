package ledger

import (
	"github.com/heaptap/heaptap/internal/event"
)

// The table of live blocks: open addressing with linear probing and backward shift on removal, in segments by the top
// bits of the hash. A position is the hash scaled to the capacity, so that capacities need not be powers of two. A
// segment grows by half when it is half full: the load is between 1/3 and 1/2, and a block costs 64 to 96 bytes. The
// first capacities of the segments are spread over a factor of one and a half, and growth keeps that, so that no two
// segments grow together. The longest stall is the growth of one segment, and the mean cost of a block is about 79
// bytes, however many there are.
const (
	segmentBits = 7
	segments    = 1 << segmentBits
	firstSlots  = 128 // of the first segment; the last has half as many again. With fewer, small programs collide

	addrBits = 48
	addrMask = 1<<addrBits - 1
	refMask  = 1<<45 - 1
	bigSize  = 1<<32 - 1 // the size is in table.big
)

// slot is one place of the table: a Block in 32 bytes, two to a cache line. All zero: empty.
type slot struct {
	key  uint64 // address << 16 | low half of thread
	ref  uint64 // inRealloc, sampled, silent, number of the allocation << 16, high half of thread
	born uint64 // time << howBits | how
	size uint64 // stack << 32 | size
}

// How a block was allocated is a byte: the function, and one bit that is free.
const (
	howBits = 8
	howFunc = 1<<6 - 1
	// maxBorn is the latest time of birth that a slot can hold: 228 years in units of 100 ns.
	maxBorn = 1<<(64-howBits) - 1
)

// bornIn packs a time of birth and how the block was allocated.
func bornIn(now int64, how event.Func) uint64 {
	return uint64(min(max(now, 0), maxBorn))<<howBits | uint64(how&howFunc)
}

const (
	inRealloc = 1 << 63 // a realloc of the block has begun
	sampled   = 1 << 62 // see Block.Sampled
	silent    = 1 << 61 // no block: its memory serves a pool
)

type segment struct {
	slots  []slot  // noSlots before the first block
	region *region // that slots lie in, or nil
	count  int
	limit  int
}

// noSlots are the slots of every segment that has had no block. Nobody writes to them.
var noSlots [groupMask + 1]slot

type table struct {
	segs  [segments]segment
	arena arena
	big   map[uint64]uint64 // sizes that a slot cannot hold, by address
	count uint64
	bytes uint64 // sum of sizes
}

func newTable() *table {
	t := &table{}
	for i := range t.segs {
		t.segs[i].slots = noSlots[:]
	}
	return t
}

// first returns how many slots a segment begins with. Most processes of a build or a script have few blocks: a segment
// gets its slots with the first one.
func (t *table) first(g *segment) int {
	for i := range t.segs {
		if &t.segs[i] == g {
			return firstSlots + firstSlots*i/(2*segments)
		}
	}
	return firstSlots // not reached
}

// Allocators give out neighbouring addresses one after the other, and programs free them in much the same order. So
// the hash scatters groups of addresses, not addresses: those within 256 bytes of the target have homes side by side,
// one for each 32 bytes, and share cache lines. Larger groups would share more, but two full groups that collide cause
// long searches. The lowest bits, zero in what malloc returns, choose the group, too, so that a group has 16 addresses
// at most, whatever a program's pools do.
const (
	groupShift = 8
	grainShift = 5
	inGroup    = 1<<groupShift - 1<<4 // the bits of an address that do not choose its group
	groupMask  = 1<<(groupShift-grainShift) - 1
)

// hash scatters the groups of addresses: multiples of the golden ratio (Knuth, volume 3) put neighbouring groups far
// apart, and more evenly than chance would.
func hash(addr uint64) uint64 { return addr &^ inGroup * 0x9e3779b97f4a7c15 }

// home is the position, of n, where the search for an address begins, whose hash is h.
func home(h, addr uint64, n int) int {
	return int(h<<segmentBits>>32*uint64(n-groupMask)>>32 + addr>>grainShift&groupMask)
}

// find returns the place of an address, or the empty place where it belongs.
func (t *table) find(addr uint64) (g *segment, i int, ok bool) {
	h := hash(addr)
	g = &t.segs[h>>(64-segmentBits)]
	slots := g.slots
	for i = home(h, addr, len(slots)); i < len(slots); i++ {
		k := slots[i].key
		if k>>16 == addr {
			return g, i, k != 0
		}
		if k == 0 {
			return g, i, false
		}
	}
	for i = range slots { // wrapped around
		k := slots[i].key
		if k>>16 == addr {
			return g, i, k != 0
		}
		if k == 0 {
			return g, i, false
		}
	}
	return g, 0, false // not reached: a segment is at most half full
}

// set writes the block that op allocated into the empty place that find returned for its address.
func (t *table) set(g *segment, i int, addr uint64, op *Op, ref uint64, born int64) {
	if g.count >= g.limit {
		t.grow(g)
		g, i, _ = t.find(addr)
	}
	g.count++
	t.count++
	size := op.Size
	t.bytes += size
	if size >= bigSize {
		if t.big == nil {
			t.big = make(map[uint64]uint64)
		}
		t.big[addr] = size
		size = bigSize
	}
	s := &g.slots[i]
	s.key = addr<<16 | uint64(op.Thread&0xffff)
	s.ref = (ref&refMask)<<16 | uint64(op.Thread>>16)
	if op.Sampled {
		s.ref |= sampled
	}
	s.born = bornIn(born, op.Func)
	s.size = uint64(op.Stack)<<32 | size
}

// get unpacks the block at a place into b.
func (t *table) get(g *segment, i int, b *Block) {
	s := &g.slots[i]
	key, ref, size := s.key, s.ref, s.size
	b.Addr = key >> 16
	b.Size = size & bigSize
	b.Stack = uint32(size >> 32)
	b.Thread = uint32(key&0xffff) | uint32(ref&0xffff)<<16
	b.Ref = ref >> 16 & refMask
	b.Born, b.Func = int64(s.born>>howBits), event.Func(s.born&howFunc)
	b.Sampled = ref&sampled != 0
	if b.Size == bigSize {
		b.Size = t.big[b.Addr]
	}
}

// remove empties a place whose block get returned in b.
func (t *table) remove(g *segment, i int, b *Block) {
	t.bytes -= b.Size
	if b.Size >= bigSize {
		delete(t.big, b.Addr)
	}
	t.count--
	g.count--
	g.shift(i)
}

// release gives the memory back and leaves an empty table.
func (t *table) release() {
	for i := range t.segs {
		t.arena.drop(t.segs[i].region)
	}
	if r := t.arena.last; r != nil {
		r.unmap()
	}
	*t = *newTable()
}

func (t *table) grow(g *segment) {
	old := g.slots
	n := len(old) + len(old)/2
	if g.limit == 0 {
		n = t.first(g)
	}
	slots, region := t.arena.slots(n)
	for k := range old {
		key := old[k].key
		if key == 0 {
			continue
		}
		i := home(hash(key>>16), key>>16, n)
		for slots[i].key != 0 {
			if i++; i == n {
				i = 0
			}
		}
		slots[i] = old[k]
	}
	t.arena.drop(g.region)
	g.slots, g.region, g.limit = slots, region, n/2
}
