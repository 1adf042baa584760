package recording

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

func (h *eventsHead) encode(p *payload) {
	p.uint(h.events)
	p.uint(h.firstEvent)
	p.uint(h.allocs)
	p.uint(h.firstAlloc)
	p.uint(h.begin)
	p.uint(h.end - h.begin)
	p.uint(zigzag(h.live))
	p.uint(zigzag(h.liveCount))
	p.uint(zigzag(h.peak))
	p.uint(h.threads)
	p.uint(h.stacks)
	p.uint(h.shapes)
	p.uint(h.flags)
}

func (h *eventsHead) decode(c *cursor) {
	h.events, h.firstEvent, h.allocs, h.firstAlloc = c.uint(), c.uint(), c.uint(), c.uint()
	h.begin = c.uint()
	h.end = h.begin + c.uint()
	h.live, h.liveCount, h.peak = c.int(), c.int(), c.int()
	h.threads, h.stacks, h.shapes, h.flags = c.uint(), c.uint(), c.uint(), c.uint()
}
