package query

import (
	"testing"
)

// BenchmarkEstimate asks the recording named by HEAPTAP_RECORDING for what needs all events, and for estimates of it.
func BenchmarkEstimate(b *testing.B) {
	s := askable(b)
	for _, e := range []struct {
		name string
		by   *Sample
	}{{"exact", nil}, {"estimate", &QuickSample}} {
		q := Query{Sizes: &Interval{64, 128}, Metrics: []Metric{Bytes, Allocations}, Estimate: e.by}
		b.Run("table-"+e.name, func(b *testing.B) {
			measure(b, func() error { _, err := Flat(b.Context(), s, &q); return err })
		})
		b.Run("tree-"+e.name, func(b *testing.B) {
			measure(b, func() error { _, err := Draw(b.Context(), s, &q, Down, Trim{Nodes: 2000}); return err })
		})
		b.Run("sizes-"+e.name, func(b *testing.B) {
			q := q
			q.By, q.Sizes = BySizeClass, nil
			measure(b, func() error { _, err := Flat(b.Context(), s, &q); return err })
		})
	}
}
