package check

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/heaptap/heaptap/internal/query"
)

// TestChance compares the probability with counting all divisions, and with values from tables.
func TestChance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		now, before []uint64
		want        float64
	}{
		{[]uint64{6, 7, 8, 9, 10}, []uint64{1, 2, 3, 4, 5}, 1. / 252},
		{[]uint64{1, 2, 3, 4, 5}, []uint64{6, 7, 8, 9, 10}, 1},
		{[]uint64{2}, []uint64{1}, .5},
		{[]uint64{5, 5, 5}, []uint64{5, 5, 5}, 1},
		{[]uint64{9, 9, 9}, []uint64{5, 5, 5}, 1. / 20},
		{[]uint64{3, 5, 6}, []uint64{1, 2, 4}, .1}, // W = 14 of 3 and 3: 2 of 20 divisions have as much
		{[]uint64{math.MaxUint64 - 1}, []uint64{0, 1, 2, 3}, .2},
	} {
		if got := chance(c.now, c.before); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v, %v: %v, want %v", c.now, c.before, got, c.want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var now, before []uint64
		for range 1 + rng.IntN(6) {
			now = append(now, rng.Uint64N(12))
		}
		for range 1 + rng.IntN(6) {
			before = append(before, rng.Uint64N(10))
		}
		if got, want := chance(now, before), counted(now, before); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v, %v: %v, want %v", now, before, got, want)
		}
		if least := leastChance(len(now), len(before)); chance(now, before) < least-1e-12 {
			t.Errorf("%v, %v: less than %v", now, before, least)
		}
	}
}

// counted counts the pairs in which one is larger, for all divisions.
func counted(now, before []uint64) float64 {
	all := append(append([]uint64{}, now...), before...)
	larger := func(mask uint) (n int) {
		for i, a := range all {
			for k, b := range all {
				if mask>>i&1 == 1 && mask>>k&1 == 0 {
					switch {
					case a > b:
						n += 2
					case a == b:
						n++
					}
				}
			}
		}
		return n
	}
	observed := larger(1<<len(now) - 1)
	asMany, total := 0, 0
	for mask := range uint(1) << len(all) {
		if bits.OnesCount(mask) != len(now) {
			continue
		}
		total++
		if larger(mask) >= observed {
			asMany++
		}
	}
	return float64(asMany) / float64(total)
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []uint64
		want   uint64
		middle int
	}{{[]uint64{5}, 5, 0}, {[]uint64{9, 1, 5}, 5, 2}, {[]uint64{1, 4, 2, 100}, 3, 1},
		{[]uint64{math.MaxUint64, math.MaxUint64 - 2}, math.MaxUint64 - 1, 0}} {
		if got := median(c.values); got != c.want || middle(c.values) != c.middle {
			t.Errorf("%v: %d, %d", c.values, got, middle(c.values))
		}
	}
}

// TestJudge: what noise explains is no regression; what it does not, is one, however small; and noise alone fails in at
// most one of twenty comparisons of six metrics.
func TestJudge(t *testing.T) {
	t.Parallel()
	six := &Baseline{Metrics: Compared}
	one := &Baseline{Metrics: Compared[:1], Tolerance: .1}
	for _, c := range []struct {
		b           *Baseline
		before, now []uint64
		failed      bool
		text        string
	}{
		{six, []uint64{100}, []uint64{101}, true,
			"peak 101 B, baseline 100 B, limit 100 B: 1 B too much (single runs: noise is not known)"},
		{six, []uint64{100, 104, 102, 101, 103}, []uint64{106, 105, 108, 107, 109}, true,
			"peak 107 B (median of 5 runs, 105 B to 109 B), baseline 102 B (median of 5 runs, 100 B to 104 B), limit " +
				"102 B: 5 B too much; noise alone does this in 0.4 % of cases"},
		{six, []uint64{100, 104, 102, 101, 103}, []uint64{106, 99, 108, 102, 109}, false,
			"peak 106 B (median of 5 runs, 99 B to 109 B), baseline 102 B (median of 5 runs, 100 B to 104 B), limit " +
				"102 B, exceeded, but noise alone does this in 17.1 % of cases"},
		{six, []uint64{100, 100, 100}, []uint64{200, 200, 200}, true,
			"peak 200 B in each of 3 runs, baseline 100 B in each of 3 runs, limit 100 B: 100 B too much; in every " +
				"run, which noise alone does in 5.0 % of cases: more runs would be surer"},
		{one, []uint64{100, 100, 100}, []uint64{110, 110, 110}, false,
			"peak 110 B in each of 3 runs, baseline 100 B in each of 3 runs, limit 110 B"},
		{one, []uint64{100, 100, 100}, []uint64{111, 111, 111}, true,
			"peak 111 B in each of 3 runs, baseline 100 B in each of 3 runs, limit 110 B: 1 B too much; noise alone " +
				"does this in 5.0 % of cases"},
		{six, []uint64{100}, []uint64{90, 200, 200, 200, 200}, false,
			"peak 200 B (median of 5 runs, 90 B to 200 B), baseline 100 B, limit 100 B, exceeded, but noise alone " +
				"does this in 33.3 % of cases"},
	} {
		got := c.b.judge(query.Peak, c.before, c.now)
		if got.Failed != c.failed || got.Text(true) != c.text {
			t.Errorf("%v, %v: %v %q\nwant %v %q", c.before, c.now, got.Failed, got.Text(true), c.failed, c.text)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	series := func() (list []uint64) {
		for range 5 {
			list = append(list, 1000+rng.Uint64N(50))
		}
		return list
	}
	wrong, found := 0, 0
	const rounds = 500
	for range rounds {
		any := false
		for range Compared {
			any = any || six.judge(query.Peak, series(), series()).Failed
		}
		if any {
			wrong++
		}
		more := series()
		for i := range more {
			more[i] += 60
		}
		if six.judge(query.Peak, series(), more).Failed {
			found++
		}
	}
	if wrong > rounds/20 || found < rounds*99/100 {
		t.Errorf("%d of %d without a change fail, %d with one", wrong, rounds, found)
	}
}
