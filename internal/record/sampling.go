package record

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/wire"
)

// samplingOf translates how the agent chooses samples of a process.
func (w *worker) samplingOf(slot uint32, v uint64) event.Sampling {
	s := event.Sampling{Seed: w.spool.Info().Counter ^ uint64(slot)}
	if v&wire.SampledCalls != 0 {
		s.Calls = v &^ wire.SampledCalls
	} else {
		s.Bytes = v
	}
	return s
}

// sampled takes note of how an allocation was chosen. A recording knows one way: the first sample's, unless it began as
// a sampled one.
func (p *process) sampled(v uint64) {
	s := p.w.samplingOf(p.slot, v)
	switch p.sampling {
	case s:
	case event.Sampling{}:
		p.sampling = s
		p.out.Sampling(s)
	default:
		p.Note("Some allocations were sampled otherwise than the others (%s instead of %s): "+
			"their estimates are wrong.", s, p.sampling)
	}
}
