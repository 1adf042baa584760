package ticks_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/heaptap/heaptap/internal/record/ticks"
)

func TestMap(t *testing.T) {
	for _, test := range []struct {
		ghz, noise float64 // true rate, and error of a reading in ns
	}{{2.6, 50}, {1, 0}, {0.0195, 100}, {5, 500}} {
		t.Run(fmt.Sprint(test.ghz), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 1))
			counter := func(ns uint64) uint64 { return 1e12 + uint64(float64(ns)*test.ghz) }
			read := func(ns uint64) uint64 { return uint64(float64(ns) + test.noise*(2*r.Float64()-1)) }
			// The first rate is a bad guess: two readings 1 ms apart.
			c := ticks.New(counter(1e9), 1e9, counter(1.001e9), read(1.001e9))
			last := int64(0)
			for ns := uint64(1e9); ns < 100e9; ns += 7e6 {
				for d := uint64(0); d < 7e6; d += 1e6 {
					at := c.At(counter(ns + d))
					if at < last {
						t.Fatalf("time goes back from %d to %d", last, at)
					}
					last = at
					limit := 3*test.noise + 100
					if ns < 2e9 {
						limit = 100e3 + 1000*test.noise
					}
					if off := float64(at) - float64(ns+d-1e9); off > limit || off < -limit {
						t.Fatalf("%d ns after the start is off by %.0f ns", ns+d-1e9, off)
					}
				}
				c.Learn(counter(ns+7e6), read(ns+7e6))
			}
			if c.At(0) != 0 {
				t.Error("a time before the start is not 0")
			}
		})
	}
	const never = ^uint64(0)
	// Headers can say anything.
	for _, v := range [][4]uint64{{0, 0, 0, 0}, {never, never, 0, 0}, {0, 0, never, never}, {5, never, 6, 1},
		{0, 0, 1, never}} {
		c := ticks.New(v[0], v[1], v[2], v[3])
		for _, at := range []uint64{0, 1, never, never / 2} {
			if c.At(at) < 0 {
				t.Errorf("clock map %v makes %d of %d", v, c.At(at), at)
			}
			c.Learn(at, at)
		}
	}
}
