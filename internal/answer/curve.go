package answer

import "github.com/heaptap/heaptap/internal/query"

// Curve is how what a query selects developed over the whole run, in the steps of an atlas. Its lists have an entry for
// each step, and one for the beginning before them.
type Curve struct {
	FormatVersion int       `json:"format_version"`
	Recording     Recording `json:"recording"`
	TimesNS       []int64   `json:"times_ns"`
	Events        []uint64  `json:"events"`
	Top           []uint64  `json:"most_live_bytes"`
	Live          []uint64  `json:"live_bytes"`
	LiveBlocks    []uint64  `json:"live_blocks"`
	Allocations   []uint64  `json:"allocations"`
	Bytes         []uint64  `json:"bytes"`
	Deallocations []uint64  `json:"deallocations"`
}

// NewCurve makes the answer.
func NewCurve(s *query.Source, c *query.Curve) *Curve {
	return &Curve{Version, NewRecording(s.Profile), c.Times, c.Cuts, c.Most, c.Live, c.Blocks, c.Allocations, c.Bytes,
		c.Deallocations}
}
