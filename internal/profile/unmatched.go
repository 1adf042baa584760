package profile

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// Unmatched groups deallocations of addresses that were not live: memory that was freed twice, that came from another
// allocator, or that was allocated before the recording.
type Unmatched struct {
	Stack uint32     // call stack of the deallocation itself; 0: not recorded (--free-stacks records it)
	Func  event.Func // the deallocation function
	Count uint64
}

// loadUnmatched reads the events, since no summary has these. Of folded events it is not known. Deallocations whose
// call stacks have the same text are one entry; the most frequent come first.
func (p *Profile) loadUnmatched(ctx context.Context, r *recording.Reader) error {
	m := newMerger(p)
	at := make(map[Unmatched]int) // by merged stack and function
	err := r.Walk(ctx, 0, math.MaxUint64, func(_, _ uint64, e *event.Event) bool {
		if e.Kind != event.Unmatched {
			return true
		}
		k := Unmatched{Stack: m.stack(e.FreeStack), Func: e.Func}
		i, ok := at[k]
		if !ok {
			i = len(p.Unmatched)
			at[k] = i
			p.Unmatched = append(p.Unmatched, Unmatched{Stack: e.FreeStack, Func: e.Func})
		}
		p.Unmatched[i].Count++
		return true
	})
	slices.SortStableFunc(p.Unmatched, func(a, b Unmatched) int { return cmp.Compare(b.Count, a.Count) })
	return err
}
