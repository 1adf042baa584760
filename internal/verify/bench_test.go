package verify

import (
	"os"
	"testing"
)

// BenchmarkFile verifies the recording that HEAPTAP_RECORDING names.
func BenchmarkFile(b *testing.B) {
	path := os.Getenv("HEAPTAP_RECORDING")
	if path == "" {
		b.Skip("HEAPTAP_RECORDING names no recording")
	}
	for b.Loop() {
		if r, err := File(path); err != nil || !r.OK {
			b.Fatal(err, r)
		}
	}
}
