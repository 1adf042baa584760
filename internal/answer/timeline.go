package answer

import "github.com/heaptap/heaptap/internal/query"

// Timeline is how live memory developed. Resident has an entry for each step, the other lists have one more, for
// the beginning.
type Timeline struct {
	Head
	TimesNS  []int64       `json:"times_ns"`
	Events   []uint64      `json:"events"`
	Top      []uint64      `json:"most_live_bytes"`
	Resident []float64     `json:"resident_bytes"`
	All      TimelineRow   `json:"all"`
	Rows     []TimelineRow `json:"rows"`
	Rest     TimelineRow   `json:"rest"`
	Marks    []Mark        `json:"marks"` // of the range
}

// TimelineRow is the development of a group.
type TimelineRow struct {
	Group         *Group   `json:"group,omitempty"`
	Live          []uint64 `json:"live_bytes"`
	LiveBlocks    []uint64 `json:"live_blocks"`
	Allocations   []uint64 `json:"allocations"`
	Bytes         []uint64 `json:"bytes"`
	Deallocations []uint64 `json:"deallocations"`
}

// NewTimeline makes the answer.
func NewTimeline(s *query.Source, t *query.Series) *Timeline {
	j := &Timeline{Head: newHead(s, &t.Answer), TimesNS: t.Times, Events: t.Cuts, Top: t.Top,
		All: newTimelineRow(&t.All), Rest: newTimelineRow(&t.Rest), Rows: []TimelineRow{}, Resident: []float64{}}
	if rss, ok := t.Resident(s); ok {
		j.Resident = rss
	}
	frames := newFrameTable(s.Profile, stacksOf(nil, len(t.Rows), func(i int) *query.Group { return &t.Rows[i].Group }))
	j.Frames = frames.rows()
	for i := range t.Rows {
		r := newTimelineRow(&t.Rows[i])
		g := newGroup(s, &t.Rows[i].Group, frames)
		r.Group = &g
		j.Rows = append(j.Rows, r)
	}
	j.Metrics, j.Total = []Metric{}, Values{}
	j.Marks = newMarks(t.Marks(s))
	return j
}

func newTimelineRow(r *query.SeriesRow) TimelineRow {
	var j TimelineRow
	for i := range r.Points {
		p := &r.Points[i]
		j.Live, j.LiveBlocks = append(j.Live, p.Live), append(j.LiveBlocks, p.LiveBlocks)
		j.Allocations, j.Bytes = append(j.Allocations, p.Allocations), append(j.Bytes, p.Bytes)
		j.Deallocations = append(j.Deallocations, p.Deallocations)
	}
	return j
}
