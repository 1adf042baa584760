package query

import (
	"os"
	"syscall"
	"testing"
)

// BenchmarkQuestions asks the recording named by HEAPTAP_RECORDING questions that only its events answer.
func BenchmarkQuestions(b *testing.B) {
	path := os.Getenv("HEAPTAP_RECORDING")
	if path == "" {
		b.Skip("HEAPTAP_RECORDING is not set")
	}
	s, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	first, last := s.Reader.Cuts()
	flat := func(q Query) func() error {
		return func() error { _, err := Flat(b.Context(), s, &q); return err }
	}
	for _, question := range []struct {
		name string
		ask  func() error
	}{
		{"own-peak", flat(Query{Metrics: []Metric{OwnPeak}})},
		{"time", flat(Query{Metrics: []Metric{Time}})},
		{"by-thread", flat(Query{By: ByThread})},
		{"by-allocator", flat(Query{By: ByAllocation})},
		{"lifetime", flat(Query{Lifetimes: &Interval{Max: 1e6}})},
		{"middle", flat(Query{Range: &Range{From: first + (last-first)/4, To: last - (last-first)/4},
			Metrics: []Metric{Leaked, Temporary, Bytes}})},
		{"threads", func() error { _, err := Threads(b.Context(), s, &Query{}); return err }},
		{"hist", func() error { _, err := Distribute(b.Context(), s, &Query{}); return err }},
	} {
		b.Run(question.name, func(b *testing.B) {
			from := cpu()
			for b.Loop() {
				if err := question.ask(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpu()-from)/float64(b.N)/float64(last-first), "cpu-ns/event")
		})
	}
}

// cpu returns the CPU time of this process, ns.
func cpu() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
