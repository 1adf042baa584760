package query

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"
)

// BenchmarkTrees asks the recording named by HEAPTAP_RECORDING for trees and tables of random ranges.
func BenchmarkTrees(b *testing.B) {
	path := os.Getenv("HEAPTAP_RECORDING")
	if path == "" {
		b.Skip("HEAPTAP_RECORDING is not set")
	}
	s, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	_, last := s.Reader.Cuts()
	ranged := func(ask func(context.Context, *Query) error, metrics ...Metric) func(*testing.B) {
		return func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			from := cpu()
			for b.Loop() {
				x, y := rng.Uint64N(last+1), rng.Uint64N(last+1)
				q := &Query{Range: &Range{min(x, y), max(x, y)}, Metrics: metrics}
				if err := ask(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpu()-from)/float64(b.N)/1e6, "cpu-ms/op")
		}
	}
	tree := func(ctx context.Context, q *Query) error { _, err := TopDown(ctx, s, q, Trim{Share: .001}); return err }
	for _, m := range []Metric{Allocations, Bytes, FreedBytes, Live, Peak, Temporary} {
		b.Run("tree/"+m.String(), ranged(tree, m))
	}
}
