package query

import (
	"os"
	"regexp"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkGenerations asks the recording named by HEAPTAP_RECORDING what each twentieth of the run leaves behind, and
// what is kept of a part of it. The first time of each is shown, too.
func BenchmarkGenerations(b *testing.B) {
	path := os.Getenv("HEAPTAP_RECORDING")
	if path == "" {
		b.Skip("HEAPTAP_RECORDING is not set")
	}
	cpu := func() time.Duration {
		var u unix.Rusage
		_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for _, x := range []struct {
		name string
		ask  func(s *Source) error
	}{
		{"triangle", func(s *Source) error {
			_, err := Generate(b.Context(), s, &Query{}, Triangle{Rows: 20, Columns: 20})
			return err
		}},
		{"triangle between marks", func(s *Source) error {
			_, err := Generate(b.Context(), s, &Query{}, Triangle{Columns: 20, Marks: true})
			return err
		}},
		{"triangle of a filter", func(s *Source) error {
			q := &Query{Focus: []*regexp.Regexp{regexp.MustCompile("list|str|eval")}}
			_, err := Generate(b.Context(), s, q, Triangle{Rows: 20, Columns: 20})
			return err
		}},
		{"kept", func(s *Source) error {
			n := s.last / 100
			q := &Query{Metrics: []Metric{Kept}, Range: &Range{20*n + 1, 40*n + 7}, At: &s.last}
			_, err := Flat(b.Context(), s, q)
			return err
		}},
		{"kept, roughly", func(s *Source) error {
			n := s.last / 100
			q := &Query{Metrics: []Metric{Kept}, Range: &Range{20*n + 1, 40*n + 7}, At: &s.last, Rough: s.Pixel()}
			_, err := Flat(b.Context(), s, q)
			return err
		}},
	} {
		b.Run(x.name, func(b *testing.B) {
			s, err := Open(path)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			begin, start := cpu(), time.Now()
			if err := x.ask(s); err != nil {
				b.Fatal(err)
			}
			firstCPU, first := cpu()-begin, time.Since(start)
			before := cpu()
			for b.Loop() {
				if err := x.ask(s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpu()-before).Microseconds())/1e3/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(firstCPU.Microseconds())/1e3, "first-cpu-ms")
			b.ReportMetric(float64(first.Microseconds())/1e3, "first-ms")
		})
	}
}
