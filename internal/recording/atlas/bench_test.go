package atlas

import (
	"os"
	"syscall"
	"testing"

	"github.com/heaptap/heaptap/internal/recording"
)

// benchmarked opens the recording named by HEAPTAP_RECORDING.
func benchmarked(b *testing.B) *recording.Reader {
	b.Helper()
	path := os.Getenv("HEAPTAP_RECORDING")
	if path == "" {
		b.Skip("HEAPTAP_RECORDING is not set")
	}
	r, err := recording.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { r.Close() })
	return r
}

// BenchmarkBuild makes the atlas of a recording, and reports what it costs and takes.
func BenchmarkBuild(b *testing.B) {
	r := benchmarked(b)
	var a *Atlas
	var raw []byte
	from := cpu()
	for b.Loop() {
		var err error
		if raw, err = pack(b.Context(), r, Options{}); err == nil {
			a, err = unpack(raw, r.Nodes())
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu()-from)/1e9/float64(b.N), "cpu-s/op")
	b.ReportMetric(float64(a.Size())/1e6, "MB")
	b.ReportMetric(float64(len(raw))/1e6, "file-MB")
	b.ReportMetric(float64(len(a.stacks)), "stacks")
	b.ReportMetric(float64(len(a.ends)-1), "steps")
}

// BenchmarkQuestions asks an atlas for each of its kinds of answers: of a quarter of the run from its middle on, and
// about all stacks.
func BenchmarkQuestions(b *testing.B) {
	r := benchmarked(b)
	raw, err := pack(b.Context(), r, Options{})
	if err != nil {
		b.Fatal(err)
	}
	a, err := unpack(raw, r.Nodes())
	if err != nil {
		b.Fatal(err)
	}
	middle, end := a.ends[len(a.ends)/2], a.ends[len(a.ends)*3/4]
	b.Run("unpack", func(b *testing.B) {
		for b.Loop() {
			if a, err = unpack(raw, r.Nodes()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("changes", func(b *testing.B) {
		for b.Loop() {
			a.Changes(middle, end)
		}
	})
	b.Run("all-changes", func(b *testing.B) {
		for b.Loop() {
			a.Changes(0, end)
		}
	})
	b.Run("live", func(b *testing.B) {
		for b.Loop() {
			a.LiveAt(end)
		}
	})
	b.Run("add", func(b *testing.B) {
		sums := make([]Sums, len(a.moments))
		for b.Loop() {
			a.Add(sums, []Ranks{{End: uint32(len(a.stacks))}})
		}
	})
}

// cpu returns the CPU time of this process, ns.
func cpu() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
