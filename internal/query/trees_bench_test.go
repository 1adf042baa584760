package query

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
)

// BenchmarkTrees asks the recording named by HEAPTAP_RECORDING for trees and tables of random ranges.
func BenchmarkTrees(b *testing.B) {
	s := askable(b)
	_, last := s.Reader.Cuts()
	ranged := func(ask func(context.Context, *Query) error, metrics ...Metric) func(*testing.B) {
		return func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			once(b, func() error {
				x, y := rng.Uint64N(last+1), rng.Uint64N(last+1)
				return ask(b.Context(), &Query{Range: &Range{min(x, y), max(x, y)}, Metrics: metrics})
			})
		}
	}
	tree := func(ctx context.Context, q *Query) error {
		_, err := Draw(ctx, s, q, Down, Trim{Share: .001})
		return err
	}
	six := []Metric{Allocations, Bytes, FreedBytes, Live, Peak, Temporary}
	for _, m := range six {
		b.Run("range/"+m.String(), ranged(tree, m))
	}
	b.Run("range/six", ranged(tree, six...))
	all := []Metric{Bytes, Allocations, Peak}
	for _, shape := range []Shape{Down, Up} {
		for _, nodes := range []int{20_000, 100_000} {
			name := map[Shape]string{Down: "top-down", Up: "bottom-up"}[shape]
			b.Run(fmt.Sprintf("nodes/%s/%d", name, nodes), func(b *testing.B) {
				once(b, func() error {
					_, err := Draw(b.Context(), s, &Query{Metrics: all}, shape, Trim{Nodes: nodes})
					return err
				})
			})
		}
	}
	for _, by := range []By{ByFunction, ByLine, ByStack} {
		l, err := List(b.Context(), s, &Query{By: by, Metrics: all})
		if err != nil {
			b.Fatal(err)
		}
		for _, p := range []struct {
			name string
			page PageOf
		}{
			{"first", PageOf{Order: Order{Query: true}}},
			{"self", PageOf{Order: Order{Metric: Allocations, Self: true}}},
			{"name", PageOf{Order: Order{Name: true}}},
			{"match", PageOf{Order: Order{Metric: Peak}, Match: regexp.MustCompile("(?i)alloc")}},
			{"far", PageOf{Order: Order{Metric: Bytes}, Offset: 10_000}},
		} {
			p.page.Limit = 200
			b.Run(fmt.Sprintf("page/%s/%s", by, p.name), func(b *testing.B) {
				once(b, func() error {
					l.mu.Lock()
					l.orders = map[Order][]int32{{Query: true}: l.rows.order} // the order is new for each page
					l.mu.Unlock()
					_, err := l.Page(p.page)
					return err
				})
			})
		}
	}
}

// once measures the CPU time of a question: on average, and the one that all but one in 20 take at most.
func once(b *testing.B, ask func() error) {
	b.ReportAllocs()
	var times []float64
	for b.Loop() {
		began := cpu()
		if err := ask(); err != nil {
			b.Fatal(err)
		}
		times = append(times, float64(cpu()-began)/1e6)
	}
	sum := 0.
	for _, t := range times {
		sum += t
	}
	slices.Sort(times)
	b.ReportMetric(sum/float64(len(times)), "cpu-ms/op")
	b.ReportMetric(times[len(times)/2], "median-cpu-ms")
	b.ReportMetric(times[len(times)*95/100], "p95-cpu-ms")
}
