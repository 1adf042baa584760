package query

import (
	"cmp"
	"context"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// Matrix tells which threads free what which threads allocated.
type Matrix struct {
	Answer
	Cells []Crossing // most blocks first
}

// Crossing counts the blocks that one thread allocated and one freed, within the range. Threads are indexes into the
// recording's.
type Crossing struct {
	Allocated, Freed uint32
	Unseen           bool // nobody is known to have freed them: Freed says nothing
	Blocks, Bytes    uint64
}

// Cross answers with the matrix of the deallocations that the query selects. Its grouping does not matter.
func Cross(ctx context.Context, s *Source, q *Query) (*Matrix, error) {
	one := *q
	one.By, one.Metrics = ByFunction, []Metric{FreedBytes}
	a, err := newAsk(ctx, s, &one)
	if err != nil {
		return nil, err
	}
	a.Plan = FromEvents
	at := make(map[Crossing]*Bucket)
	err = a.blocksBetween(a.From, a.To, func(_ uint64, e *event.Event, _ uint32, _ uint64) {
		if e.Kind != event.Free {
			return
		}
		k := Crossing{Allocated: e.BornBy, Freed: e.Thread}
		if e.Func == event.FuncUnknown {
			k.Freed, k.Unseen = 0, true
		}
		b := at[k]
		if b == nil {
			b = &Bucket{}
			at[k] = b
		}
		b.add(e.Size)
		a.Total.free(e)
	})
	if err != nil {
		return nil, err
	}
	m := &Matrix{Answer: a.Answer}
	for k, b := range at {
		k.Blocks, k.Bytes = b.Count, b.Bytes
		m.Cells = append(m.Cells, k)
	}
	slices.SortFunc(m.Cells, func(a, b Crossing) int {
		return cmp.Or(cmp.Compare(b.Blocks, a.Blocks), cmp.Compare(a.Allocated, b.Allocated), cmp.Compare(a.Freed, b.Freed))
	})
	return m, nil
}
