package query

import (
	"math"
	"testing"
)

// TestHistSteps compares steps with their beginnings, also for spans that only forged recordings have.
func TestHistSteps(t *testing.T) {
	for _, span := range []int64{0, 1, 19, 20, 21, 1_000_003, math.MaxInt64 / 19, math.MaxInt64 - 7} {
		a := &ask{}
		a.Begin, a.Span = 7, span
		for step := range HistSteps {
			begin := a.StepTime(step)
			if begin < a.Begin || begin > a.Begin+span {
				t.Errorf("span %d: step %d begins at %d", span, step, begin)
			}
			for _, time := range []int64{begin - 1, begin, begin + 1, a.Begin + span, math.MaxInt64} {
				got := a.step(max(time, 0))
				if got < 0 || got >= HistSteps {
					t.Fatalf("span %d: time %d is in step %d", span, time, got)
				}
				if x := a.timeStep(max(time, 0)); x.number != got || x.to > x.from && a.step(x.to-1) != got {
					t.Errorf("span %d: time %d is in step %d, and the same are said to be: %+v", span, time, got, x)
				}
				if time > a.Begin && time < a.Begin+span &&
					(time < a.StepTime(got) || got+1 < HistSteps && time >= a.StepTime(got+1)) {
					t.Errorf("span %d: time %d is in step %d, from %d to %d", span, time, got, a.StepTime(got),
						a.StepTime(got+1))
				}
			}
		}
	}
}
