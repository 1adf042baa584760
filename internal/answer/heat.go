package answer

import "github.com/heaptap/heaptap/internal/query"

// Heat has the heat maps that were asked for.
type Heat struct {
	Time     *HeatMap `json:"time,omitempty"`     // allocations by size and time
	Lifetime *HeatMap `json:"lifetime,omitempty"` // freed blocks by lifetime and size, and those that were never freed
	Reallocs *HeatMap `json:"reallocs,omitempty"` // reallocations by size before and size after
}

// HeatMap counts blocks by two distributions at once.
type HeatMap struct {
	Down   []HeatRow   `json:"down"`
	Across []HeatClass `json:"across"`
}

// HeatClass is a class of sizes or lifetimes, or a step of time, whose max is where the next one begins.
type HeatClass struct {
	Bounds
	Never bool `json:"never,omitempty"` // blocks that were never freed: without bounds
}

// HeatRow is a class with its cells: each list has one for each class across.
type HeatRow struct {
	HeatClass
	Counts  []uint64 `json:"counts"`
	Bytes   []uint64 `json:"bytes"`              // of reallocations, copied
	InPlace []uint64 `json:"in_place,omitempty"` // of reallocations
}

// NewHeat makes the heat maps of these kinds; see query.HeatKinds.
func NewHeat(h *query.Histogram, kinds []string) *Heat {
	j := &Heat{}
	for _, kind := range kinds {
		switch kind {
		case query.HeatTime:
			j.Time = newHeatMap(h.SizesByTime(), false)
		case query.HeatLifetime:
			j.Lifetime = newHeatMap(h.LifetimesBySize(), false)
		case query.HeatReallocs:
			j.Reallocs = newHeatMap(h.Reallocations(), true)
		}
	}
	return j
}

func newHeatMap(h *query.Heat, inPlace bool) *HeatMap {
	j := &HeatMap{Down: []HeatRow{}, Across: []HeatClass{}}
	for _, c := range h.Across {
		j.Across = append(j.Across, newHeatClass(c))
	}
	for i, cells := range h.Cells {
		row := HeatRow{HeatClass: newHeatClass(h.Down[i])}
		for _, c := range cells {
			row.Counts, row.Bytes = append(row.Counts, c.Count), append(row.Bytes, c.Bytes)
			if inPlace {
				row.InPlace = append(row.InPlace, c.InPlace)
			}
		}
		j.Down = append(j.Down, row)
	}
	return j
}

func newHeatClass(c query.HeatClass) HeatClass { return HeatClass{Bounds{c.Low, c.High}, c.Never} }
