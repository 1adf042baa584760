package query

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// RegionTable says what threads did in their regions.
type RegionTable struct {
	Answer
	Rows []RegionRow // in the order in which the regions were entered
}

// RegionRow is one time that a thread was in a region: what the thread did there, including regions within it. Blocks
// that the query selects count, wherever they were allocated.
type RegionRow struct {
	Title      string // the name with its numbers
	Name       string
	Thread     uint32
	Depth      int // number of regions around it
	Begin, End int64
	Open       bool // it was never left
	RegionCounts
	Over RegionOver
}

// RegionLimits are the most that a region may allocate and request without being reported.
type RegionLimits struct{ Allocations, Requested uint64 }

// RegionOver are the call stacks of the first allocations beyond RegionLimits; 0: none.
type RegionOver struct{ Allocations, Requested uint32 }

// RegionCounts counts what a thread did between two moments. A realloc counts as a deallocation and an allocation.
// Usable bytes are what the allocator reserved, or, if that is not known, the requested bytes.
type RegionCounts struct {
	Allocations, Deallocations uint64
	Requested                  uint64 // bytes of the allocations
	Allocated, Deallocated     uint64 // usable bytes
	Highest, Lowest            int64  // of allocated minus deallocated, which begins at 0
	Largest                    uint64 // usable bytes of the largest allocation
	HighestStack, LargestStack uint32 // of the allocations that made these
}

// Added returns the change in live usable bytes.
func (c *RegionCounts) Added() int64 { return int64(c.Allocated - c.Deallocated) }

// observe counts an event of a block with that many bytes of slack.
func (c *RegionCounts) observe(e *event.Event, slack uint64) {
	n, bytes := e.Weight()
	usable := bytes + n*slack
	if e.Kind == event.Free {
		c.Deallocations += n
		c.Deallocated += usable
		c.Lowest = min(c.Lowest, c.Added())
		return
	}
	c.Allocations += n
	c.Requested += bytes
	c.Allocated += usable
	if c.Added() > c.Highest {
		c.Highest, c.HighestStack = c.Added(), e.Stack
	}
	if one := e.Size + slack; one > c.Largest {
		c.Largest, c.LargestStack = one, e.Stack
	}
}

// follow adds the counts of a later time.
func (c *RegionCounts) follow(next *RegionCounts) {
	if high := c.Added() + next.Highest; high > c.Highest {
		c.Highest, c.HighestStack = high, next.HighestStack
	}
	if next.Largest > c.Largest {
		c.Largest, c.LargestStack = next.Largest, next.LargestStack
	}
	c.Lowest = min(c.Lowest, c.Added()+next.Lowest)
	c.Allocations += next.Allocations
	c.Deallocations += next.Deallocations
	c.Requested += next.Requested
	c.Allocated += next.Allocated
	c.Deallocated += next.Deallocated
}

// Regions answers with each region that a thread was in at some time of the query's range and that matches the query's
// Regions. Other filters apply to blocks and stacks.
func Regions(ctx context.Context, s *Source, q *Query) (*RegionTable, error) {
	return RegionsWithin(ctx, s, q, nil)
}

