package recording

import "github.com/heaptap/heaptap/internal/recording/column"

// eventsHead is the head of an events block: enough to find a moment or an allocation without unpacking anything.
type eventsHead struct {
	events     uint64 // in this block
	firstEvent uint64 // number of the first one in the recording
	allocs     uint64
	firstAlloc uint64
	begin      uint64 // time of the first event, in units
	end        uint64 // of the last one
	live       int64  // requested bytes live before the block
	liveCount  int64
	peak       int64 // largest number of live bytes within the block
	threads    uint64
	stacks     uint64
	shapes     uint64
	flags      uint64
}

// eventsHead.flags.
const (
	headAddresses = 1 // addresses are stored
	headChanges   = 2 // what the block changes, stack by stack, is stored
)

func (h *eventsHead) encode(p *column.Payload) {
	p.Uint(h.events)
	p.Uint(h.firstEvent)
	p.Uint(h.allocs)
	p.Uint(h.firstAlloc)
	p.Uint(h.begin)
	p.Uint(h.end - h.begin)
	p.Uint(column.Zigzag(h.live))
	p.Uint(column.Zigzag(h.liveCount))
	p.Uint(column.Zigzag(h.peak))
	p.Uint(h.threads)
	p.Uint(h.stacks)
	p.Uint(h.shapes)
	p.Uint(h.flags)
}

func (h *eventsHead) decode(c *column.Cursor) {
	h.events, h.firstEvent, h.allocs, h.firstAlloc = c.Uint(), c.Uint(), c.Uint(), c.Uint()
	h.begin = c.Uint()
	h.end = h.begin + c.Uint()
	h.live, h.liveCount, h.peak = c.Int(), c.Int(), c.Int()
	h.threads, h.stacks, h.shapes, h.flags = c.Uint(), c.Uint(), c.Uint(), c.Uint()
}
