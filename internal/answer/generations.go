package answer

import "github.com/heaptap/heaptap/internal/query"

// Generations say how much of what was allocated in each interval of a range is live at some moments.
type Generations struct {
	Head
	MomentsNS []int64      `json:"moments_ns"`
	Events    []uint64     `json:"events"` // before each moment
	Rows      []Generation `json:"rows"`
	Bytes     []uint64     `json:"kept_bytes"` // of all rows together, at each moment
	Blocks    []uint64     `json:"kept_blocks"`
}

// Generation is what was allocated in one interval. Its lists have an entry for each moment.
type Generation struct {
	FromNS     int64    `json:"from_ns"`
	ToNS       int64    `json:"to_ns"`
	FromEvents uint64   `json:"from_events"` // before the interval
	ToEvents   uint64   `json:"to_events"`   // before its end
	Bytes      []uint64 `json:"kept_bytes"`
	Blocks     []uint64 `json:"kept_blocks"`
}

// NewGenerations makes the answer.
func NewGenerations(s *query.Source, g *query.Generations) *Generations {
	j := &Generations{Head: newHead(s, &g.Answer), MomentsNS: g.Moments.Times, Events: g.Moments.Cuts,
		Rows: make([]Generation, len(g.Rows))}
	j.Bytes, j.Blocks = amounts(g.Together)
	for i, row := range g.Rows {
		j.Rows[i] = Generation{FromNS: g.Births.Times[i], ToNS: g.Births.Times[i+1], FromEvents: g.Births.Cuts[i],
			ToEvents: g.Births.Cuts[i+1]}
		j.Rows[i].Bytes, j.Rows[i].Blocks = amounts(row)
	}
	return j
}

func amounts(list []query.Amount) (bytes, blocks []uint64) {
	for _, x := range list {
		bytes, blocks = append(bytes, x.Bytes), append(blocks, x.Blocks)
	}
	return bytes, blocks
}
