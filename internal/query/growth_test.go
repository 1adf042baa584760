package query

import (
	"math"
	"testing"
)

// growthCurve is a curve of live blocks over a time from 0 to 1.
type growthCurve struct {
	what  string
	live  func(x float64) float64
	grows bool
	fine  bool // it cannot be told from 24 moments
}

var growthCurves = func() []growthCurve {
	constant := func(n float64) func(float64) float64 { return func(float64) float64 { return n } }
	until := func(end float64, f func(float64) float64) func(float64) float64 {
		return func(x float64) float64 { return f(min(x, end)) }
	}
	linear := func(x float64) float64 { return 100 * x }
	tooth := func(x float64) float64 { return 30 * (12*x - math.Floor(12*x)) }
	return []growthCurve{
		{"constant", constant(50), false, false},
		{"linear", linear, true, false},
		{"8 blocks", func(x float64) float64 { return math.Floor(8*x) + 1 }, true, false},
		{"6 blocks", func(x float64) float64 { return math.Floor(5.9*x) + 1 }, false, false},
		{"5 bursts", func(x float64) float64 { return 20 * math.Floor(5*x+1) }, true, false},
		{"4 bursts", func(x float64) float64 { return 20 * math.Floor(4*x+1) }, false, false},
		{"until 92 %", until(.92, linear), true, false},
		{"until 80 %", until(.8, linear), false, true},
		{"until 40 %", until(.4, linear), false, false},
		{"slower", func(x float64) float64 { return 100 * math.Pow(x, .7) }, true, false},
		{"full", func(x float64) float64 { return 1000 * (1 - math.Exp(-5*x)) }, false, false},
		{"after a start", func(x float64) float64 { return 1000*math.Ceil(min(x, .01)) + 20*x }, true, false},
		{"from 60 %", func(x float64) float64 { return 500 * max(x-.6, 0) }, true, false},
		{"from 70 %", func(x float64) float64 { return 500 * max(x-.7, 0) }, false, false},
		{"teeth", tooth, false, false},
		{"teeth that stay a little", func(x float64) float64 { return tooth(x) + math.Floor(12*x) }, true, false},
		{"twice", func(x float64) float64 { return 100 * (x - math.Floor(2*x)/2) }, false, false},
		{"freed at the end", func(x float64) float64 { return 100 * x * math.Ceil(.98-x) }, true, false},
		{"beats", func(x float64) float64 { return 100 * (60.9*x - math.Floor(60.9*x)) }, false, false},
		{"less and less", func(x float64) float64 { return 100 * (1 - x) }, false, false},
		{"doubled", func(x float64) float64 { return math.Exp2(math.Floor(math.Log2(max(x, .001)*64) + 1)) }, false,
			false},
	}
}()

// TestKeepsGrowing: curves of live blocks, each of 10 bytes. tests/growth has programs.
func TestKeepsGrowing(t *testing.T) {
	t.Parallel()
	for _, c := range growthCurves {
		const fine = 50 // moments in a step
		times := make([]int64, growthSteps+1)
		points := make([]Point, growthSteps+1)
		for i := range points {
			at := func(k int) uint64 { return uint64(max(c.live((float64(i)+float64(k)/fine)/growthSteps), 0)) }
			times[i], points[i] = int64(i)*1e9, Point{Live: 10 * at(0), LiveBlocks: at(0), Least: 10 * at(0)}
			for k := -fine; k < 0 && i > 0; k++ {
				points[i].Least = min(points[i].Least, 10*at(k))
			}
		}
		if got, _ := keepsGrowing(times, points); got > 0 != c.grows || got > 1 {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}
