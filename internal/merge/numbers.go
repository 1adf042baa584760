package merge

import "github.com/heaptap/heaptap/internal/tally"

// Numbers are another tool's numbers for a call stack; unknown ones are 0. They are raised to what the known ones
// imply: live bytes were allocated, were live at the peak, and are at least one block.
type Numbers struct {
	Allocations, Bytes        uint64
	Live, LiveBlocks          uint64 // at the end
	Peak, PeakBlocks          uint64 // live at the process's peak, if PeakKnown is set
	PeakKnown                 bool
	OwnPeak                   uint64
	Temporary, TemporaryBytes uint64
}

// Stack returns the sums of a stack with these numbers.
func (n Numbers) Stack() *tally.Stack {
	if !n.PeakKnown {
		n.Peak, n.PeakBlocks = n.Live, n.LiveBlocks
	}
	least := func(blocks *uint64, bytes uint64) {
		if bytes > 0 {
			*blocks = max(*blocks, 1)
		}
	}
	least(&n.LiveBlocks, n.Live)
	least(&n.PeakBlocks, n.Peak)
	n.Bytes = max(n.Bytes, n.Live, n.Peak, n.OwnPeak)
	least(&n.Allocations, n.Bytes)
	n.Allocations = max(n.Allocations, n.LiveBlocks, n.PeakBlocks)
	s := &tally.Stack{OwnPeakBytes: max(n.OwnPeak, n.Live, n.Peak), LiveAtPeakBytes: n.Peak,
		LiveAtPeakBlocks: n.PeakBlocks}
	s.Allocations, s.Bytes = n.Allocations, n.Bytes
	s.Deallocations, s.FreedBytes = n.Allocations-n.LiveBlocks, n.Bytes-n.Live
	s.Temporary, s.TemporaryBytes = min(n.Temporary, s.Deallocations), min(n.TemporaryBytes, s.FreedBytes)
	return s
}
