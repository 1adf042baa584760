package query

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/heaptap/heaptap/internal/tally"
)

// Metric is a number that groups have. docs/queries.md defines the metrics.
type Metric uint8

// The metrics.
const (
	Allocations    Metric = iota
	Bytes                 // requested by the allocations
	Deallocations         // within the range, whenever the blocks were allocated
	FreedBytes            //
	Live                  // bytes live at the query's cut
	LiveBlocks            //
	Peak                  // bytes live at the peak of the process within the range
	PeakBlocks            //
	OwnPeak               // most bytes of the group that were live at one moment of the range
	Leaked                // bytes allocated in the range and still live when the recording ends
	LeakedBlocks          //
	Kept                  // bytes allocated in the range and live at the query's cut
	KeptBlocks            //
	Temporary             // deallocations of temporary allocations
	TemporaryBytes        //
	ZeroSize              // allocations of 0 bytes
	MinSize               // of the allocations
	MeanSize              //
	MaxSize               //
	Recycling             // bytes allocated divided by own peak: how often the same memory could have been reused
	Slack                 // usable minus requested bytes
	Reallocations         // allocations that are part of a realloc of a live block
	Copied                // bytes that reallocations had to copy because the block moved
	MinLifetime           // of the blocks that were freed within the range
	MeanLifetime          //
	MaxLifetime           //
	Churn                 // bytes allocated per second of the range
	Time                  // wall-clock time since the thread's previous allocation
	Depth                 // frames of the deepest call stack of the allocations
	Mapped                // bytes that the program mapped itself; see Query.MappingsKnown
	MappedPeak            // of these, mapped when most was
	MappedResident        // of these, in memory in the largest resident set that was read
	metricCount
)

// Unit is what a metric counts.
type Unit uint8

// The units.
const (
	Count Unit = iota
	ByteCount
	Nanoseconds
	Ratio
	BytesPerSecond
)

var unitNames = [...]string{"count", "bytes", "ns", "ratio", "bytes/s"}

func (u Unit) String() string { return unitNames[u] }

// metricInfo describes a metric. A metric that neither the tally nor summaries have is counted from events.
type metricInfo struct {
	name      string // as flags and JSON spell it
	unit      Unit
	text      string // description for help
	tally     bool   // the tally of the whole run has it
	summaries bool   // summaries have it for any range
	sums      bool   // values of disjoint groups can be added
	of        func(*Values) uint64
}

