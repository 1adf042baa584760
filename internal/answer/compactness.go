package answer

import "github.com/heaptap/heaptap/internal/query"

// Compactness says how densely live blocks fill the pages that they lie on. All blocks of the process count; filters
// select those that are named in pins. The total has what is selected.
type Compactness struct {
	Head
	AtNS      int64        `json:"at_ns"`
	AtPeak    bool         `json:"at_peak"`
	Live      Count        `json:"live"`        // requested
	Slack     uint64       `json:"slack_bytes"` // as far as the allocator told
	Headers   uint64       `json:"headers_bytes"`
	Pages     Occupancy    `json:"pages"`
	HugePages Occupancy    `json:"huge_pages"`
	Classes   []SizeAmount `json:"size_classes"`
	Holes     []SizeAmount `json:"holes"`
	Largest   uint64       `json:"largest_hole_bytes"`
	Empty     uint64       `json:"empty_pages"` // on which blocks were once
	HighLive  HighWater    `json:"high_live"`   // when most bytes were live, up to the moment
	HighPages HighWater    `json:"high_pages"`  // when most pages were in use
	Pins      []Pin        `json:"pins"`        // those with most empty bytes first
	More      int          `json:"more"`        // pins beyond the limit
	Steps     []PageMoment `json:"steps"`
	Physical  *Physical    `json:"physical"` // null: it was not recorded which pages are in memory
	Derived   []string     `json:"derived"`  // fields that follow from where blocks are; the others were recorded
}

// Occupancy says how many bytes live blocks have of each page that they are on.
type Occupancy struct {
	Size   uint64   `json:"page_bytes"`
	InUse  uint64   `json:"in_use"` // pages
	Min    uint64   `json:"min_bytes"`
	Mean   float64  `json:"mean_bytes"`
	Max    uint64   `json:"max_bytes"`
	Tenths []uint64 `json:"tenths"` // pages that are filled up to 10 %, 20 %, ...
}

// Physical says how densely live blocks fill the pages in memory, of mappings in which blocks are or once were.
type Physical struct {
	ReadNS    int64    `json:"read_ns"`   // when the pages were read
	SameLive  bool     `json:"same_live"` // the same blocks were live then
	PageBytes uint64   `json:"page_bytes"`
	Pages     uint64   `json:"pages"`       // in memory
	Empty     uint64   `json:"empty_pages"` // of these: without a live block
	Min       uint64   `json:"min_bytes"`   // live on a page
	Mean      float64  `json:"mean_bytes"`
	Max       uint64   `json:"max_bytes"`
	Tenths    []uint64 `json:"tenths"`        // pages that are filled up to 10 %, 20 %, ...
	Absent    uint64   `json:"absent_bytes"`  // live on pages that are not in memory
	Unknown   uint64   `json:"unknown_bytes"` // live where it was not looked at
	Readings  uint64   `json:"readings"`      // of the whole run
	PeriodNS  int64    `json:"period_ns"`     // mean time between two of them; 0: there is one
	CostNS    int64    `json:"cost_ns"`       // mean time of a processor that one took
}

// SizeAmount is what there is of some sizes.
type SizeAmount struct {
	Bounds
	Blocks uint64 `json:"count"`
	Bytes  uint64 `json:"bytes"`
	Slack  uint64 `json:"slack_bytes"`
}

// HighWater is a moment at which something was at its most.
type HighWater struct {
	TimeNS int64  `json:"time_ns"`
	Live   uint64 `json:"live_bytes"`
	InUse  uint64 `json:"pages_in_use"`
}

// PageMoment is how many pages are in use at a moment.
type PageMoment struct {
	TimeNS     int64  `json:"time_ns"`
	Events     uint64 `json:"events"`
	LiveBytes  uint64 `json:"live_bytes"`
	LiveBlocks uint64 `json:"live_blocks"`
	InUse      uint64 `json:"pages_in_use"`
	HugeInUse  uint64 `json:"huge_pages_in_use"`
	// InMemory counts as Physical.Pages does, at the latest reading until then; null: there is none.
	InMemory *uint64 `json:"pages_in_memory"`
}

