package query

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// BenchmarkQuestions asks the recording named by HEAPTAP_RECORDING questions that only its events answer.
func BenchmarkQuestions(b *testing.B) {
	s := askable(b)
	first, last := s.Reader.Cuts()
	flat := func(q Query) func() error {
		return func() error { _, err := Flat(b.Context(), s, &q); return err }
	}
	for _, question := range []struct {
		name string
		ask  func() error
	}{
		{"own-peak", flat(Query{Metrics: []Metric{OwnPeak}})},
		{"leaked", flat(Query{Range: &Range{From: first + 1, To: last}, Metrics: []Metric{Leaked}})},
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

// BenchmarkTimeline asks the recording named by HEAPTAP_RECORDING for timelines in 400 steps: of all and of random
// parts, at first and once the blocks of events are known. It reports the median and the 99th percentile.
func BenchmarkTimeline(b *testing.B) {
	s := askable(b)
	first, last := s.Reader.Cuts()
	ask := func(b *testing.B, q *Query, rough bool) {
		if _, err := Timeline(b.Context(), s, q, 400, rough); err != nil {
			b.Fatal(err)
		}
	}
	part := func(b *testing.B, rng *rand.Rand) *Query {
		span := max(uint64(float64(last-first)*math.Pow(10, -4*rng.Float64())), 1)
		from := first + rng.Uint64N(last-first-span+1)
		return &Query{Range: &Range{From: from, To: from + span}}
	}
	for _, known := range []bool{false, true} {
		for _, rough := range []bool{true, false} {
			for _, whole := range []bool{true, false} {
				name := "whole"
				if !whole {
					name = "part"
				}
				if rough {
					name += "-rough"
				}
				if known {
					name += "-known"
				}
				b.Run(name, func(b *testing.B) {
					rng := rand.New(rand.NewPCG(1, 1))
					var wall []time.Duration
					from := cpu()
					for b.Loop() {
						if !known {
							s.timeline = timetravel.Timeline{}
						}
						q := &Query{}
						if !whole {
							q = part(b, rng)
						}
						begin := time.Now()
						ask(b, q, rough)
						wall = append(wall, time.Since(begin))
					}
					slices.Sort(wall)
					b.ReportMetric(float64(cpu()-from)/float64(len(wall))/1e6, "cpu-ms")
					b.ReportMetric(wall[len(wall)/2].Seconds()*1e3, "p50-ms")
					b.ReportMetric(wall[len(wall)*99/100].Seconds()*1e3, "p99-ms")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
		if !known {
			if err := PrepareTimeline(b.Context(), s, nil, func(int, int) {}); err != nil {
				b.Fatal(err)
			}
		}
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

// askable opens the recording named by HEAPTAP_RECORDING.
func askable(b *testing.B) *Source {
	b.Helper()
	path := os.Getenv("HEAPTAP_RECORDING")
	if path == "" {
		b.Skip("HEAPTAP_RECORDING is not set")
	}
	s, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}