var metricTable = [metricCount]metricInfo{
	Allocations: {"allocations", Count, "allocations", true, true, true,
		func(v *Values) uint64 { return v.Allocations }},
	Bytes: {"bytes", ByteCount, "bytes allocated", true, true, true,
		func(v *Values) uint64 { return v.Bytes }},
	Deallocations: {"deallocations", Count, "deallocations of blocks allocated there", true, true, true,
		func(v *Values) uint64 { return v.Deallocations }},
	FreedBytes: {"freed", ByteCount, "bytes freed", true, true, true,
		func(v *Values) uint64 { return v.FreedBytes }},
	Live: {"live", ByteCount, "bytes live at --at", true, true, true,
		func(v *Values) uint64 { return v.LiveBytes }},
	LiveBlocks: {"live-blocks", Count, "blocks live at --at", true, true, true,
		func(v *Values) uint64 { return v.LiveBlocks }},
	Peak: {"peak", ByteCount, "bytes live at the process's peak", true, true, true,
		func(v *Values) uint64 { return v.PeakBytes }},
	PeakBlocks: {"peak-blocks", Count, "blocks live at the process's peak", true, true, true,
		func(v *Values) uint64 { return v.PeakBlocks }},
	OwnPeak: {"own-peak", ByteCount, "most bytes that were live at one moment", true, true, false,
		func(v *Values) uint64 { return v.OwnPeak }},
	Leaked: {"leaked", ByteCount, "bytes allocated and never freed", true, true, true,
		func(v *Values) uint64 { return v.LeakedBytes }},
	LeakedBlocks: {"leaked-blocks", Count, "blocks allocated and never freed", true, true, true,
		func(v *Values) uint64 { return v.LeakedBlocks }},
	Kept: {"kept", ByteCount, "bytes allocated in the range and live at --at", true, true, true,
		func(v *Values) uint64 { return v.KeptBytes }},
	KeptBlocks: {"kept-blocks", Count, "blocks allocated in the range and live at --at", true, true, true,
		func(v *Values) uint64 { return v.KeptBlocks }},
	Temporary: {"temporary", Count, "temporary allocations", true, true, true,
		func(v *Values) uint64 { return v.Temporary }},
	TemporaryBytes: {"temporary-bytes", ByteCount, "bytes of temporary allocations", true, false, true,
		func(v *Values) uint64 { return v.TemporaryBytes }},
	ZeroSize: {"zero-size", Count, "allocations of 0 bytes", true, false, true,
		func(v *Values) uint64 { return v.ZeroSize }},
	MinSize: {"min-size", ByteCount, "smallest allocation", true, false, false,
		func(v *Values) uint64 { return v.MinSize }},
	MeanSize: {"mean-size", ByteCount, "mean allocation", true, true, false, (*Values).meanSize},
	MaxSize: {"max-size", ByteCount, "largest allocation", true, false, false,
		func(v *Values) uint64 { return v.MaxSize }},
	Recycling: {"recycling", Ratio, "bytes allocated over own peak", true, true, false, nil},
	Slack: {"slack", ByteCount, "usable minus requested bytes", true, false, true,
		func(v *Values) uint64 { return v.Slack }},
	Reallocations: {"reallocations", Count, "reallocations of live blocks", true, false, true,
		func(v *Values) uint64 { return v.Reallocations }},
	Copied: {"copied", ByteCount, "bytes that reallocations copied", false, false, true,
		func(v *Values) uint64 { return v.Copied }},
	MinLifetime: {"min-lifetime", Nanoseconds, "shortest lifetime", false, false, false,
		func(v *Values) uint64 { return v.MinLifetime }},
	MeanLifetime: {"mean-lifetime", Nanoseconds, "mean lifetime", true, false, false, (*Values).meanLifetime},
	MaxLifetime: {"max-lifetime", Nanoseconds, "longest lifetime", false, false, false,
		func(v *Values) uint64 { return v.MaxLifetime }},
	Churn: {"churn", BytesPerSecond, "bytes allocated per second", true, true, true, nil},
	Time: {"time", Nanoseconds, "time since the thread's allocation before", false, false, true,
		func(v *Values) uint64 { return v.Time }},
	Depth: {"depth", Count, "frames of the deepest call stack that allocated", true, true, false,
		func(v *Values) uint64 { return v.Depth }},
	Mapped: {"mapped", ByteCount, "bytes that the program mapped itself (mmap)", true, true, true,
		func(v *Values) uint64 { return v.Mapped }},
	MappedPeak: {"mapped-peak", ByteCount, "of these, mapped when most were", true, true, true,
		func(v *Values) uint64 { return v.MappedPeak }},
	MappedResident: {"mapped-resident", ByteCount, "of these, in the largest resident set", true, true, true,
		func(v *Values) uint64 { return v.MappedResident }},
}

func (m Metric) String() string {
	if m < metricCount {
		return metricTable[m].name
	}
	return fmt.Sprintf("Metric(%d)", uint8(m))
}

// Unit returns what the metric counts.
func (m Metric) Unit() Unit { return metricTable[m].unit }

// Text describes the metric in a few words.
func (m Metric) Text() string { return metricTable[m].text }

// Sums reports whether the metric's selves sum up to the whole, so that shares of it make sense.
func (m Metric) Sums() bool { return metricTable[m].sums }

// Metrics returns all metrics.
func Metrics() []Metric {
	list := make([]Metric, metricCount)
	for i := range list {
		list[i] = Metric(i)
	}
	return list
}

// ParseMetric returns the metric of that name.
func ParseMetric(name string) (Metric, bool) {
	i := slices.IndexFunc(metricTable[:], func(m metricInfo) bool { return m.name == name })
	return Metric(max(i, 0)), i >= 0
}

// Integer returns the metric's value; false if it is a quotient.
func (m Metric) Integer(v *Values) (uint64, bool) {
	if f := metricTable[m].of; f != nil {
		return f(v), true
	}
	return 0, false
}

// Of returns the metric's value. span is the length of the query's range in ns (Answer.Span).
func (m Metric) Of(v *Values, span int64) float64 {
	if n, ok := m.Integer(v); ok {
		return float64(n)
	}
	switch {
	case m == Recycling && v.OwnPeak > 0:
		return float64(v.Bytes) / float64(v.OwnPeak)
	case m == Churn && span > 0:
		return float64(v.Bytes) / (float64(span) / 1e9)
	}
	return 0
}

// compare compares two values of the metric.
func (m Metric) compare(a, b *Values) int {
	if n, ok := m.Integer(a); ok {
		k, _ := m.Integer(b)
		return cmp.Compare(n, k)
	}
	return cmp.Compare(m.Of(a, 1e9), m.Of(b, 1e9))
}

