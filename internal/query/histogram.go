package query

import (
	"cmp"
	"context"
	"math/bits"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// Classes is the number of powers of two.
const Classes = 65

// Bucket is what a class of sizes or lifetimes sums up to.
type Bucket struct {
	Count uint64
	Bytes uint64 // requested
}

// Histogram tells how sizes and lifetimes are distributed.
type Histogram struct {
	Answer
	Sizes      [Classes]Bucket // of the allocations in the range, by SizeClass
	Lifetimes  [Classes]Bucket // of the deallocations in the range, by SizeClass of their nanoseconds
	NeverFreed Bucket          // of the allocations in the range
	Slack      [Classes]Slacks // of the allocations in the range, by SizeClass of the requested size
	Exact      []SizeCount     // how often each size was requested, the most frequent first
	Others     uint64          // allocations of sizes that are not in Exact, since there were too many sizes
}

// Slacks is what allocators reserved beyond what was asked for.
type Slacks struct {
	Count            uint64 // allocations whose usable size is known
	Requested, Slack uint64 // bytes of these
}

// SizeCount says how often a size was requested.
type SizeCount struct {
	Size, Count uint64
	Slack       uint64 // bytes beyond it in all
}

// maxExact is how many different sizes are told apart.
const maxExact = 1 << 20

// Distribute answers with histograms of the blocks that the query selects. Its grouping does not matter.
func Distribute(ctx context.Context, s *Source, q *Query) (*Histogram, error) {
	one := *q
	one.By, one.Metrics = ByFunction, []Metric{Bytes}
	a, err := newAsk(ctx, s, &one)
	if err != nil {
		return nil, err
	}
	a.Plan = FromEvents
	h := &Histogram{}
	refTo, err := a.allocationsBefore(a.To)
	if err != nil {
		return nil, err
	}
	refFrom, err := a.allocationsBefore(a.From)
	if err != nil {
		return nil, err
	}
	exact := make(map[uint64]*SizeCount)
	err = a.blocksBetween(a.From, a.last, func(n uint64, e *event.Event, _ uint32, ref uint64) {
		if refFrom <= ref && ref < refTo {
			move(&h.NeverFreed.Bytes, &h.NeverFreed.Count, e)
		}
		if n >= a.To {
			return
		}
		if e.Kind == event.Free {
			a.Total.free(e)
			h.Lifetimes[bits.Len64(lifetime(e))].add(e.Size)
			return
		}
		a.Total.alloc(e)
		class := bits.Len64(e.Size)
		h.Sizes[class].add(e.Size)
		slack := uint64(0)
		if e.Flags&event.HasUsable != 0 && e.Usable >= e.Size {
			slack = e.Usable - e.Size
			k := &h.Slack[class]
			k.Count++
			k.Requested += e.Size
			k.Slack += slack
		}
		c := exact[e.Size]
		if c == nil {
			if len(exact) == maxExact {
				h.Others++
				return
			}
			c = &SizeCount{Size: e.Size}
			exact[e.Size] = c
		}
		c.Count++
		c.Slack += slack
	})
	if err != nil {
		return nil, err
	}
	for _, c := range exact {
		h.Exact = append(h.Exact, *c)
	}
	slices.SortFunc(h.Exact, func(a, b SizeCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Size, b.Size))
	})
	h.Answer = a.Answer
	return h, nil
}

func (b *Bucket) add(size uint64) {
	b.Count++
	b.Bytes += size
}

// SizeQuantile returns the size that a share p of the allocations does not exceed; 0 if there are none, or too many sizes.
func (h *Histogram) SizeQuantile(p float64) uint64 {
	if h.Others > 0 {
		return 0
	}
	list := slices.Clone(h.Exact)
	slices.SortFunc(list, func(a, b SizeCount) int { return cmp.Compare(a.Size, b.Size) })
	n := uint64(0)
	for _, c := range list {
		if n += c.Count; float64(n) >= p*float64(h.Total.Allocations) {
			return c.Size
		}
	}
	return 0
}
