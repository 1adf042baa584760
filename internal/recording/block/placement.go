package block

import (
	"encoding/binary"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// placement predicts the addresses of blocks. An allocator mostly reuses a freed block of the same size class, the
// latest one first, or else takes the memory after the block before. Encoder and decoder each keep a placement for one
// block of events.
type placement struct {
	classes [1 << 10]sizeClass
	blocks  []placed // the allocations of the block of events
}

// placed is where a block is.
type placed struct {
	addr  uint64
	class uint32 // in classes
}

// sizeClass is the blocks whose likely usable sizes, divided by addressUnit, are the same modulo the number of classes.
type sizeClass struct {
	freed [ranks]uint64 // a ring: the latest one is before next
	next  uint8
	n     uint8
	end   uint64 // address after the block that was allocated last
}

// ranks is how many freed blocks of a size class are remembered.
const ranks = 1 << 5

// addressUnit is what most addresses are a multiple of.
const addressUnit = 16

// Codes of addresses. Those below ranks are places among the freed blocks of the class, the latest one having 0.
const (
	behindOwn    = ranks + iota // after the latest block that the thread allocated
	behindClass                 // after the latest block of the class
	unitsFromOwn                // as many addressUnit away from behindOwn as colDistance says
	bytesFromOwn                // likewise, in bytes
)

// reset begins a block of events.
func (p *placement) reset() {
	p.classes = [len(p.classes)]sizeClass{}
	p.blocks = p.blocks[:0]
}

// class returns the number of the class of blocks whose likely usable size is this.
func (p *placement) class(usable uint64) uint32 {
	return uint32(usable / addressUnit % uint64(len(p.classes)))
}

// alloc notes an allocation. It returns where its block ends.
func (p *placement) alloc(class uint32, code uint8, addr, usable uint64) (end uint64) {
	p.blocks = append(p.blocks, placed{addr, class})
	c := &p.classes[class]
	if code < ranks {
		c.take(code)
	}
	c.end = addr + (usable+addressUnit-1)&^(addressUnit-1)
	return c.end
}

// free notes that a block was freed.
func (p *placement) free(b placed) {
	c := &p.classes[b.class]
	c.freed[c.next%ranks] = b.addr
	c.next++
	c.n = min(c.n+1, ranks)
}

func (c *sizeClass) at(rank uint8) *uint64 { return &c.freed[(c.next-1-rank)%ranks] }

// take removes a freed block.
func (c *sizeClass) take(rank uint8) {
	for ; rank > 0; rank-- {
		*c.at(rank) = *c.at(rank - 1)
	}
	c.next--
	c.n--
}

// encode returns the code of an address, and its distance from own, the address after the thread's latest allocation.
func (c *sizeClass) encode(addr, own uint64) (code uint8, distance int64) {
	for rank := range c.n {
		if *c.at(rank) == addr {
			return rank, 0
		}
	}
	distance = int64(addr - own)
	switch {
	case distance == 0:
		return behindOwn, 0
	case addr == c.end:
		return behindClass, 0
	case distance%addressUnit == 0:
		return unitsFromOwn, distance / addressUnit
	}
	return bytesFromOwn, distance
}

// decode returns the address that a code stands for. If the code needs a distance, that is the next one of distances.
func (c *sizeClass) decode(code uint8, own uint64, distances *column.Cursor) (addr uint64, ok bool) {
	switch {
	case code < c.n:
		return *c.at(code), true
	case code == behindOwn:
		return own, true
	case code == behindClass:
		return c.end, true
	case code == unitsFromOwn:
		return own + uint64(distances.Int())*addressUnit, !distances.Bad
	case code == bytesFromOwn:
		return own + uint64(distances.Int()), !distances.Bad
	}
	return 0, false
}

// usable returns how many usable bytes a block of this size is likely to have.
func (s *slackTable) usable(size uint64) uint64 {
	if code := s[size%uint64(len(s))].now; code != 0 && code != wideSlack {
		return size + uint64(code) - 1
	}
	return size
}

// lies writes the address of a new block.
func (x *Encoder) lies(t *threadColumnsOf, size, addr uint64) {
	usable := x.slack.usable(size)
	class := x.place.class(usable)
	code, distance := x.place.classes[class].encode(addr, t.behind)
	t.behind = x.place.alloc(class, code, addr, usable)
	a := &t.cols[colAddr-perThread]
	*a = append(*a, code)
	if code >= unitsFromOwn {
		x.distances = binary.AppendUvarint(x.distances, column.Zigzag(distance))
	}
}

// addresses prepares to read the addresses of the block, if they are wanted.
func (x *Decoder) addresses() (err error) {
	x.place = nil
	if x.fields&Addresses == 0 {
		return nil
	}
	if x.placement == nil {
		x.placement = new(placement)
	}
	x.place = x.placement
	x.place.reset()
	x.distances, err = x.column(colDistance)
	return err
}

// lies reads the address of a new block.
func (x *Decoder) lies(t *threadCursors, e *event.Event) (ok bool) {
	usable := x.slack.usable(e.Size)
	class := x.place.class(usable)
	codes := &t.cols[colAddr-perThread]
	code := codes.Byte()
	e.Addr, ok = x.place.classes[class].decode(code, t.behind, &x.distances)
	t.behind = x.place.alloc(class, code, e.Addr, usable)
	return ok && !codes.Bad
}
