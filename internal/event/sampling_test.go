package event_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

func weigh(s event.Sampling, size, ref uint64) (blocks, bytes uint64) {
	e := event.Event{Kind: event.Alloc, Flags: event.Sampled, Size: size}
	s.Weigh(&e, ref)
	return e.Weight()
}

// TestWeightMean: over the numbers of allocations, the mean weight is 1/p, of the bytes size/p, within 4 standard
// errors of a mean of numbers that are one of two neighbours.
func TestWeightMean(t *testing.T) {
	t.Parallel()
	const n = 200_000
	for _, s := range []event.Sampling{{Bytes: 1}, {Bytes: 100}, {Bytes: 4096}, {Bytes: 512 << 10}, {Calls: 7}} {
		for _, size := range []uint64{0, 1, 3, 24, 100, 4000, 1 << 20} {
			p := s.Probability(size)
			var blocks, bytes float64
			for ref := range uint64(n) {
				w, b := weigh(s, size, ref)
				if lo := uint64(1 / p); w < lo || w > lo+1 {
					t.Fatalf("%v, %d bytes: weight %d, 1/p is %v", s, size, w, 1/p)
				}
				if b < size {
					t.Fatalf("%v, %d bytes stand for only %d", s, size, b)
				}
				blocks += float64(w) / n
				bytes += float64(b) / n
			}
			most := 4 * .5 / math.Sqrt(n)
			if math.Abs(blocks-1/p) > most || math.Abs(bytes-float64(size)/p) > most {
				t.Errorf("%v, %d bytes: means %v and %v, want %v and %v", s, size, blocks, bytes, 1/p, float64(size)/p)
			}
		}
	}
}

// TestWeightIndependent: whether a weight is rounded up is independent of whether that of the next allocation is, of
// the block's bytes, and of the number's parity.
func TestWeightIndependent(t *testing.T) {
	t.Parallel()
	s := event.Sampling{Bytes: 1000}
	const size, n = 450, 400_000 // 1/p = 2.76
	lo, _ := uint64(1/s.Probability(size)), 0
	lob := uint64(float64(size) / s.Probability(size))
	var up, both, withBytes, even [2]float64
	var last uint64
	upOf := func(ref uint64) (uint64, uint64) {
		w, b := weigh(s, size, ref)
		return w - lo, b - lob
	}
	for ref := range uint64(n) {
		u, b := upOf(ref)
		up[u]++
		if last == 1 {
			both[u]++
		}
		if b == 1 {
			withBytes[u]++
		}
		if ref%2 == 0 {
			even[u]++
		}
		last = u
	}
	p := up[1] / n
	for name, c := range map[string][2]float64{"next": both, "bytes": withBytes, "even": even} {
		m := c[0] + c[1]
		if d := c[1]/m - p; math.Abs(d) > 4*math.Sqrt(p*(1-p)/m) {
			t.Errorf("%s: rounded up with %.4f, else with %.4f", name, c[1]/m, p)
		}
	}
}

// TestWeightExtremes: nothing overflows or divides by 0, whatever a forged recording says.
func TestWeightExtremes(t *testing.T) {
	t.Parallel()
	for _, s := range []event.Sampling{{}, {Bytes: 1}, {Bytes: math.MaxUint64}, {Calls: 1}, {Calls: math.MaxUint64},
		{Bytes: 1, Calls: 1}} {
		for _, size := range []uint64{0, 1, 1 << 32, 1 << 63, math.MaxUint64} {
			w, b := weigh(s, size, math.MaxUint64)
			if w < 1 || w > 1<<62 || b > 1<<62 && b != size || b < min(size, 1<<62) {
				t.Errorf("%v, %d bytes: %d blocks, %d bytes", s, size, w, b)
			}
		}
	}
	e := event.Event{Flags: event.Sampled, Size: 5} // not weighed
	if n, b := e.Weight(); n != 1 || b != 5 {
		t.Errorf("%d %d", n, b)
	}
	if s := (event.Sampling{}); s.Probability(3) != 1 {
		t.Error(s.Probability(3))
	}
}

// TestEstimates: of random programs that are sampled, the mean of the estimates is within 3 standard errors of the
// truth, and the 95 % intervals cover the truth in 93 to 97 % of the cases.
func TestEstimates(t *testing.T) {
	t.Parallel()
	const runs = 400
	r := rand.New(rand.NewPCG(1, 2))
	covered, intervals := 0., 0.
	for program := range 30 {
		s := event.Sampling{Bytes: 64 << (program % 8)}
		if program%5 == 4 {
			s = event.Sampling{Calls: uint64(3 + program)}
		}
		var sizes []uint64
		expected, truth := 0., 0.
		for range 2000 + r.IntN(3000) {
			size := uint64(16 + r.ExpFloat64()*float64(uint64(20)<<(program%6)))
			sizes = append(sizes, size)
			expected += s.Probability(size)
			truth += float64(size)
		}
		if expected < 30 {
			t.Fatalf("program %d has %v expected samples", program, expected)
		}
		var counts, bytes estimates
		ref := uint64(0)
		for range runs {
			var n, b, nv, bv float64
			for _, size := range sizes {
				if r.Float64() >= s.Probability(size) {
					continue
				}
				e := event.Event{Kind: event.Alloc, Flags: event.Sampled, Size: size}
				s.Weigh(&e, ref)
				ref++
				w, wb := e.Weight()
				v, vb := e.Variance()
				n, b, nv, bv = n+float64(w), b+float64(wb), nv+v, bv+vb
			}
			counts.add(n, nv, float64(len(sizes)))
			bytes.add(b, bv, truth)
		}
		for what, e := range map[string]*estimates{"count": &counts, "bytes": &bytes} {
			if !e.unbiased() {
				t.Errorf("program %d, %v: the mean %s is %.5g, the truth %.5g", program, s, what, e.sum/runs, e.truth)
			}
			if e.relative > .01 { // else there is next to nothing to estimate
				covered += float64(e.covered)
				intervals += runs
			}
		}
	}
	if share := covered / intervals; share < .93 || share > .97 {
		t.Errorf("the 95 %% intervals cover the truth in %.2f %% of %v cases", 100*share, intervals)
	} else {
		t.Logf("%.2f %% of %v intervals cover the truth", 100*share, intervals)
	}
}

// estimates of one number.
type estimates struct {
	n, sum, squares, truth, relative float64
	covered                          int
}

func (e *estimates) add(v, variance, truth float64) {
	e.n++
	e.sum += v
	e.squares += v * v
	e.truth = truth
	e.relative += math.Sqrt(variance) / truth / 400
	if math.Abs(v-truth) <= 1.96*math.Sqrt(variance) {
		e.covered++
	}
}

func (e *estimates) unbiased() bool {
	mean := e.sum / e.n
	deviation := math.Sqrt(max(e.squares/e.n-mean*mean, 0) / (e.n - 1))
	return math.Abs(mean-e.truth) <= 3*deviation+1e-9*e.truth
}
