package query

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// sampledSource returns a random program of which every other allocation is a sample, and its weighed events.
func sampledSource(t *testing.T, seed uint64, n int) (*Source, []event.Event) {
	t.Helper()
	exact, events := random(t, seed, n)
	path := filepath.Join(t.TempDir(), "sampled.htap")
	w, err := recording.Create(path, event.Process{PID: 1, Sampling: event.Sampling{Bytes: 64 << (seed % 8)}},
		recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	exact.Reader.PCs().All(func(i uint32, p event.PC) bool { w.PC(i, p); return true })
	exact.Reader.Nodes().All(func(i uint32, n event.Node) bool { w.Node(i, n); return true })
	for i, th := range exact.Reader.Threads() {
		w.Thread(uint32(i), th)
	}
	for _, m := range exact.Reader.Modules() {
		w.Module(m)
	}
	allocs := uint64(0)
	for i := range events {
		e := &events[i]
		ref := e.Ref
		if e.Kind == event.Alloc {
			ref = allocs
			allocs++
		}
		if e.Kind <= event.Free && ref%2 == 0 {
			e.Flags = e.Flags&^event.Temporary | event.Sampled
		}
		if err := w.Event(e); err != nil {
			t.Fatal(err)
		}
		if i%50 == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(recording.Ending{End: events[len(events)-1].Time}); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, events
}

// TestSampledAnswers: estimates and their standard errors equal the sums of the definition, for any range and filter;
// those of the whole run equal its tally.
func TestSampledAnswers(t *testing.T) {
	t.Parallel()
	metrics := []Metric{Allocations, Bytes, Deallocations, FreedBytes, Live, LiveBlocks, Leaked, LeakedBlocks, Peak,
		PeakBlocks, OwnPeak, Slack, ZeroSize}
	for seed := range uint64(25) {
		s, events := sampledSource(t, seed, 300)
		for _, q := range []*Query{{}, {Range: &Range{50, 210}}, {Sizes: &Interval{20, 200}},
			{Range: &Range{0, 150}, Threads: []uint32{0}}} {
			q.By, q.Metrics = ByStack, metrics
			got, err := Flat(t.Context(), s, q)
			if err != nil {
				t.Fatal(err)
			}
			from, to := uint64(0), uint64(len(events))
			if q.Range != nil {
				from, to = q.Range.From, q.Range.To
			}
			want, errs := map[Metric]float64{}, map[Metric]float64{}
			born := map[uint64]uint64{} // event of an allocation
			allocs := uint64(0)
			for i := range events {
				e, n := &events[i], uint64(i)
				if e.Kind > event.Free {
					continue
				}
				ref, by := e.Ref, e.BornBy
				sign := -1.
				if e.Kind == event.Alloc {
					ref, by, sign = allocs, e.Thread, 1
					born[ref] = n
					allocs++
				}
				if !q.Sizes.Has(e.Size) || q.Threads != nil && by != 0 {
					continue
				}
				blocks, bytes := e.Weight()
				vn, vb := e.Variance()
				add := func(m, b Metric, sign float64) {
					want[m] += sign * float64(blocks)
					want[b] += sign * float64(bytes)
					errs[m] += sign * vn
					errs[b] += sign * vb
				}
				in := from <= n && n < to
				switch {
				case in && sign > 0:
					add(Allocations, Bytes, 1)
				case in:
					add(Deallocations, FreedBytes, 1)
				}
				if n < to {
					add(LiveBlocks, Live, sign)
				}
				if n < got.PeakAt {
					add(PeakBlocks, Peak, sign)
				}
				if b := born[ref]; from <= b && b < to {
					add(LeakedBlocks, Leaked, sign)
				}
			}
			sums := map[Metric]float64{}
			for i := range got.Rows {
				for m := range want {
					sums[m] += m.Of(&got.Rows[i].Total, got.Span)
				}
			}
			for m, v := range want {
				e, _ := m.StandardError(&got.Total, got.Span)
				if m.Of(&got.Total, got.Span) != v || sums[m] != v || math.Abs(e*e-errs[m]) > 1e-6*(1+errs[m]) {
					t.Errorf("seed %d, %+v: %s is %v ± %v, its rows %v; want %v ± %v", seed, q.Range, m,
						m.Of(&got.Total, got.Span), e, sums[m], v, math.Sqrt(max(errs[m], 0)))
				}
			}
			if q.Range == nil && q.Sizes == nil && q.Threads == nil {
				a, v := &s.sum.Totals, &got.Total
				if a.Allocations != v.Allocations || a.LeakedBytes() != v.LeakedBytes || a.Peak.Bytes != v.PeakBytes ||
					a.Peak.Bytes != v.OwnPeak ||
					a.Slack != v.Slack || a.ZeroSize != v.ZeroSize || got.Plan != FromEvents {
					t.Errorf("seed %d: %+v, the tally says %+v", seed, v, a)
				}
			}
		}
	}
}
