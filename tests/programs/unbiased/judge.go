package main

import (
	"context"
	"math"
	"strconv"
)

const (
	leastSamples = 30  // samples that a call stack must have on average
	leastError   = .01 // smallest standard error with which a call stack is judged, as a share of the truth
	normal95     = 1.959964
	farthest     = 3 // standard errors
)

// result is what was found for a program.
type result struct {
	*workload
	stacks  int // in exact mode
	samples float64
	metrics [metrics]metric
}

// metric is what was found for a metric of a program, over all call stacks with enough samples.
type metric struct {
	name     string
	stacks   int
	unsteady int // of these, those that differed between exact runs
	// sums over the call stacks: the mean of the exact runs, and of the sampled runs' estimates
	truth, estimate  float64
	variance         float64 // of estimate - truth
	intervals, cover int     // of one call stack in one run
	// of (estimate - truth) / standard error, by call stack: sum of squares; largest magnitude
	squares, outermost float64
}

func (m *metric) off() float64     { return (m.estimate - m.truth) / math.Sqrt(m.variance) }
func (m *metric) covered() float64 { return float64(m.cover) / float64(m.intervals) }

// holds reports whether the estimates are unbiased, and the intervals cover as often as they claim.
func (m *metric) holds() bool {
	return math.Abs(m.off()) <= farthest && m.covered() >= .93 && m.covered() <= .97
}

// pooled returns the result of all programs together.
func pooled(results []*result) [metrics]metric {
	var all [metrics]metric
	for m := range all {
		p := &all[m]
		p.name = metricNames[m]
		for _, r := range results {
			o := &r.metrics[m]
			p.stacks += o.stacks
			p.unsteady += o.unsteady
			p.intervals += o.intervals
			p.cover += o.cover
			p.squares += o.squares
			p.outermost = max(p.outermost, o.outermost)
			// In standard errors, since the bytes of a large program would outweigh the others'.
			p.estimate += o.off()
			p.variance++
		}
	}
	return all
}

// truth is what the exact runs say about a call stack.
type truth struct {
	*expected
	mean, variance [metrics]float64 // of the mean
}

// truths records the program several times in exact mode.
func truths(ctx context.Context, r *recorder, runs int) (map[stack]*truth, error) {
	all := map[stack]*truth{}
	values := map[stack][][metrics]float64{}
	for range runs {
		file, err := r.record()
		if err != nil {
			return nil, err
		}
		found, err := expectations(ctx, r.heaptap, file, r.mean)
		if err != nil {
			return nil, err
		}
		for key, e := range found {
			values[key] = append(values[key], e.value)
			if all[key] == nil {
				all[key] = &truth{expected: e}
			}
		}
	}
	for key, t := range all {
		// 0 in runs without this call stack
		list := append(values[key], make([][metrics]float64, runs-len(values[key]))...)
		for m := range metrics {
			for _, v := range list {
				t.mean[m] += v[m] / float64(runs)
			}
			for _, v := range list {
				t.variance[m] += (v[m] - t.mean[m]) * (v[m] - t.mean[m]) / float64(runs-1) / float64(runs)
			}
		}
	}
	return all, nil
}

func judge(ctx context.Context, r *recorder, exact, runs int) (*result, error) {
	all, err := truths(ctx, r, exact)
	if err != nil {
		return nil, err
	}
	out := &result{workload: r.workload, stacks: len(all)}
	for _, t := range all {
		out.samples += t.samples
	}
	sampled := make([]map[stack]sum, runs)
	for i := range sampled {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		file, err := r.record("--mode", "sampled", "--sample", strconv.FormatUint(r.mean, 10))
		if err != nil {
			return nil, err
		}
		if sampled[i], err = estimates(ctx, r.heaptap, file); err != nil {
			return nil, err
		}
	}
	for m := range metrics {
		out.metrics[m].name = metricNames[m]
		for key, t := range all {
			if t.samples >= leastSamples && math.Sqrt(t.expected.variance[m]) > leastError*t.mean[m] {
				out.metrics[m].add(m, key, t, sampled)
			}
		}
	}
	return out, nil
}

func (m *metric) add(number int, key stack, t *truth, sampled []map[stack]sum) {
	runs := float64(len(sampled))
	variance := t.expected.variance[number]/runs + t.variance[number]
	mean := 0.
	for _, run := range sampled {
		value, err := run[key].value[number], math.Sqrt(run[key].variance[number])
		mean += value / runs
		m.intervals++
		if math.Abs(value-t.mean[number]) <= normal95*err {
			m.cover++
		}
	}
	off := (mean - t.mean[number]) / math.Sqrt(variance)
	m.stacks++
	if t.variance[number] > 0 {
		m.unsteady++
	}
	m.truth += t.mean[number]
	m.estimate += mean
	m.variance += variance
	m.squares += off * off
	m.outermost = max(m.outermost, math.Abs(off))
}
