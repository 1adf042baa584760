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
	Marks     bool         `json:"marks"`   // the rows are the spans between marks
	Repeats   []Repeat     `json:"repeats"` // then: what every repeat left behind, that with most bytes first
}

// Repeat is a call stack that left equally many blocks behind in each of some consecutive rows.
type Repeat struct {
	Group    Group  `json:"group"`
	FirstRow int    `json:"first_row"` // from 0
	RowCount int    `json:"row_count"`
	AtNS     int64  `json:"at_ns"` // when the blocks are live: at the end of the range, or at the last mark
	AtEvents uint64 `json:"at_events"`
	Blocks   uint64 `json:"blocks"` // of each row
	Bytes    uint64 `json:"bytes"`  // of each row, on average
	// The function that the user can change.
	Function string `json:"function"`
	File     string `json:"file"`
	Line     uint32 `json:"line"`
	Module   string `json:"module"`
}

// Generation is what was allocated in one interval. Its lists have an entry for each moment.
type Generation struct {
	FromNS     int64    `json:"from_ns"`
	ToNS       int64    `json:"to_ns"`
	FromEvents uint64   `json:"from_events"` // before the interval
	ToEvents   uint64   `json:"to_events"`   // before its end
	FromMark   string   `json:"from_mark"`   // the mark at which it begins, as --from takes it; empty: none
	ToMark     string   `json:"to_mark"`
	BornBytes  uint64   `json:"allocated_bytes"` // in the interval, freed or not
	BornBlocks uint64   `json:"allocated_blocks"`
	Bytes      []uint64 `json:"kept_bytes"`
	Blocks     []uint64 `json:"kept_blocks"`
}

// NewGenerations makes the answer.
func NewGenerations(s *query.Source, g *query.Generations) *Generations {
	j := &Generations{Head: newHead(s, &g.Answer), MomentsNS: g.Moments.Times, Events: g.Moments.Cuts,
		Rows: make([]Generation, len(g.Rows)), Marks: g.Marks, Repeats: []Repeat{}}
	j.Bytes, j.Blocks = amounts(g.Together)
	for i, row := range g.Rows {
		j.Rows[i] = Generation{FromNS: g.Births.Times[i], ToNS: g.Births.Times[i+1], FromEvents: g.Births.Cuts[i],
			ToEvents: g.Births.Cuts[i+1], BornBytes: g.Born[i].Bytes, BornBlocks: g.Born[i].Blocks}
		j.Rows[i].Bytes, j.Rows[i].Blocks = amounts(row)
		if g.Marks {
			j.Rows[i].FromMark, j.Rows[i].ToMark = g.Births.Marks[i], g.Births.Marks[i+1]
		}
	}
	t := newFrameTable(g.Shown(s), stacksOf(nil, len(g.Repeats),
		func(i int) *query.Group { return &g.Repeats[i].Group }))
	j.Frames = t.rows()
	for i := range g.Repeats {
		x := &g.Repeats[i]
		r := Repeat{Group: newGroup(s, &x.Group, t), FirstRow: x.First, RowCount: x.Rows, AtNS: g.Births.Times[x.At],
			AtEvents: g.Births.Cuts[x.At], Blocks: x.Blocks, Bytes: x.Bytes}
		r.Function, r.File, r.Line, r.Module = changeable(s, x.Stack)
		j.Repeats = append(j.Repeats, r)
	}
	return j
}

func amounts(list []query.Amount) (bytes, blocks []uint64) {
	for _, x := range list {
		bytes, blocks = append(bytes, x.Bytes), append(blocks, x.Blocks)
	}
	return bytes, blocks
}
