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
	Sampled  Sampled       `json:"sampled"`
}

// Sampled is what the kernel said of the process and the system. Each list has an entry for each step, or none if the
// recording has no such samples.
type Sampled struct {
	Resident     []int64 `json:"resident_bytes"`
	Proportional []int64 `json:"proportional_bytes"`
	Swapped      []int64 `json:"swapped_bytes"`
	Mapped       []int64 `json:"mapped_bytes"`
	Threads      []int64 `json:"threads"`
	MinorFaults  []int64 `json:"minor_faults"` // in the step
	MajorFaults  []int64 `json:"major_faults"` // in the step; these had to read from disk
	Available    []int64 `json:"system_available_bytes"`
	Cached       []int64 `json:"system_cached_bytes"`
}

func newSampled(x *query.ProcessSamples) Sampled {
	return Sampled{orNone(x.Resident), orNone(x.Proportional), orNone(x.Swapped), orNone(x.Mapped),
		orNone(x.Threads), orNone(x.MinorFaults), orNone(x.MajorFaults), orNone(x.SystemAvailable),
		orNone(x.SystemCached)}
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
	stacks := stacksOf(nil, len(t.Rows), func(i int) *query.Group { return &t.Rows[i].Group })
	frames := newFrameTable(t.Shown(s), stacks)
	j.Frames = frames.rows()
	for i := range t.Rows {
		r := newTimelineRow(&t.Rows[i])
		g := newGroup(s, &t.Rows[i].Group, frames)
		r.Group = &g
		j.Rows = append(j.Rows, r)
	}
	j.Metrics, j.Total = []Metric{}, Values{}
	j.Marks = newMarks(t.Marks(s))
	samples := t.Samples(s)
	j.Sampled = newSampled(&samples)
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

// ProcessTimeline is how the memory of the whole process developed. Lists of what the kernel said have an entry for
// each step, or none if the recording has no such samples; the others have one more, for the beginning.
type ProcessTimeline struct {
	Head
	TimesNS       []int64  `json:"times_ns"`
	Events        []uint64 `json:"events"`
	Live          []uint64 `json:"live_bytes"`
	LiveBlocks    []uint64 `json:"live_blocks"`
	Most          []uint64 `json:"most_live_bytes"`
	Fewest        []uint64 `json:"fewest_live_bytes"`
	Allocations   []uint64 `json:"allocations"`
	Bytes         []uint64 `json:"bytes"`
	Deallocations []uint64 `json:"deallocations"`
	Exact         []bool   `json:"exact"` // of each step: fewest_live_bytes and bytes are; else they are bounds
	Resident      []int64  `json:"resident_bytes"`
	Proportional  []int64  `json:"proportional_bytes"`
	Swapped       []int64  `json:"swapped_bytes"`
	Mapped        []int64  `json:"mapped_bytes"`
	Threads       []int64  `json:"threads"`
	Marks         []Mark   `json:"marks"` // of the range
	// Regions are those that have time in common with the range, by their beginnings; of many, the longest.
	Regions []RegionSpan `json:"regions"`
}

// RegionSpan is one time that a thread was in a region. Depth is the number of regions around it.
type RegionSpan struct {
	Region  string `json:"region"`
	Depth   int    `json:"depth"`
	BeginNS int64  `json:"begin_ns"`
	EndNS   int64  `json:"end_ns"`
}

// NewProcessTimeline makes the answer.
func NewProcessTimeline(s *query.Source, t *query.ProcessTimeline) *ProcessTimeline {
	j := &ProcessTimeline{Head: newHead(s, &t.Answer), TimesNS: t.Times, Events: t.Cuts, Live: t.Live,
		LiveBlocks: t.Blocks, Most: t.Most, Fewest: t.Least, Allocations: t.Allocations, Bytes: t.Bytes,
		Deallocations: t.Deallocations, Exact: t.Exact, Resident: orNone(t.Samples.Resident),
		Proportional: orNone(t.Samples.Proportional), Swapped: orNone(t.Samples.Swapped),
		Mapped: orNone(t.Samples.Mapped), Threads: orNone(t.Samples.Threads),
		Marks: newMarks(t.Marks, t.MarkNames), Regions: make([]RegionSpan, len(t.Regions))}
	for i, r := range t.Regions {
		j.Regions[i] = RegionSpan{r.Title, r.Depth, r.Begin, r.End}
	}
	j.Rough = t.Rough
	j.Metrics, j.Total = []Metric{}, Values{}
	return j
}

func orNone(list []int64) []int64 {
	if list == nil {
		return []int64{}
	}
	return list
}
