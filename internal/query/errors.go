package query

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/tally"
)

// estimated reports whether answers are estimates with known standard errors. They need the events.
func (s *Source) estimated() bool { return s.Profile.ErrorsKnown() }

// vary returns v's own variances, for adding to. They are not shared with another Values yet.
func (v *Values) vary() *tally.Variances {
	if v.Variances == nil {
		v.Variances = new(tally.Variances)
	}
	return v.Variances
}

// countError adds the contribution of an event of the range to the variances.
func (v *Values) countError(e *event.Event) {
	if e.Flags&event.Sampled != 0 {
		v.vary().Count(e)
	}
}

// live, peak, leaked and keep add the contribution of a block.
func (v *Values) live(e *event.Event) {
	move(&v.LiveBytes, &v.LiveBlocks, e)
	if e.Flags&event.Sampled != 0 {
		s := v.vary()
		tally.Move(e, &s.LiveBlocks, &s.LiveBytes)
	}
}

func (v *Values) peak(e *event.Event) {
	move(&v.PeakBytes, &v.PeakBlocks, e)
	if e.Flags&event.Sampled != 0 {
		s := v.vary()
		tally.Move(e, &s.PeakBlocks, &s.PeakBytes)
	}
}

func (v *Values) leaked(e *event.Event) {
	move(&v.LeakedBytes, &v.LeakedBlocks, e)
	if e.Flags&event.Sampled != 0 {
		s := v.vary()
		tally.Move(e, &s.LeakedBlocks, &s.LeakedBytes)
	}
}

func (v *Values) keep(e *event.Event) {
	move(&v.KeptBytes, &v.KeptBlocks, e)
	if e.Flags&event.Sampled != 0 {
		s := v.vary()
		tally.Move(e, &s.KeptBlocks, &s.KeptBytes)
	}
}

// varianceOf returns the variances of the metrics that have one.
var varianceOf = [metricCount]func(*tally.Variances) float64{
	Allocations:   func(v *tally.Variances) float64 { return v.Allocations },
	Bytes:         func(v *tally.Variances) float64 { return v.Bytes },
	Deallocations: func(v *tally.Variances) float64 { return v.Deallocations },
	FreedBytes:    func(v *tally.Variances) float64 { return v.FreedBytes },
	Live:          func(v *tally.Variances) float64 { return v.LiveBytes },
	LiveBlocks:    func(v *tally.Variances) float64 { return v.LiveBlocks },
	Peak:          func(v *tally.Variances) float64 { return v.PeakBytes },
	PeakBlocks:    func(v *tally.Variances) float64 { return v.PeakBlocks },
	Leaked:        func(v *tally.Variances) float64 { return v.LeakedBytes },
	LeakedBlocks:  func(v *tally.Variances) float64 { return v.LeakedBlocks },
	Kept:          func(v *tally.Variances) float64 { return v.KeptBytes },
	KeptBlocks:    func(v *tally.Variances) float64 { return v.KeptBlocks },
	ZeroSize:      func(v *tally.Variances) float64 { return v.ZeroSize },
	Slack:         func(v *tally.Variances) float64 { return v.Slack },
	Reallocations: func(v *tally.Variances) float64 { return v.Reallocations },
	Churn:         func(v *tally.Variances) float64 { return v.Bytes },
}

// StandardError returns the standard error of the metric's value, in the metric's unit; false if the value is exact or
// the error is not known.
func (m Metric) StandardError(v *Values, span int64) (float64, bool) {
	of := varianceOf[m]
	if of == nil || v.Variances == nil {
		return 0, false
	}
	e := tally.StandardError(of(v.Variances))
	if m == Churn {
		if span <= 0 {
			return 0, false
		}
		e /= float64(span) / 1e9
	}
	return e, true
}

// OfSamples reports whether the metric can be estimated from samples. Three cannot, because they depend on events that
// follow each other: whether an allocation is temporary, the time since the previous allocation, and what a
// reallocation had to copy.
func (m Metric) OfSamples() bool {
	return m != Temporary && m != TemporaryBytes && m != Time && m != Copied
}
