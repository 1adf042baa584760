package answer

import (
	"math"

	"github.com/heaptap/heaptap/internal/query"
)

// Hist is the distributions of sizes and lifetimes.
type Hist struct {
	Head
	Sizes         []Bucket        `json:"sizes"`
	Exact         []Size          `json:"exact"`
	MoreSizes     int             `json:"more_sizes"`
	OtherSizes    uint64          `json:"other_sizes"`
	Lifetimes     []Bucket        `json:"lifetimes_ns"`
	NeverFreed    Count           `json:"never_freed"`
	Live          []Bucket        `json:"live"` // what the range allocated and is live at its end, by size
	Percentiles   []Percentile    `json:"percentiles"`
	Reallocs      Reallocations   `json:"reallocations"`
	Slack         []Slack         `json:"slack"`
	Deallocations uint64          `json:"deallocations"`
	Allocations   uint64          `json:"allocations"`
	Times         []SizesStep     `json:"sizes_by_time"`
	Ages          []SizeLifetimes `json:"lifetimes_by_size"`
	Heat          *Heat           `json:"heat,omitempty"`
	Margins       *HistMargins    `json:"margins,omitempty"`
}

// HistMargins are by how much the counts of an estimate may be off, in the order of the classes: half the width of the
// interval that has the true value in it in 95 of 100 cases. -1: not known.
type HistMargins struct {
	Sizes     []float64 `json:"sizes"`
	Lifetimes []float64 `json:"lifetimes_ns"`
}

func newHistMargins(h *query.Histogram) *HistMargins {
	if h.Margins == nil {
		return nil
	}
	of := func(list []query.Bucket, margins []float64) []float64 {
		out := []float64{}
		for class, b := range list {
			switch m := margins[class]; {
			case b.Count == 0:
			case math.IsNaN(m):
				out = append(out, -1)
			default:
				out = append(out, m)
			}
		}
		return out
	}
	return &HistMargins{of(h.Sizes[:], h.Margins.Sizes[:]), of(h.Lifetimes[:], h.Margins.Lifetimes[:])}
}

// Percentile is the size that a share of the allocations does not exceed.
type Percentile struct {
	Percent float64 `json:"percent"`
	Size    uint64  `json:"size"`
}

// percents are those that are asked for most.
var percents = []float64{10, 25, 50, 75, 90, 95, 99, 99.9}

// newPercentiles has none if there were no allocations, or of too many sizes.
func newPercentiles(h *query.Histogram) []Percentile {
	list := []Percentile{}
	if h.Others == 0 && h.Total.Allocations > 0 {
		for _, p := range percents {
			list = append(list, Percentile{p, h.SizeQuantile(p / 100)})
		}
	}
	return list
}

// SizePair is two sizes, before and after reallocations.
type SizePair struct {
	Old     uint64 `json:"old_size"`
	New     uint64 `json:"new_size"`
	Count   uint64 `json:"count"`
	InPlace uint64 `json:"in_place"`
}

// SizesStep is the sizes of what was allocated in a step of time.
type SizesStep struct {
	FromNS int64    `json:"from_ns"`
	ToNS   int64    `json:"to_ns"`
	Sizes  []Bucket `json:"sizes"`
}

// SizeLifetimes are the lifetimes of blocks of some sizes.
type SizeLifetimes struct {
	Bounds
	Lifetimes  []Bucket `json:"lifetimes_ns"`
	NeverFreed Count    `json:"never_freed"`
}

// Reallocations say by how much sizes changed.
type Reallocations struct {
	Count   uint64   `json:"count"`
	InPlace uint64   `json:"in_place"`
	Same    uint64   `json:"same_size"`
	Grown   []Bucket `json:"grown"`
	Shrunk  []Bucket `json:"shrunk"`
	// The most frequent ones come first.
	Pairs      []SizePair `json:"pairs"`
	MorePairs  int        `json:"more_pairs"`
	OtherPairs uint64     `json:"other_pairs"`
}

// Count is a number of blocks and of their bytes.
type Count struct {
	Count uint64 `json:"count"`
	Bytes uint64 `json:"bytes"`
}

// Bucket is the values between two bounds.
type Bucket struct {
	Bounds
	Count
}

// Size is one size that was requested.
type Size struct {
	Size  uint64 `json:"size"`
	Count uint64 `json:"count"`
	Slack uint64 `json:"slack"`
}

// Slack is what the allocator reserved beyond requests of some sizes.
type Slack struct {
	Bounds
	Count     uint64 `json:"count"`
	Requested uint64 `json:"requested"`
	Slack     uint64 `json:"slack"`
}

// NewHist makes the answer, with heat maps of these kinds. Empty classes are left out.
func NewHist(s *query.Source, h *query.Histogram, heat []string, page Page) *Hist {
	exact, more := Cut(page, h.Exact)
	pairs, morePairs := Cut(page, h.Pairs)
	j := &Hist{Head: newHead(s, &h.Answer), Sizes: newBuckets(h.Sizes[:]), Lifetimes: newBuckets(h.Lifetimes[:]),
		Exact: []Size{}, MoreSizes: more, OtherSizes: h.Others, Slack: []Slack{},
		Reallocs: Reallocations{Count: h.Jumps.Count(), InPlace: h.Jumps.InPlace, Same: h.Jumps.Same,
			Grown:  newBuckets(h.Jumps.Grown[:]),
			Shrunk: newBuckets(h.Jumps.Shrunk[:]), Pairs: []SizePair{}, MorePairs: morePairs, OtherPairs: h.OtherPairs},
		Times: []SizesStep{}, Ages: []SizeLifetimes{},
		NeverFreed: Count{h.NeverFreed.Count, h.NeverFreed.Bytes},
		Live:       newBuckets(h.Live[:]), Percentiles: newPercentiles(h),
		Allocations: h.Total.Allocations, Deallocations: h.Total.Deallocations}
	for _, c := range exact {
		j.Exact = append(j.Exact, Size(c))
	}
	for i, k := range h.Slack {
		if k.Count > 0 {
			lo, hi := query.SizeClass(uint8(i))
			j.Slack = append(j.Slack, Slack{Bounds{lo, hi}, k.Count, k.Requested, k.Slack})
		}
	}
	for _, x := range pairs {
		j.Reallocs.Pairs = append(j.Reallocs.Pairs, SizePair(x))
	}
	for _, step := range h.Table() {
		j.Times = append(j.Times, SizesStep{step.From, step.To, newBuckets(step.Sizes[:])})
	}
	for class := range h.Ages {
		if kept := h.Kept[class]; h.Freed[class].Count+kept.Count > 0 {
			lo, hi := query.SizeClass(uint8(class))
			j.Ages = append(j.Ages, SizeLifetimes{Bounds{lo, hi}, newBuckets(h.Ages[class][:]),
				Count{kept.Count, kept.Bytes}})
		}
	}
	j.Margins = newHistMargins(h)
	if len(heat) > 0 {
		j.Heat = NewHeat(h, heat)
	}
	return j
}

func newBuckets(list []query.Bucket) []Bucket {
	out := []Bucket{}
	for i, b := range list {
		if b.Count > 0 {
			lo, hi := query.SizeClass(uint8(i))
			out = append(out, Bucket{Bounds{lo, hi}, Count{b.Count, b.Bytes}})
		}
	}
	return out
}
