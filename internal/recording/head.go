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

// fields are those of a head: its block's own, or one of the index's.
func (h *eventsHead) fields(r *column.Row, col column.ID) {
	for _, v := range [...]*uint64{&h.events, &h.firstEvent, &h.allocs, &h.firstAlloc, &h.begin} {
		r.Uint(col, v)
	}
	r.Offset(col, &h.end, h.begin)
	for _, v := range [...]*int64{&h.live, &h.liveCount, &h.peak} {
		r.Int(col, v)
	}
	for _, v := range [...]*uint64{&h.threads, &h.stacks, &h.shapes, &h.flags} {
		r.Uint(col, v)
	}
}
