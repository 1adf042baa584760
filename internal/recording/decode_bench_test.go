package recording_test

import (
	"github.com/heaptap/heaptap/internal/recording"
	"os"
	"testing"
)

// BenchmarkDecode decodes the recording that HEAPTAP_RECORDING names.
func BenchmarkDecode(b *testing.B) {
	path := os.Getenv("HEAPTAP_RECORDING")
	if path == "" {
		b.Skip("HEAPTAP_RECORDING names no recording")
	}
	r, err := recording.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	n := 0
	from := cpu()
	b.ResetTimer()
	for b.Loop() {
		if err := r.Batches(b.Context(), 0, 20e6, func(list *recording.Batch) bool {
			n += len(list.Events)
			return true
		}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu()-from)/float64(n), "cpu-ns/event")
	b.ReportMetric(0, "ns/op")
}
