package query

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// Matrix says which threads freed what which threads allocated.
type Matrix struct {
	Answer
	Cells []Crossing // most blocks first
}

// OtherThreads is in place of the index of a thread: those that have no cells of their own, together.
const OtherThreads = math.MaxUint32

// Crossing counts the blocks that one thread allocated and one freed, within the range. Threads are indexes into the
// recording's threads, or OtherThreads.
type Crossing struct {
	Allocated, Freed uint32
	Unseen           bool // nobody saw these blocks end: Freed is not set
	Blocks, Bytes    uint64
}

// Cross answers with the matrix of the deallocations that the query selects. Its grouping is ignored.
func Cross(ctx context.Context, s *Source, q *Query) (*Matrix, error) {
	m, err := newCrossings(ctx, s, q)
	if err != nil {
		return nil, err
	}
	if err := m.a.prepare(m.a.From, m.a.To); err != nil {
		return nil, err
	}
	if err := m.a.scan(m.a.From, m.a.To, 0, m.collect); err != nil {
		return nil, err
	}
	return m.matrix(), nil
}

// crossings turns events into a matrix.
type crossings struct {
	a      *ask
	list   []Crossing
	total  Values
	places hashed // index in list plus 1
	unseen hashed // the same for unseen blocks
	last   int    // index in list of the latest crossing
}

func newCrossings(ctx context.Context, s *Source, q *Query) (*crossings, error) {
	one := *q
	one.By, one.Metrics, one.Rough = ByFunction, []Metric{FreedBytes}, 0
	a, err := newAsk(ctx, s, &one)
	if err != nil {
		return nil, err
	}
	a.Plan = FromEvents
	return &crossings{a: a}, nil
}

// collect is a collector.
func (c *crossings) collect(recording.Stretch) (observer, func()) {
	part := &crossings{a: c.a}
	observe := func(b *recording.Batch, counts []bool) {
		for i := range b.Events {
			n, e := b.First+uint64(i), &b.Events[i]
			if !counts[i] || e.Kind != event.Free || n < c.a.From || n >= c.a.To {
				continue
			}
			x := Crossing{Allocated: e.BornBy, Freed: e.Thread}
			x.Blocks, x.Bytes = e.Weight()
			part.total.Deallocations += x.Blocks
			part.total.FreedBytes += x.Bytes
			part.total.countError(e)
			if e.Func == event.FuncUnknown {
				x.Freed, x.Unseen = 0, true
			}
			part.add(x)
		}
	}
	return observe, func() {
		c.total.Add(&part.total)
		for _, x := range part.list {
			c.add(x)
		}
	}
}

func (c *crossings) add(x Crossing) {
	if c.last < len(c.list) { // mostly, the next block takes the same way
		if v := &c.list[c.last]; v.Allocated == x.Allocated && v.Freed == x.Freed && v.Unseen == x.Unseen {
			v.Blocks += x.Blocks
			v.Bytes += x.Bytes
			return
		}
	}
	places := &c.places
	if x.Unseen {
		places = &c.unseen
	}
	p := places.at(uint64(x.Allocated)<<32 | uint64(x.Freed))
	if *p == 0 {
		c.list = append(c.list, x)
		*p = uint32(len(c.list))
		c.last = len(c.list) - 1
		return
	}
	c.last = int(*p - 1)
	c.list[*p-1].Blocks += x.Blocks
	c.list[*p-1].Bytes += x.Bytes
}

func (c *crossings) matrix() *Matrix {
	c.a.Total.Add(&c.total)
	sortCrossings(c.list)
	return &Matrix{Answer: c.a.Answer, Cells: c.list}
}

func sortCrossings(list []Crossing) {
	slices.SortFunc(list, func(a, b Crossing) int {
		return cmp.Or(cmp.Compare(b.Blocks, a.Blocks), cmp.Compare(a.Allocated, b.Allocated),
			cmp.Compare(a.Freed, b.Freed))
	})
}

// Freed returns what each thread freed, whoever had allocated it.
func (m *Matrix) Freed() map[uint32]Bucket {
	freed := make(map[uint32]Bucket)
	for _, c := range m.Cells {
		if !c.Unseen {
			b := freed[c.Freed]
			b.add(Bucket{c.Blocks, c.Bytes})
			freed[c.Freed] = b
		}
	}
	return freed
}

// Capped returns the cells if at most so many threads have cells of their own on each side: those that allocated most
// bytes of what was freed, and those that freed most. All others are one.
func (m *Matrix) Capped(most int) []Crossing {
	by, freed := make(map[uint32]uint64), make(map[uint32]uint64)
	for _, c := range m.Cells {
		by[c.Allocated] += c.Bytes
		if !c.Unseen {
			freed[c.Freed] += c.Bytes
		}
	}
	if len(by) <= most && len(freed) <= most {
		return m.Cells
	}
	by, freed = busiest(by, most), busiest(freed, most)
	sums := &crossings{}
	for _, c := range m.Cells {
		if _, ok := by[c.Allocated]; !ok {
			c.Allocated = OtherThreads
		}
		if _, ok := freed[c.Freed]; !ok && !c.Unseen {
			c.Freed = OtherThreads
		}
		sums.add(c)
	}
	sortCrossings(sums.list)
	return sums.list
}

// busiest returns the threads with most bytes, besides OtherThreads.
func busiest(bytes map[uint32]uint64, most int) map[uint32]uint64 {
	threads := slices.Collect(maps.Keys(bytes))
	slices.SortFunc(threads, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(bytes[b], bytes[a]), cmp.Compare(a, b))
	})
	threads = slices.DeleteFunc(threads, func(t uint32) bool { return t == OtherThreads })
	found := make(map[uint32]uint64)
	for _, t := range threads[:min(most, len(threads))] {
		found[t] = bytes[t]
	}
	return found
}
