package verify

import (
	"os"
	"testing"
)

// BenchmarkFile verifies the recording named by HEAPTAP_RECORDING.
func BenchmarkFile(b *testing.B) {
	path := os.Getenv("HEAPTAP_RECORDING")
	if path == "" {
		b.Skip("HEAPTAP_RECORDING is not set")
	}
	for b.Loop() {
		if r, err := File(path); err != nil || !r.OK {
			b.Fatal(err, r)
		}
	}
}
