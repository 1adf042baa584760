package answer

import "github.com/heaptap/heaptap/internal/query"

// Heat has the heat maps that were asked for.
type Heat struct {
	Time     *HeatMap `json:"time,omitempty"`     // allocations by size and time
	Lifetime *HeatMap `json:"lifetime,omitempty"` // freed blocks by lifetime and size, and those that were never freed
	Reallocs *HeatMap `json:"reallocs,omitempty"` // reallocations by size before and size after; bytes are copied ones
}

// HeatMap counts blocks by two distributions at once.
type HeatMap struct {
	Down    []HeatClass `json:"down"`
	Across  []HeatClass `json:"across"`
	Counts  [][]uint64  `json:"counts"` // for each class of down those of across
	Bytes   [][]uint64  `json:"bytes"`
	InPlace [][]uint64  `json:"in_place,omitempty"` // of reallocations
}

// HeatClass is a class of sizes or lifetimes, or a step of time, whose max is where the next one begins.
type HeatClass struct {
	Bounds
	Never bool `json:"never,omitempty"` // blocks that were never freed: without bounds
}

func newHeatMap(h *query.Heat) *HeatMap {
	j := &HeatMap{Down: newHeatClasses(h.Down), Across: newHeatClasses(h.Across), Counts: [][]uint64{},
		Bytes: [][]uint64{}}
	for _, row := range h.Cells {
		counts, bytes := make([]uint64, len(row)), make([]uint64, len(row))
		for i, c := range row {
			counts[i], bytes[i] = c.Count, c.Bytes
		}
		j.Counts, j.Bytes = append(j.Counts, counts), append(j.Bytes, bytes)
	}
	return j
}

func newHeatClasses(list []query.HeatClass) []HeatClass {
	out := make([]HeatClass, len(list))
	for i, c := range list {
		out[i] = HeatClass{Bounds{c.Low, c.High}, c.Never}
	}
	return out
}

// NewHeat makes the heat maps of these kinds; see query.HeatKinds.
func NewHeat(h *query.Histogram, kinds []string) *Heat {
	j := &Heat{}
	for _, kind := range kinds {
		switch kind {
		case query.HeatTime:
			j.Time = newHeatMap(h.SizesByTime())
		case query.HeatLifetime:
			j.Lifetime = newHeatMap(h.LifetimesBySize())
		case query.HeatReallocs:
			moves := h.Reallocations()
			j.Reallocs = newHeatMap(moves)
			j.Reallocs.InPlace = [][]uint64{}
			for _, row := range moves.Cells {
				list := make([]uint64, len(row))
				for i, c := range row {
					list[i] = c.InPlace
				}
				j.Reallocs.InPlace = append(j.Reallocs.InPlace, list)
			}
		}
	}
	return j
}
