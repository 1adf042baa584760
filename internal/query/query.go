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
	At    *uint64 // the cut of what is live; nil: the end of the range

	// Which blocks count. A block belongs to the thread that allocated it.
	Processes []int     // by process id; nil: all
	Threads   []uint32  // indexes into the recording's threads; nil: all
	Sizes     *Interval // requested bytes; nil: all
	// Lifetimes are in ns; nil: all. A block that was never freed is in an interval without upper bound only.
	Lifetimes *Interval
	// Regions are patterns with *, of regions in which the block's thread was when it allocated the block; see
	// Source.CheckRegions. nil: all
	Regions []string

	// Which call stacks count. Patterns are searched for in the names of functions, files and modules.
	Modules []string       // stacks with a frame in one of these; see matchModule. nil: all
	Focus   *regexp.Regexp // stacks with a frame that matches; nil: all
	Ignore  *regexp.Regexp // but none with a frame that matches this
	Hide    *regexp.Regexp // frames that are taken out of the stacks; what was theirs is their callers'

	By      By
	Names   Names    // under which groups are told apart; nil: their own
	Metrics []Metric // what is wanted; the first one sorts. nil: Bytes

	// Progress is called now and then while events are decoded, with how many of how many; nil: not. It is not part of
	// the question.
	Progress func(done, total uint64)
}

// Names gives frames and threads other names than their own, so that the groups of two recordings can be compared.
// Filters look at their own names all the same.
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

// Has reports whether n is in the interval; a nil interval has all.
func (i *Interval) Has(n uint64) bool { return i == nil || i.Min <= n && n <= i.Max }

// By is what stacks or blocks are grouped by.
type By uint8

// The groupings. Those up to ByStack are of frames, the others of blocks.
const (
	ByFunction By = iota // and module
	ByLine
	ByAddress
	ByFile
	ByModule
	ByStack      // whole call stacks; those that read the same are one
	ByThread     // that allocated
	BySizeClass  // powers of two: 0, 1, 2-3, 4-7, ...
	ByAllocation // the function that was called: malloc, operator new, ...
	ByRegion     // the regions that the allocating thread was in, with their numbers
	ByRegionName // the same, regions of one name together
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

// Groupings are the names of all groupings.
func Groupings() []string { return slices.Clone(byNames[:]) }

// ofRegions reports whether groups are regions, which nest.
func (b By) ofRegions() bool { return b == ByRegion || b == ByRegionName }

// Nests reports whether a group may be within another one, so that self and total of its values differ.
func (b By) Nests() bool { return b < ByStack || b.ofRegions() }

// ofBlocks reports whether a grouping needs to know each block.
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

// filtersBlocks reports whether some blocks count and others of the same stack do not.
func (q *Query) filtersBlocks() bool {
	return q.Threads != nil || q.Sizes != nil || q.Lifetimes != nil || q.Regions != nil
}
