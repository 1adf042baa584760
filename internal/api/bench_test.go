package api

import (
	"os"
	"testing"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/columns"
	"github.com/heaptap/heaptap/internal/query"
)

// BenchmarkEncode encodes the whole call tree of the recording that BENCH_RECORDING names.
func BenchmarkEncode(b *testing.B) {
	path := os.Getenv("BENCH_RECORDING")
	if path == "" {
		b.Skip("BENCH_RECORDING names no recording")
	}
	s, err := query.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	q := &query.Query{Metrics: []query.Metric{query.Peak}}
	t, err := query.TopDown(b.Context(), s, q, query.Trim{})
	if err != nil {
		b.Fatal(err)
	}
	a := answer.NewTree(s, t, q.By, "top-down")
	b.Run("answer", func(b *testing.B) {
		for b.Loop() {
			answer.NewTree(s, t, q.By, "top-down")
		}
	})
	var plain []byte
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			if plain, err = columns.Encode(a); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(a.Nodes)), "nodes")
		b.ReportMetric(float64(len(plain)), "bytes")
	})
	b.Run("compress", func(b *testing.B) {
		var body []byte
		for b.Loop() {
			body = compress(plain)
		}
		b.ReportMetric(float64(len(body)), "bytes")
	})
}
