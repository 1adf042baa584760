package profile

import (
	"context"
	"math"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/tally"
)

// loadVariances goes through the events, of which a sampled recording has few.
func (p *Profile) loadVariances(ctx context.Context, r *recording.Reader) error {
	p.Variances = new(tally.Variances)
	at := make(map[uint32]*tally.Variances)
	peak, n := p.Totals.Peak.Event, uint64(0)
	err := r.Walk(ctx, 0, math.MaxUint64, func(_, _ uint64, e *event.Event) bool {
		n++
		if e.Flags&event.Sampled == 0 {
			return true
		}
		v := at[e.Stack]
		if v == nil {
			v = new(tally.Variances)
			at[e.Stack] = v
		}
		for _, v := range [...]*tally.Variances{v, p.Variances} {
			v.Count(e)
			tally.Move(e, &v.LeakedBlocks, &v.LeakedBytes)
			if n <= peak {
				tally.Move(e, &v.PeakBlocks, &v.PeakBytes)
			}
		}
		return true
	})
	for i := range p.Stacks {
		p.Stacks[i].Variances = at[p.Stacks[i].ID]
	}
	return err
}

// OwnLeak returns the variances of what is leaked, without the runtime's part.
func (p *Profile) OwnLeak() (blocks, bytes float64) {
	for i := range p.Stacks {
		if s := &p.Stacks[i]; s.Class != Runtime && s.Variances != nil {
			blocks += s.Variances.LeakedBlocks
			bytes += s.Variances.LeakedBytes
		}
	}
	return blocks, bytes
}
