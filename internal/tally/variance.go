package tally

import (
	"math"

	"github.com/heaptap/heaptap/internal/event"
)

// Variances are those of estimates, by what is estimated: the squares of their standard errors. What was recorded
// exactly adds nothing.
type Variances struct {
	Samples                   uint64 // allocations that were chosen at random
	Allocations, Bytes        float64
	Deallocations, FreedBytes float64
	LeakedBlocks, LeakedBytes float64
	PeakBlocks, PeakBytes     float64 // live at the peak
	LiveBlocks, LiveBytes     float64 // live at another moment
	KeptBlocks, KeptBytes     float64 // allocated in a range and live at that moment
	ZeroSize, Reallocations   float64
	Slack                     float64
}

// Count adds an allocation or a deallocation.
func (v *Variances) Count(e *event.Event) {
	n, b := e.Variance()
	if e.Kind == event.Free {
		v.Deallocations += n
		v.FreedBytes += b
		return
	}
	v.Samples++
	v.Allocations += n
	v.Bytes += b
	if e.Size == 0 {
		v.ZeroSize += n
	}
	if e.Flags&event.Realloc != 0 {
		v.Reallocations += n
	}
	if e.Flags&event.HasUsable != 0 && e.Usable >= e.Size {
		slack := float64(e.Usable - e.Size)
		v.Slack += n * slack * slack
	}
}

// Move adds a block to what is live, or takes it away: blocks and bytes are two fields of a Variances.
func Move(e *event.Event, blocks, bytes *float64) {
	n, b := e.Variance()
	if e.Kind == event.Free {
		n, b = -n, -b
	}
	*blocks += n
	*bytes += b
}

// Plus returns the sum of both, of which either may be nil; neither is changed.
func (v *Variances) Plus(o *Variances) *Variances {
	if v == nil || o == nil {
		if v == nil {
			return o
		}
		return v
	}
	return &Variances{v.Samples + o.Samples, v.Allocations + o.Allocations, v.Bytes + o.Bytes,
		v.Deallocations + o.Deallocations,
		v.FreedBytes + o.FreedBytes, v.LeakedBlocks + o.LeakedBlocks, v.LeakedBytes + o.LeakedBytes, v.PeakBlocks +
			o.PeakBlocks,
		v.PeakBytes + o.PeakBytes, v.LiveBlocks + o.LiveBlocks, v.LiveBytes + o.LiveBytes,
		v.KeptBlocks + o.KeptBlocks, v.KeptBytes + o.KeptBytes, v.ZeroSize + o.ZeroSize,
		v.Reallocations + o.Reallocations, v.Slack + o.Slack}
}

// StandardError is the square root of a variance. What was taken away again may leave a rounding error below 0.
func StandardError(variance float64) float64 { return math.Sqrt(max(variance, 0)) }
