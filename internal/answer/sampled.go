package answer

import (
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/tally"
)

// Sampling is how a recording was sampled.
type Sampling struct {
	MeanBytes uint64          `json:"mean_bytes,omitempty"` // from one sample to the next
	MeanCalls uint64          `json:"mean_calls,omitempty"`
	Samples   uint64          `json:"samples"`
	Errors    *StandardErrors `json:"standard_errors"` // null: not known
}

// StandardErrors are the standard errors of the numbers with the same names.
type StandardErrors struct {
	Allocations      float64 `json:"allocations"`
	Bytes            float64 `json:"bytes"`
	Deallocations    float64 `json:"deallocations"`
	FreedBytes       float64 `json:"freed_bytes"`
	LiveAtPeakBytes  float64 `json:"live_at_peak_bytes"`
	LiveAtPeakBlocks float64 `json:"live_at_peak_blocks"`
	LeakedBytes      float64 `json:"leaked_bytes"`
	LeakedBlocks     float64 `json:"leaked_blocks"`
	ZeroSize         float64 `json:"zero_size"`
	Reallocations    float64 `json:"reallocations"`
	SlackBytes       float64 `json:"slack_bytes"`
}

func newSampling(p *profile.Profile) *Sampling {
	if !p.Sampled() {
		return nil
	}
	s := p.Process.Sampling
	return &Sampling{s.Bytes, s.Calls, p.Totals.Samples, newStandardErrors(p.Variances)}
}

func newStandardErrors(v *tally.Variances) *StandardErrors {
	if v == nil {
		return nil
	}
	e := tally.StandardError
	return &StandardErrors{e(v.Allocations), e(v.Bytes), e(v.Deallocations), e(v.FreedBytes), e(v.PeakBytes),
		e(v.PeakBlocks), e(v.LeakedBytes), e(v.LeakedBlocks), e(v.ZeroSize), e(v.Reallocations), e(v.Slack)}
}
