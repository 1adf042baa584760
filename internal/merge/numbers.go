package merge

import "github.com/heaptap/heaptap/internal/tally"

// Numbers are what another tool tells of a call stack; what it does not tell is 0. They are taken for as much as what
// is told implies: what is live was allocated, was live at the peak, and is one block at least.
type Numbers struct {
	Allocations, Bytes        uint64
	Live, LiveBlocks          uint64 // at the end
	Peak, PeakBlocks          uint64 // live at the process's peak, if PeakTold
	PeakTold                  bool
	OwnPeak                   uint64
	Temporary, TemporaryBytes uint64
}

// Stack is what a stack with these numbers sums up to.
func (n Numbers) Stack() *tally.Stack {
	if !n.PeakTold {
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
