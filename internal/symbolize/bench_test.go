package symbolize

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/elfx"
	"github.com/heaptap/heaptap/internal/event"
)

// BenchmarkResolve looks up 50,000 addresses, spread evenly over the code of the program named by HEAPTAP_SYMBOLIZE: a
// large one with debug information.
func BenchmarkResolve(b *testing.B) {
	path := os.Getenv("HEAPTAP_SYMBOLIZE")
	if path == "" {
		b.Skip("HEAPTAP_SYMBOLIZE is not set")
	}
	f, err := elfx.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	const n = 50000
	code := f.Code()[0]
	pcs := make([]event.PC, n)
	for i := range pcs {
		pcs[i] = event.PC{Addr: code.Start + (code.End-code.Start)/n*uint64(i), Module: 1}
	}
	modules := []event.Module{{ID: 1, Path: path, BuildID: f.BuildID()}}
	for b.Loop() {
		start := time.Now()
		frames, notes := New(Options{}).Resolve(context.Background(), modules, pcs)
		known, inlined := 0, 0
		for _, f := range frames {
			if len(f) > 0 {
				known++
				inlined += len(f) - 1
			}
		}
		b.Logf("%v: %d of %d known, %d inlined; notes %q", time.Since(start), known, n, inlined, notes)
	}
}
