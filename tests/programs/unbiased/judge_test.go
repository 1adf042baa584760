package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestJudge judges synthetic samples: correct ones must hold, but not estimates that are 3 % too large, nor standard
// errors that are a third too small.
func TestJudge(t *testing.T) {
	const mean, runs, stacks = 4096, 100, 40
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name          string
		scale, errors float64
		holds         bool
	}{{"true", 1, 1, true}, {"biased", 1.03, 1, false}, {"too sure", 1, 2. / 3, false}} {
		var m metric
		for key := range stack(stacks) {
			e := &expected{}
			sampled := make([]map[stack]sum, runs)
			for i := range sampled {
				sampled[i] = map[stack]sum{key: {}}
			}
			for n := range 400 + 20*int(key) {
				size := float64(16 + n*7919%1000)
				e.add(size, mean)
				p := -math.Expm1(-size / mean)
				for i := range sampled {
					if random.Float64() >= p {
						continue
					}
					s := sampled[i][key]
					s.value[1] += c.scale * size / p
					s.variance[1] += c.errors * c.errors * size / p * (size/p - size)
					sampled[i][key] = s
				}
			}
			m.add(1, key, &truth{expected: e, mean: e.value}, sampled)
		}
		t.Logf("%s: %+.2f standard errors off, %.1f %% cover", c.name, m.off(), 100*m.covered())
		if m.holds() != c.holds {
			t.Errorf("%s: holds is %v", c.name, m.holds())
		}
	}
}