// RegionsWithin answers like Regions, and with the allocations that exceeded limits; nil: no limits.
func RegionsWithin(ctx context.Context, s *Source, q *Query, limits *RegionLimits) (*RegionTable, error) {
	one := *q
	one.Regions = nil
	w := newRegionWalk(s)
	w.limits = limits
	a, err := Events(ctx, s, &one, func(n, ref uint64, e *event.Event) error {
		if w.upTo(n); e.Kind <= event.Free {
			w.observe(n, e, ref)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	w.upTo(a.To)
	w.finish()
	t := &RegionTable{Answer: *a}
	for i := range w.rows {
		r := &w.rows[i]
		if r.Open {
			r.End = s.Profile.Duration
		}
		p := regionPath{title: r.Title, name: r.Name}
		if r.End >= a.Begin && r.Begin <= a.Begin+a.Span &&
			(q.Regions == nil || slices.ContainsFunc(q.Regions, p.matches)) {
			t.Rows = append(t.Rows, *r)
		}
	}
	return t, nil
}

// regionWalk follows the regions of all threads through the events.
type regionWalk struct {
	notes   []event.RegionNote // not yet reached
	rows    []RegionRow
	around  []int             // by row: the row of the region around it; -1: none
	at      map[uint32]int    // by thread: the row of the innermost region, plus 1
	slack   map[uint64]uint64 // of live blocks that have slack, by allocation
	earlier earlier[int]
	late    lateEvent     // the latest one
	limits  *RegionLimits // nil: nothing is compared
}

// lateEvent is an event that was settled late, and the row to which it belongs, plus 1.
type lateEvent struct {
	set    bool
	number uint64
	thread uint32
	row    int
}

func newRegionWalk(s *Source) *regionWalk {
	notes := s.Reader.Regions()
	return &regionWalk{notes: notes, at: make(map[uint32]int), slack: make(map[uint64]uint64),
		earlier: newEarlier[int](notes)}
}

// row returns the row of the innermost region in which a thread was at event n; -1: none.
func (w *regionWalk) row(n uint64, thread uint32) int {
	if l := &w.late; l.set && l.number == n && l.thread == thread {
		return l.row - 1
	}
	return w.at[thread] - 1
}

// observe counts event n in the innermost region of its thread, and in those around it that have been left already.
func (w *regionWalk) observe(n uint64, e *event.Event, ref uint64) {
	slack := w.slack[ref]
	if e.Kind == event.Free {
		delete(w.slack, ref)
	} else if e.Flags&event.HasUsable != 0 && e.Usable > e.Size {
		slack = e.Usable - e.Size
		w.slack[ref] = slack
	}
	i := w.row(n, e.Thread)
	if i < 0 {
		return
	}
	w.rows[i].observe(e, slack)
	for j := i; !w.rows[j].Open && w.around[j] >= 0; {
		j = w.around[j]
		w.rows[j].observe(e, slack)
	}
	if w.limits != nil && e.Kind == event.Alloc {
		w.compare(i, e.Thread, e.Stack)
	}
}

// compare notes in which of the regions from row i outwards a thread's allocation was the first beyond the limits.
func (w *regionWalk) compare(i int, thread, stack uint32) {
	for j := i; j >= 0 && !w.rows[j].Open; j = w.around[j] {
		r := &w.rows[j]
		r.exceed(r.Allocations, r.Requested, w.limits, stack)
	}
	var sum RegionLimits // of a region and those within it that are still open, whose counts it does not include yet
	for j := w.at[thread] - 1; j >= 0; j = w.around[j] {
		r := &w.rows[j]
		sum.Allocations += r.Allocations
		sum.Requested += r.Requested
		if j <= i { // regions entered later do not contain an event that was settled late
			r.exceed(sum.Allocations, sum.Requested, w.limits, stack)
		}
	}
}

// exceed notes the call stack of the allocation by which a region reached these sums, if it was the first beyond a
// limit.
func (r *RegionRow) exceed(allocations, requested uint64, limits *RegionLimits, stack uint32) {
	if r.Over.Allocations == 0 && allocations > limits.Allocations {
		r.Over.Allocations = stack
	}
	if r.Over.Requested == 0 && requested > limits.Requested {
		r.Over.Requested = stack
	}
}

// upTo applies the notes before event n. A region that is left is added to the one around it.
func (w *regionWalk) upTo(n uint64) {
	for len(w.notes) > 0 && w.notes[0].Event <= n {
		note := &w.notes[0]
		w.notes = w.notes[1:]
		at := w.at[note.Thread]
		if note.Late != event.NotLate {
			w.late = lateEvent{true, note.Event, note.Thread, w.earlier.of(note, at)}
			continue
		}
		w.earlier.leave(note.Thread, at)
		if note.Leaves == 0 {
			r := RegionRow{Title: note.Title(), Name: note.Name, Thread: note.Thread, Begin: note.Time, Open: true}
			if at > 0 {
				r.Depth = w.rows[at-1].Depth + 1
			}
			w.rows, w.around = append(w.rows, r), append(w.around, at-1)
			w.at[note.Thread] = len(w.rows)
			continue
		}
		for left := note.Leaves; left > 0 && at > 0; left-- {
			r := &w.rows[at-1]
			r.End, r.Open = note.Time, false
			if around := w.around[at-1]; around >= 0 {
				w.rows[around].follow(&r.RegionCounts)
			}
			at = w.around[at-1] + 1
		}
		w.at[note.Thread] = at
	}
}

// finish adds regions that were never left to those around them.
func (w *regionWalk) finish() {
	for i := len(w.rows) - 1; i >= 0; i-- { // inner regions have higher indexes
		if r := &w.rows[i]; r.Open && w.around[i] >= 0 {
			w.rows[w.around[i]].follow(&r.RegionCounts)
		}
	}
}

// RegionSpan is one time that a thread was in a region. It costs no events, unlike what was allocated there.
type RegionSpan struct {
	Title      string // the name with its numbers
	Depth      int    // number of regions around it
	Begin, End int64
}

// regionSpans returns all of them, in the order in which the regions were entered.
func (s *Source) regionSpans() []RegionSpan {
	s.spansOnce.Do(func() {
		w := newRegionWalk(s)
		w.upTo(math.MaxUint64)
		for i := range w.rows {
			r := &w.rows[i]
			if r.Open {
				r.End = s.Profile.Duration
			}
			s.spansMade = append(s.spansMade, RegionSpan{r.Title, r.Depth, r.Begin, r.End})
		}
	})
	return s.spansMade
}

// longestRegions returns the spans that have time in common with a range, in the order in which they began; at most n,
// the longest.
func (s *Source) longestRegions(begin, end int64, n int) []RegionSpan {
	var list []RegionSpan
	for _, r := range s.regionSpans() {
		if r.End >= begin && r.Begin <= end {
			list = append(list, r)
		}
	}
	if len(list) <= n {
		return list
	}
	slices.SortStableFunc(list, func(a, b RegionSpan) int { return cmp.Compare(b.End-b.Begin, a.End-a.Begin) })
	list = list[:n]
	slices.SortStableFunc(list, func(a, b RegionSpan) int { return cmp.Compare(a.Begin, b.Begin) })
	return list
}
