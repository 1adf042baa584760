package query

import (
	"math/rand/v2"
	"testing"

	"github.com/heaptap/heaptap/internal/recording/atlas"
)

// BenchmarkRough asks the recording named by HEAPTAP_RECORDING for rough answers about random ranges, and for curves.
// "values" is the part of an answer from the range to the values of each stack.
func BenchmarkRough(b *testing.B) {
	s := askable(b)
	a, err := atlas.Build(b.Context(), s.Reader, atlas.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s.UseAtlas(a)
	rng := rand.New(rand.NewPCG(1, 1))
	ask := func(metrics ...Metric) *Query {
		from, to := rng.Uint64N(s.last+1), rng.Uint64N(s.last+1)
		return &Query{Range: &Range{min(from, to), max(from, to)}, Rough: s.Pixel(), Metrics: metrics}
	}
	all := []Metric{Bytes, Allocations, FreedBytes, Live, Peak, Temporary}
	values := func(metrics ...Metric) func(b *testing.B) {
		return func(b *testing.B) {
			measure(b, func() error {
				q, err := newAsk(b.Context(), s, ask(metrics...))
				if err == nil {
					var done func()
					_, done, err = q.changes()
					done()
				}
				if err == nil && q.q.wants(Live) {
					_, err = q.liveThen()
				}
				if err == nil && q.q.wants(Peak) {
					_, err = q.liveAtPeak()
				}
				return err
			})
		}
	}
	b.Run("values-bytes", values(Bytes))
	b.Run("values-live", values(Live))
	b.Run("values-all", values(all...))
	b.Run("table", func(b *testing.B) {
		measure(b, func() error { _, err := Flat(b.Context(), s, ask(Bytes)); return err })
	})
	b.Run("tree", func(b *testing.B) {
		measure(b, func() error { _, err := TopDown(b.Context(), s, ask(Live), Trim{Share: .001}); return err })
	})
	b.Run("tree-2000", func(b *testing.B) { // as the web app asks
		measure(b, func() error { _, err := Draw(b.Context(), s, ask(Bytes), Down, Trim{Nodes: 2000}); return err })
	})
	b.Run("page-200", func(b *testing.B) {
		measure(b, func() error {
			l, err := List(b.Context(), s, ask(Bytes))
			if err == nil {
				_, err = l.Page(PageOf{Order: Order{Query: true}, Limit: 200})
			}
			return err
		})
	})
	rise := func(rough int64) func(b *testing.B) {
		return func(b *testing.B) {
			measure(b, func() error {
				q := ask()
				q.By, q.Rough = ByStack, rough
				_, err := Explain(b.Context(), s, q, 10)
				return err
			})
		}
	}
	b.Run("rise", rise(s.Pixel()))
	b.Run("exact-rise", rise(0))
	b.Run("quick-growth", func(b *testing.B) {
		measure(b, func() error {
			_, _, err := QuickGrowth(b.Context(), s, max(16<<10, s.Profile.Totals.Peak.Bytes/50)/8)
			return err
		})
	})
	index, err := s.chart.Load().grouped(b.Context(), s, &Query{})
	if err != nil {
		b.Fatal(err)
	}
	groups, widest := index.groups, 0
	for i := range groups {
		if len(index.ranks[i]) > len(index.ranks[widest]) {
			widest = i
		}
	}
	b.Run("curve", func(b *testing.B) {
		measure(b, func() error {
			g := groups[rng.IntN(len(groups))]
			_, err := CurveOf(b.Context(), s, &Query{}, func(x *Group) bool { return *x == g })
			return err
		})
	})
	b.Run("curve-widest", func(b *testing.B) { // of the function that is called from the most places
		measure(b, func() error {
			_, err := CurveOf(b.Context(), s, &Query{}, func(x *Group) bool { return *x == groups[widest] })
			return err
		})
	})
	b.Run("curve-all", func(b *testing.B) {
		measure(b, func() error {
			_, err := CurveOf(b.Context(), s, &Query{}, func(x *Group) bool { return true })
			return err
		})
	})
	filter := Query{Focus: each("(?i)dict|list")}
	b.Run("curve-filter", func(b *testing.B) {
		measure(b, func() error { _, err := CurveOf(b.Context(), s, &filter, nil); return err })
	})
	b.Run("first-curve", func(b *testing.B) { // with nothing known of groups
		measure(b, func() error {
			s.UseAtlas(a)
			_, err := CurveOf(b.Context(), s, &Query{}, func(x *Group) bool { return false })
			return err
		})
	})
	b.Run("first-filter", func(b *testing.B) {
		measure(b, func() error {
			s.recent.Store(nil)
			_, err := CurveOf(b.Context(), s, &filter, nil)
			return err
		})
	})
}

// measure reports the CPU time of a question, too: on a busy machine it varies less.
func measure(b *testing.B, ask func() error) {
	from := cpu()
	for b.Loop() {
		if err := ask(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu()-from)/1e6/float64(b.N), "cpu-ms/op")
}