// Values are the sums of a group. Only what the query's metrics need is set.
type Values struct {
	Allocations, Bytes, ZeroSize   uint64
	MinSize, MaxSize               uint64 // 0 if there is no allocation
	Slack, SlackCount              uint64 // SlackCount: allocations whose usable size is known
	Reallocations, InPlace, Copied uint64
	Time                           uint64 // ns
	Depth                          uint64 // 0 if there is no allocation
	Deallocations, FreedBytes      uint64
	Temporary, TemporaryBytes      uint64
	Lifetime                       tally.Sum // of the Deallocations that are not Untimed, ns
	Untimed                        uint64    // Deallocations without a known lifetime
	MinLifetime, MaxLifetime       uint64    // 0 if there is no deallocation
	LiveBytes, LiveBlocks          uint64
	PeakBytes, PeakBlocks          uint64
	LeakedBytes, LeakedBlocks      uint64
	KeptBytes, KeptBlocks          uint64
	OwnPeak                        uint64
	Mapped, MappedPeak             uint64
	MappedResident                 uint64
	// Variances are those of the estimates of a sampled recording; nil: the values are exact. They may be shared: see
	// Add.
	Variances *tally.Variances
	// Margins are those of an estimate from some blocks of events; nil: there are none.
	Margins *Margins
}

func (v *Values) meanSize() uint64 {
	if v.Allocations == 0 {
		return 0
	}
	return v.Bytes / v.Allocations
}

func (v *Values) meanLifetime() uint64 {
	return uint64(v.Lifetime.Mean(v.Deallocations - min(v.Untimed, v.Deallocations)))
}

// Add adds the sums of other blocks. Own peaks are not added: they may have been at different moments.
func (v *Values) Add(o *Values) {
	if o.Allocations > 0 {
		if v.Allocations == 0 || o.MinSize < v.MinSize {
			v.MinSize = o.MinSize
		}
		v.MaxSize = max(v.MaxSize, o.MaxSize)
		v.Depth = max(v.Depth, o.Depth)
	}
	if o.Deallocations > 0 {
		if v.Deallocations == 0 || o.MinLifetime < v.MinLifetime {
			v.MinLifetime = o.MinLifetime
		}
		v.MaxLifetime = max(v.MaxLifetime, o.MaxLifetime)
	}
	v.Allocations += o.Allocations
	v.Bytes += o.Bytes
	v.ZeroSize += o.ZeroSize
	v.Slack += o.Slack
	v.SlackCount += o.SlackCount
	v.Reallocations += o.Reallocations
	v.InPlace += o.InPlace
	v.Copied += o.Copied
	v.Time += o.Time
	v.Deallocations += o.Deallocations
	v.FreedBytes += o.FreedBytes
	v.Temporary += o.Temporary
	v.TemporaryBytes += o.TemporaryBytes
	var carry uint64
	v.Lifetime.Lo, carry = bits.Add64(v.Lifetime.Lo, o.Lifetime.Lo, 0)
	v.Lifetime.Hi += o.Lifetime.Hi + carry
	v.Untimed += o.Untimed
	v.LiveBytes += o.LiveBytes
	v.LiveBlocks += o.LiveBlocks
	v.PeakBytes += o.PeakBytes
	v.PeakBlocks += o.PeakBlocks
	v.LeakedBytes += o.LeakedBytes
	v.LeakedBlocks += o.LeakedBlocks
	v.KeptBytes += o.KeptBytes
	v.KeptBlocks += o.KeptBlocks
	v.Mapped += o.Mapped
	v.MappedPeak += o.MappedPeak
	v.MappedResident += o.MappedResident
	v.Variances = v.Variances.Plus(o.Variances)
}

// Numbers are the numbers of v: those that add up, and the others. A mean lifetime is made of a wider sum, which is not
// among them.
func (v *Values) Numbers() (sums, others []*uint64) {
	sums = []*uint64{&v.Allocations, &v.Bytes, &v.ZeroSize, &v.Slack, &v.SlackCount, &v.Reallocations, &v.InPlace,
		&v.Copied, &v.Time, &v.Deallocations, &v.FreedBytes, &v.Temporary, &v.TemporaryBytes, &v.Untimed, &v.LiveBytes,
		&v.LiveBlocks, &v.PeakBytes, &v.PeakBlocks, &v.LeakedBytes, &v.LeakedBlocks, &v.KeptBytes, &v.KeptBlocks,
		&v.Mapped, &v.MappedPeak, &v.MappedResident}
	return sums, []*uint64{&v.MinSize, &v.MaxSize, &v.Depth, &v.MinLifetime, &v.MaxLifetime, &v.OwnPeak}
}

// empty reports whether nothing was counted.
func (v *Values) empty() bool { return *v == Values{} }
