package view

import (
	"fmt"
	"math"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/tally"
)

// sampled writes how a recording was sampled: all of its numbers are then estimates.
func (r *renderer) sampled() {
	if !r.p.Sampled() {
		return
	}
	t := &r.p.Totals
	text := fmt.Sprintf("allocations were sampled, %s: numbers are estimates from %s",
		howSampled(r.p.Process.Sampling, r.size), humanize.Plural(t.Samples, "sample"))
	if r.p.ErrorsKnown() {
		text += ", ± their standard errors"
	}
	r.wrap("", text, r.title)
	r.printf("\n")
}

// howSampled returns how allocations were chosen.
func howSampled(s event.Sampling, size func(uint64) string) string {
	switch {
	case s.Calls > 0:
		return "one of " + humanize.Number(s.Calls) + " calls on average"
	case s.Bytes > 0:
		return "one for every " + size(s.Bytes) + " on average"
	}
	return "in a way that is not known"
}

// pmSize and pmCount format a standard error, to follow its estimate; "" if there is none.
func (r *renderer) pmSize(variance float64) string {
	if variance <= 0 {
		return ""
	}
	return " ± " + r.size(uint64(math.Round(tally.StandardError(variance))))
}

func (r *renderer) pmCount(variance float64) string {
	if variance <= 0 {
		return ""
	}
	return " ± " + r.short(uint64(math.Round(tally.StandardError(variance))))
}

// variances returns those of the totals; all are 0 if nothing is estimated.
func (r *report) variances() *tally.Variances {
	if v := r.p.Variances; v != nil {
		return v
	}
	return &tally.Variances{}
}

// counted formats a number of things with its standard error.
func (r *report) counted(n uint64, noun string, variance float64) string {
	pm := r.pmCount(variance)
	if pm == "" {
		return humanize.Plural(n, noun)
	}
	return humanize.Number(n) + pm + " " + noun + "s"
}

// errorNote returns the standard error for a stack's notes; "" if there is none.
func (r *report) errorNote(m *profile.Metric, g *profile.Group) string {
	if m.Variance == nil || g.Variances == nil {
		return ""
	}
	if m.Bytes {
		return r.pmSize(m.Variance(g.Variances))
	}
	return r.pmCount(m.Variance(g.Variances))
}

// pm formats the standard error of a metric, to follow its value.
func (a *answerText) pm(m query.Metric, v *query.Values, span int64) string {
	e, ok := m.StandardError(v, span)
	if !ok || e <= 0 {
		return ""
	}
	n := uint64(math.Round(e))
	switch {
	case a.Exact:
		return " ± " + humanize.Number(n)
	case m.Unit() == query.ByteCount:
		return " ± " + humanize.Size(n)
	case m.Unit() == query.BytesPerSecond:
		return " ± " + humanize.Size(n) + "/s"
	}
	return " ± " + humanize.Short(n)
}
