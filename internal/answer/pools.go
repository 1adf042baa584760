package answer

import "github.com/heaptap/heaptap/internal/event"

// Pool is a name of the program's own memory pools.
type Pool struct {
	Name        string `json:"name"`
	Backing     uint64 `json:"backing_bytes"`
	PeakBacking uint64 `json:"peak_backing_bytes"`
	Live        uint64 `json:"live_bytes"`
	PeakLive    uint64 `json:"peak_live_bytes"`
	Blocks      uint64 `json:"live_blocks"`
	Allocations uint64 `json:"allocations"`
	Frees       uint64 `json:"deallocations"`
	Bytes       uint64 `json:"bytes"`
}

func newPools(pools []event.Pool) []Pool {
	list := make([]Pool, len(pools))
	for i, p := range pools {
		list[i] = Pool(p)
	}
	return list
}
