package block

import "github.com/heaptap/heaptap/internal/recording/column"

const (
	// Quantum is the unit of times, in ns.
	Quantum = 100
	// MaxEvents is the largest number of events in a block.
	MaxEvents = 1 << 18
)

// Head is the head of an events block. It is enough to find the block of a moment or of an allocation.
type Head struct {
	Events     uint64 // in this block
	FirstEvent uint64 // number of the first one in the recording
	Allocs     uint64
	FirstAlloc uint64
	Begin      uint64 // time of the first event, in units
	End        uint64 // of the last one
	Live       int64  // requested bytes live before the block
	LiveCount  int64
	Peak       int64 // largest number of live bytes within the block
	Threads    uint64
	Stacks     uint64
	shapes     uint64
	flags      uint64
}

// Head.flags.
const (
	headAddresses = 1 // addresses are stored
	headChanges   = 2 // the changes at each stack are stored
)

// HasAddresses reports whether the block has the addresses of its events.
func (h *Head) HasAddresses() bool { return h.flags&headAddresses != 0 }

// HasChanges reports whether the block stores its changes at each stack.
func (h *Head) HasChanges() bool { return h.flags&headChanges != 0 }

// Fields lists the fields of a head, which is in its block and in the index.
func (h *Head) Fields(r *column.Row, col column.ID) {
	for _, v := range [...]*uint64{&h.Events, &h.FirstEvent, &h.Allocs, &h.FirstAlloc, &h.Begin} {
		r.Uint(col, v)
	}
	r.Offset(col, &h.End, h.Begin)
	for _, v := range [...]*int64{&h.Live, &h.LiveCount, &h.Peak} {
		r.Int(col, v)
	}
	for _, v := range [...]*uint64{&h.Threads, &h.Stacks, &h.shapes, &h.flags} {
		r.Uint(col, v)
	}
}
