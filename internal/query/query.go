package query

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/heaptap/heaptap/internal/profile"
)

// Query is a question about a recording. The zero Query asks about all of it.
type Query struct {
	Range *Range  // the events that count; nil: all
	At    *uint64 // the cut for live metrics; nil: the end of the range

	// Which blocks count. A block belongs to the thread that allocated it.
	Processes []int     // by process id; nil: all
	Threads   []uint32  // indexes into the recording's threads; nil: all
	FreedBy   []uint32  // indexes of the threads that freed them; nil: all. A block that was never freed does not count
	Sizes     *Interval // requested bytes; nil: all
	// Lifetimes are in ns; nil: all. A block that was never freed matches only an interval without upper bound,
	// and is alone in one from Unbounded on.
	Lifetimes *Interval
	// OldSizes are the requested bytes of the block that realloc made a block of; nil: all, and also blocks that
	// realloc did not make.
	OldSizes *Interval
	// Regions are patterns with *, for regions in which the block's thread was when it allocated the block; see
	// Source.CheckRegions. nil: all
	Regions []string

	// Which call stacks count. Patterns are searched for in the names of functions, files and modules.
	Modules []string         // stacks with a frame in one of these; see matchModule. nil: all
	Focus   []*regexp.Regexp // stacks with, for each of these, a frame that matches; at most MaxPatterns
	Ignore  []*regexp.Regexp // except those with a frame that matches one of these
	Hide    *regexp.Regexp   // frames that are removed from the stacks; their callers get their values

	// Runtime counts what the runtime keeps as leaked, too, instead of in Answer.Runtime.
	Runtime bool

	// Rough is by how many ns the ends of the range, and At, may move, so that an atlas can answer at once; see
	// Source.UseAtlas and Source.Pixel. 0: not at all. The answer says how they moved (Answer.Rough). It is exact where
	// they would move farther, or the atlas lacks what is needed.
	Rough int64

	// Estimate allows tables and trees to be estimated from some of the range's blocks of events, where an answer would
	// need them all and take long, and all metrics are Estimable; nil: not. The answer says whether it is one
	// (Answer.Estimate). Other questions are answered exactly.
	Estimate *Sample

	By      By
	Names   Names    // names by which groups are distinguished; nil: their own
	Metrics []Metric // the first one sorts. nil: Bytes

	// Progress is called now and then while events are decoded, with the number of those done and of all; nil: not
	// wanted. It is not part of the question.
	Progress func(done, total uint64)
}

// Names gives frames and threads other names than their own, so that the groups of two recordings can be compared.
// Filters still see their own names.
type Names interface {
	Frames(pc uint32) []profile.Frame // as many as there are at the pc, in the same order
	Thread(index uint32) uint32
}

// Range is a range of events: those after the cut From and before the cut To.
type Range struct{ From, To uint64 }

// Interval is a range of numbers, both ends included.
type Interval struct{ Min, Max uint64 }

// Unbounded is the Max of an interval without upper bound.
const Unbounded = math.MaxUint64

// Has reports whether n is in the interval. A nil interval contains everything.
func (i *Interval) Has(n uint64) bool { return i == nil || i.Min <= n && n <= i.Max }

// By is a grouping of stacks or blocks.
type By uint8

// The groupings. Those up to ByStack group frames, the others blocks.
const (
	ByFunction By = iota // and module
	ByLine
	ByAddress
	ByFile
	ByModule
	ByStack      // whole call stacks; those with the same text are one
	ByThread     // that allocated
	BySizeClass  // powers of two: 0, 1, 2-3, 4-7, ...
	ByAllocation // the function that was called: malloc, operator new, ...
	ByRegion     // the regions that the allocating thread was in, with their numbers
	ByRegionName // the same, with all regions of one name together
	byCount
)

var byNames = [byCount]string{"function", "line", "address", "file", "module", "stack", "thread", "size", "allocator",
	"region", "region-name"}

func (b By) String() string {
	if b < byCount {
		return byNames[b]
	}
	return fmt.Sprintf("By(%d)", uint8(b))
}

// ParseBy returns the grouping of that name.
func ParseBy(name string) (By, bool) {
	i := slices.Index(byNames[:], name)
	return By(max(i, 0)), i >= 0
}

// Groupings returns the names of all groupings.
func Groupings() []string { return slices.Clone(byNames[:]) }

// ofRegions reports whether groups are regions, which nest.
func (b By) ofRegions() bool { return b == ByRegion || b == ByRegionName }

// Nests reports whether a group may contain another one, so that self and total differ.
func (b By) Nests() bool { return b < ByStack || b.ofRegions() }

// ofBlocks reports whether the grouping needs to know each block.
func (b By) ofBlocks() bool { return b >= ByThread }

func (q *Query) metrics() []Metric {
	if len(q.Metrics) == 0 {
		return []Metric{Bytes}
	}
	return q.Metrics
}

func (q *Query) wants(list ...Metric) bool {
	return slices.ContainsFunc(q.metrics(), func(m Metric) bool { return slices.Contains(list, m) })
}

// Selects reports whether the query has filters other than the range: not all blocks count.
func (q *Query) Selects() bool {
	return q.filtersBlocks() || q.Focus != nil || q.Ignore != nil || q.Modules != nil || q.Processes != nil
}

// filtersBlocks reports whether the query selects some blocks of a stack and not others.
func (q *Query) filtersBlocks() bool {
	return q.Threads != nil || q.Sizes != nil || q.Regions != nil || q.filtersPairs()
}

// filtersPairs reports whether the query selects blocks by events other than their allocation: how they end, or what
// realloc made them of.
func (q *Query) filtersPairs() bool { return q.filtersEnds() || q.OldSizes != nil }

// filtersEnds reports whether the query selects blocks by how they end.
func (q *Query) filtersEnds() bool { return q.Lifetimes != nil || q.FreedBy != nil }