// Pin is a call stack whose blocks keep nearly empty pages in use.
type Pin struct {
	Group     Group  `json:"group"`
	Pages     Pinned `json:"pages"`
	HugePages Pinned `json:"huge_pages"`
	Blocks    uint64 `json:"blocks"` // on the pages of 4 KiB
	Bytes     uint64 `json:"bytes"`  // of these blocks on these pages
	MeanAge   uint64 `json:"mean_age_ns"`
	Oldest    uint64 `json:"oldest_age_ns"`
	// The function that the user can change.
	Function string `json:"function"`
	File     string `json:"file"`
	Line     uint32 `json:"line"`
	Module   string `json:"module"`
}

// Pinned is what a call stack pins.
type Pinned struct {
	Pages    uint64 `json:"pinned"`
	Released uint64 `json:"released_bytes"` // without its blocks
	Empty    uint64 `json:"empty_bytes"`    // of these: on which no block is
}

// NewCompactness makes the answer.
func NewCompactness(s *query.Source, c *query.Compactness, page Page) *Compactness {
	list, more := Cut(page, c.Pins)
	t := newFrameTable(c.Shown(s), stacksOf(nil, len(list), func(i int) *query.Group { return &list[i].Group }))
	j := &Compactness{Head: newHead(s, &c.Answer), AtNS: c.AtTime, AtPeak: c.AtPeak,
		Live: Count{c.Live.Blocks, c.Live.Bytes}, Slack: c.Slack, Headers: c.Headers, Pages: newOccupancy(&c.Pages),
		HugePages: newOccupancy(&c.HugePages), Classes: newSizeAmounts(c.Classes), Holes: newSizeAmounts(c.Holes),
		Largest: c.Largest, Empty: c.Empty, HighLive: newHighWater(&c.HighLive), HighPages: newHighWater(&c.HighPages),
		Pins: []Pin{}, More: more, Steps: []PageMoment{},
		Derived: []string{"headers_bytes", "holes", "largest_hole_bytes", "empty_pages", "pins.pages.released_bytes",
			"pins.huge_pages.released_bytes"}}
	if p := c.Physical; p != nil {
		o := newOccupancy(&p.Pages)
		j.Physical = &Physical{p.Time, p.Exact, o.Size, o.InUse, p.Empty, o.Min, o.Mean, o.Max, o.Tenths, p.Absent,
			p.Unknown, p.Readings, p.Period, p.Cost}
	}
	j.Frames = t.rows()
	for i := range list {
		p := &list[i]
		x := Pin{Group: newGroup(s, &p.Group, t), Pages: Pinned(p.Small), HugePages: Pinned(p.Huge), Blocks: p.Blocks,
			Bytes: p.Bytes, MeanAge: p.AgeSum / max(p.Blocks, 1), Oldest: p.Oldest}
		x.Function, x.File, x.Line, x.Module = changeable(s, p.Stack)
		j.Pins = append(j.Pins, x)
	}
	for i := range c.Steps {
		m := &c.Steps[i]
		j.Steps = append(j.Steps, PageMoment{m.Time, m.Cut, m.Live.Bytes, m.Live.Blocks, m.InUse, m.HugeInUse,
			m.InMemory})
	}
	return j
}

func newOccupancy(o *query.Occupancy) Occupancy {
	return Occupancy{o.Size, o.InUse, o.Min, float64(o.Bytes) / float64(max(o.InUse, 1)), o.Max, o.Tenths[:]}
}

func newSizeAmounts(list []query.SizeAmount) []SizeAmount {
	out := []SizeAmount{}
	for _, x := range list {
		lo, hi := query.SizeClass(x.Class)
		out = append(out, SizeAmount{Bounds{lo, hi}, x.Blocks, x.Bytes, x.Slack})
	}
	return out
}

func newHighWater(h *query.HighWater) HighWater { return HighWater{h.Time, h.Live, h.InUse} }
