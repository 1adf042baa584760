package query

import (
	"cmp"
	"context"
	"slices"
)

// Suspect is a group whose live bytes kept rising.
type Suspect struct {
	Group
	Begin, End uint64  // bytes live at the beginning and at the end of the range
	Slope      float64 // bytes per second, by linear regression
	// Confidence says how steadily the bytes rose, from 0 to 1: the share of pairs of moments of which the later one
	// had more, minus the share of which it had less; over the whole range or its last third, whichever is less. Memory
	// that is filled once and then kept, and memory that goes up and down, have a low confidence.
	Confidence float64
}

// growthSteps is the number of steps, of about equal time, into which the range is divided.
const growthSteps = 60

// maxSuspects is the number of groups that are examined: those with the most live bytes at the end of the range.
const maxSuspects = 1000

// Growth returns the groups whose live bytes kept rising over the range, with at least the given confidence, steepest
// first.
func Growth(ctx context.Context, s *Source, q *Query, confidence float64) ([]Suspect, *Series, error) {
	one := *q
	one.Metrics, one.At = []Metric{Live}, nil
	series, err := DevelopRoughly(ctx, s, &one, growthSteps, maxSuspects)
	if err != nil {
		return nil, nil, err
	}
	var list []Suspect
	for i := range series.Rows {
		r := &series.Rows[i]
		live := make([]float64, len(r.Points))
		for k := range r.Points {
			live[k] = float64(r.Points[k].Live)
		}
		last := len(live) - 1
		x := Suspect{Group: r.Group, Begin: r.Points[0].Live, End: r.Points[last].Live,
			Slope: slope(series.Times, live), Confidence: min(kendallTau(live), kendallTau(live[2*last/3:]))}
		if x.Confidence >= confidence && x.Slope > 0 {
			list = append(list, x)
		}
	}
	slices.SortStableFunc(list, func(a, b Suspect) int { return cmp.Compare(b.Slope, a.Slope) })
	return list, series, nil
}

// kendallTau returns Kendall's tau of a sequence against its order. Equal pairs count for neither side.
func kendallTau(v []float64) float64 {
	sum := 0
	for i := range v {
		for j := range i {
			sum += cmp.Compare(v[i], v[j])
		}
	}
	pairs := len(v) * (len(v) - 1) / 2
	return float64(sum) / float64(max(pairs, 1))
}

// slope returns the slope, per second, of the least-squares line through points at times in ns.
func slope(times []int64, v []float64) float64 {
	n := float64(len(v))
	var meanX, meanY float64
	for i := range v {
		meanX += float64(times[i]-times[0]) / 1e9 / n
		meanY += v[i] / n
	}
	var xy, xx float64
	for i := range v {
		x := float64(times[i]-times[0])/1e9 - meanX
		xy += x * (v[i] - meanY)
		xx += x * x
	}
	if xx == 0 {
		return 0
	}
	return xy / xx
}
