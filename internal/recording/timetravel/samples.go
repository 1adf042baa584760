package timetravel

import (
	"math"

	"github.com/heaptap/heaptap/internal/event"
)

// MostSampled returns the largest value that was sampled in each step; without a sample, that of the step before.
// Values below 0 are not known. toEnd says that the last step has all samples after it, too. nil: nothing was sampled.
func MostSampled(samples []event.Sample, times []int64, toEnd bool, value func(*event.Sample) int64) []int64 {
	out := make([]int64, len(times)-1)
	known := false
	last, k := int64(0), 0
	for i := range out {
		most := int64(-1)
		end := times[i+1]
		if toEnd && i == len(out)-1 {
			end = math.MaxInt64
		}
		for ; k < len(samples) && samples[k].Time <= end; k++ {
			v := value(&samples[k])
			if v < 0 {
				continue
			}
			if last, known = v, true; samples[k].Time > times[i] {
				most = max(most, v)
			}
		}
		if out[i] = most; most < 0 {
			out[i] = last
		}
	}
	if !known {
		return nil
	}
	return out
}

// Counted returns by how much a count, which never falls, grew from step to step: between the last sample before the
// step and the last one in it. Values below 0 are not known. What was counted before the first sample is in no step.
// toEnd says that the last step has all samples after it, too. nil: nothing was counted.
func Counted(samples []event.Sample, times []int64, toEnd bool, value func(*event.Sample) int64) []int64 {
	out := make([]int64, len(times)-1)
	last, k, any := int64(-1), 0, false
	upTo := func(end int64) {
		for ; k < len(samples) && samples[k].Time <= end; k++ {
			if v := value(&samples[k]); v >= 0 {
				any = any || v > 0
				last = max(last, v)
			}
		}
	}
	upTo(times[0])
	for i := range out {
		before := last
		end := times[i+1]
		if toEnd && i == len(out)-1 {
			end = math.MaxInt64
		}
		first := k
		upTo(end)
		if before < 0 && last >= 0 {
			for _, s := range samples[first:k] {
				if v := value(&s); v >= 0 {
					before = v
					break
				}
			}
		}
		if last >= 0 {
			out[i] = last - before
		}
	}
	if !any {
		return nil
	}
	return out
}
