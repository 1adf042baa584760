package query

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile/profiletest"
	"github.com/heaptap/heaptap/internal/recording/atlas"
)

// withAtlas gives a source an atlas of that many steps.
func withAtlas(t testing.TB, s *Source, steps int) *atlas.Atlas {
	t.Helper()
	a, err := atlas.Build(t.Context(), s.Reader, atlas.Options{Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	s.UseAtlas(a)
	return a
}

// roughQuery is a random query that an atlas can answer.
func roughQuery(rng *rand.Rand, s *Source, n uint64) *Query {
	q := randomQuery(rng, s, n)
	q.Threads, q.FreedBy, q.Sizes, q.OldSizes, q.Lifetimes, q.Regions = nil, nil, nil, nil, nil, nil
	if q.By.ofBlocks() {
		q.By = ByFunction
	}
	q.Metrics = nil
	for _, m := range Metrics() {
		if m.inAtlas() && rng.IntN(3) > 0 {
			q.Metrics = append(q.Metrics, m)
		}
	}
	if q.Metrics == nil {
		q.Metrics = []Metric{Peak}
	}
	return q
}

// TestRough: a rough answer is that of a scan of all events between the cuts that it states, and the exact answer there
// in everything else. The cuts are next to those of the question.
func TestRough(t *testing.T) {
	t.Parallel()
	rough, same, exact := 0, 0, 0
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 9))
		s, events := random(t, seed, []int{1, 30, 120, 250}[seed%4])
		a := withAtlas(t, s, []int{1, 3, 20, 1000}[seed/4%4])
		for range 25 {
			q := roughQuery(rng, s, uint64(len(events)))
			q.Rough = 2 * s.Profile.Duration / int64(len(a.Ends())-1)
			if rng.IntN(4) == 0 {
				q.Rough = rng.Int64N(q.Rough + 1)
			}
			got, err := Flat(t.Context(), s, q)
			if err != nil {
				t.Fatalf("seed %d, %+v: %v", seed, q, err)
			}
			checkMoved(t, a, q, &got.Answer, uint64(len(events)))
			switch {
			case got.Rough:
				rough++
			case got.Plan == FromAtlas:
				same++
			default:
				exact++
				continue
			}
			there := *q
			there.Range, there.At, there.Rough = &Range{got.From, got.To}, &got.At, 0
			m := newModel(s, events, &there)
			if slices.Contains(got.Metrics, Peak) && got.PeakAt != m.peak {
				t.Fatalf("seed %d, %+v: the peak is at %d, want %d", seed, q, got.PeakAt, m.peak)
			}
			all := m.values(func(_ uint64, b *event.Event) bool { return m.names(b.Stack) != nil })
			if d := cmp.Diff(only(all, got.Metrics), only(got.Total, got.Metrics)); d != "" {
				t.Fatalf("seed %d, %+v: all:\n%s", seed, q, d)
			}
			for _, r := range got.Rows {
				if q.By == ByStack {
					break
				}
				self := m.values(func(_ uint64, b *event.Event) bool { return slices.Index(m.of(b), r.Group) == 0 })
				total := m.values(func(_ uint64, b *event.Event) bool { return slices.Contains(m.of(b), r.Group) })
				if d := cmp.Diff([]map[string]float64{only(self, got.Metrics), only(total, got.Metrics)},
					[]map[string]float64{only(r.Self, got.Metrics), only(r.Total, got.Metrics)}); d != "" {
					t.Fatalf("seed %d, %+v: %+v:\n%s", seed, q, r.Group, d)
				}
			}
			compareExact(t, s, q, &there, m)
		}
	}
	if rough < 50 || same < 50 || exact < 10 {
		t.Errorf("%d answers were rough, %d from an atlas at the question's own cuts, %d exact", rough, same, exact)
	}
}

// checkMoved checks that the cuts of an answer are next to those of the question.
func checkMoved(t *testing.T, a *atlas.Atlas, q *Query, got *Answer, last uint64) {
	t.Helper()
	asked := Range{0, last}
	if q.Range != nil {
		asked = *q.Range
	}
	at := asked.To
	if q.At != nil {
		at = *q.At
	}
	for _, c := range [][2]uint64{{asked.From, got.From}, {asked.To, got.To}, {at, got.At}} {
		if !got.Rough {
			if c[0] != c[1] {
				t.Fatalf("%d was moved to %d, and the answer is not rough", c[0], c[1])
			}
			continue
		}
		before, after, ok := a.Around(c[0])
		if list := a.Moments(); !ok || c[1] != list[before].Cut && c[1] != list[after].Cut {
			t.Fatalf("%d was moved to %d", c[0], c[1])
		}
	}
}

// compareExact compares answers of all kinds to a rough question with those to the same one where it was moved to.
func compareExact(t *testing.T, s *Source, rough, there *Query, m *model) {
	t.Helper()
	answers := func(q *Query) (list []any) {
		add := func(a *Answer, err error, x any) {
			if err != nil {
				t.Fatal(err)
			}
			if q == rough && a.Plan != FromAtlas {
				t.Fatalf("%+v was answered from %s", q, a.Plan)
			}
			a.Plan, a.Rough = 0, false
			list = append(list, *a, x)
		}
		flat, err := Flat(t.Context(), s, q)
		add(&flat.Answer, err, figures(flat.Metrics, flat.Rows, m))
		down, err := TopDown(t.Context(), s, q, Trim{})
		add(&down.Answer, err, outline(down.Metrics, down.Root))
		up, err := BottomUp(t.Context(), s, q, Trim{})
		add(&up.Answer, err, outline(up.Metrics, up.Root))
		both, err := Sandwich(t.Context(), s, q, func(g *Group) bool { return g.Function == "b" }, Trim{})
		add(&both.Answer, err, []any{outline(both.Metrics, both.Callers), outline(both.Metrics, both.Callees)})
		stacks, err := Stacks(t.Context(), s, q)
		var rows []Row
		for _, r := range stacks.Rows {
			rows = append(rows, Row{Group: Group{Stack: r.Stack}, Total: r.Values})
		}
		add(&stacks.Answer, err, figures(stacks.Metrics, rows, nil))
		return list
	}
	want, got := answers(there), answers(rough)
	for i := range want {
		if a, ok := want[i].(Answer); ok { // totals may have more than the metrics need
			b := got[i].(Answer)
			want[i], got[i] = only(a.Total, a.Metrics), only(b.Total, b.Metrics)
			if a.Total, b.Total = (Values{}), (Values{}); cmp.Diff(a, b, sameExpressions) != "" {
				t.Fatalf("%+v:\n%s", rough, cmp.Diff(a, b, sameExpressions))
			}
		}
		if d := cmp.Diff(want[i], got[i]); d != "" {
			t.Fatalf("%+v, part %d:\n%s", rough, i, d)
		}
	}
}

// figures are what the rows of a table have of the metrics. If the groups are whole stacks, the model says which ones
// have the same text.
func figures(metrics []Metric, rows []Row, m *model) map[any][2]map[string]float64 {
	list := make(map[any][2]map[string]float64)
	for _, r := range rows {
		key := any(r.Group)
		if m != nil && r.By == ByStack {
			key = read(m.names(r.Stack))
		}
		list[key] = [2]map[string]float64{only(r.Self, metrics), only(r.Total, metrics)}
	}
	return list
}

// outline is what the nodes of a tree have of the metrics, by path. Those that have nothing are left out.
func outline(metrics []Metric, n *Node) map[string]map[string]float64 {
	m := make(map[string]map[string]float64)
	var visit func(path string, n *Node)
	visit = func(path string, n *Node) {
		path += read([]Group{n.Group})
		if total := only(n.Total, metrics); slices.Max(slices.Collect(maps.Values(total))) > 0 {
			m[path], m[path+"self"] = total, only(n.Self, metrics)
		}
		for _, c := range n.Children {
			visit(path, c)
		}
	}
	visit("", n)
	return m
}

// TestSampledIsExact: the standard errors of estimates need the events, so answers from samples are not rough. Curves
// have no errors.
func TestSampledIsExact(t *testing.T) {
	t.Parallel()
	s, _ := sampledSource(t, 2, 250)
	withAtlas(t, s, 7)
	table, err := Flat(t.Context(), s, &Query{Range: &Range{From: 10, To: 200}, Rough: s.Profile.Duration})
	if err != nil || table.Rough || table.Plan != FromEvents || table.From != 10 {
		t.Errorf("%+v, %v", table.Answer, err)
	}
	all, err := Flat(t.Context(), s, &Query{Metrics: []Metric{Live}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := CurveOf(t.Context(), s, &Query{}, nil)
	if err != nil || c.Live[len(c.Live)-1] != all.Total.LiveBytes {
		t.Errorf("%+v at the end, want %d, %v", c, all.Total.LiveBytes, err)
	}
}

// TestOlderAtlas: an atlas of a recording that has grown since answers as far as it goes.
func TestOlderAtlas(t *testing.T) {
	t.Parallel()
	r, frames := randomProgram(t, 7, 200)
	if err := r.w.Flush(); err != nil {
		t.Fatal(err)
	}
	early, err := Open(r.path)
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close()
	a := withAtlas(t, early, 10)
	for range 200 {
		r.now += 100
		r.alloc(0, 1, 8, event.Malloc, 0)
	}
	s := r.source(frames)
	s.UseAtlas(a)
	for _, c := range []struct {
		Range
		plan Plan
	}{{Range{3, 150}, FromAtlas}, {Range{3, 200}, FromAtlas}, {Range{3, 201}, FromSummaries},
		{Range{250, 300}, FromSummaries}} {
		got, err := Flat(t.Context(), s, &Query{Range: &c.Range, Rough: s.Profile.Duration})
		if err != nil || got.Plan != c.plan || c.plan != FromAtlas && (got.Rough || got.From != c.From) {
			t.Errorf("%+v: %+v, %v", c, got.Answer, err)
		}
	}
}

// TestExact: what an atlas lacks is answered exactly, of the range that was asked for; so is a range that would be
// empty, and one of which the ends would move too far.
func TestExact(t *testing.T) {
	t.Parallel()
	s, events := random(t, 6, 120)
	a := withAtlas(t, s, 4)
	middle := a.Moments()[a.Ends()[2]].Cut
	for _, q := range []Query{
		{Metrics: []Metric{OwnPeak}}, {Metrics: []Metric{Bytes, Copied}}, {Metrics: []Metric{Slack}},
		{Metrics: []Metric{Mapped}}, {Threads: []uint32{0}}, {Sizes: &Interval{1, 9}}, {By: ByThread},
		{By: BySizeClass}, {Rough: 1}, {Range: &Range{middle - 1, middle + 1}},
	} {
		if q.Range == nil {
			q.Range = &Range{5, uint64(len(events)) - 5}
		}
		if q.Rough == 0 {
			q.Rough = s.Profile.Duration
		}
		got, err := Flat(t.Context(), s, &q)
		if err != nil || got.Rough || got.Plan == FromAtlas || got.From != q.Range.From || got.To != q.Range.To {
			t.Errorf("%+v: %+v, %v", q, got.Answer, err)
		}
	}
	q := &Query{Range: &Range{5, uint64(len(events)) - 5}, Rough: s.Profile.Duration}
	h, err := Distribute(t.Context(), s, q)
	if err != nil || h.Rough || h.From != 5 {
		t.Errorf("histogram: %+v, %v", h.Answer, err)
	}
	series, err := Develop(t.Context(), s, q, 3, 2)
	if err != nil || series.Rough || series.From != 5 {
		t.Errorf("series: %+v, %v", series.Answer, err)
	}
	if _, err := Events(t.Context(), s, q, func(n, _ uint64, _ *event.Event) error {
		if n < 5 {
			t.Errorf("event %d", n)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestNearestCut: times become cuts of the atlas without decoding, if they are near one.
func TestNearestCut(t *testing.T) {
	t.Parallel()
	s, _ := random(t, 6, 250)
	if _, ok := s.NearestCut(0, 1<<60); ok {
		t.Error("a cut of no atlas")
	}
	a := withAtlas(t, s, 8)
	for _, i := range a.Ends() {
		m := a.Moments()[i]
		if cut, ok := s.NearestCut(m.Time, 0); !ok || cut != m.Cut {
			t.Errorf("at %d: %d, %v", m.Time, cut, ok)
		}
	}
	if _, ok := s.NearestCut(a.Moments()[0].Time+20, 10); ok {
		t.Error("a cut that is not near")
	}
}

// TestRoughOfRecordings compares rough answers with exact ones in the recording of a server, and in the one that
// HEAPTAP_RECORDING names. Ends may move by a pixel.
func TestRoughOfRecordings(t *testing.T) {
	t.Parallel()
	server := filepath.Join(t.TempDir(), "server.htap")
	profiletest.Server(t, server)
	paths := []string{server}
	if path := os.Getenv("HEAPTAP_RECORDING"); path != "" {
		paths = append(paths, path)
	}
	for _, path := range paths {
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		a := withAtlas(t, s, 0)
		rng := rand.New(rand.NewPCG(3, 5))
		fromAtlas := 0
		for range 20 {
			from, to := rng.Uint64N(s.last+1), rng.Uint64N(s.last+1)
			q := &Query{Range: &Range{min(from, to), max(from, to)}, Rough: s.Pixel()}
			for _, m := range Metrics() {
				if m.inAtlas() {
					q.Metrics = append(q.Metrics, m)
				}
			}
			got, err := Flat(t.Context(), s, q)
			if err != nil {
				t.Fatal(err)
			}
			checkMoved(t, a, q, &got.Answer, s.last)
			if got.Plan != FromAtlas {
				continue
			}
			fromAtlas++
			there := *q
			there.Range, there.At, there.Rough = &Range{got.From, got.To}, &got.At, 0
			want, err := Flat(t.Context(), s, &there)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(figures(want.Metrics, want.Rows, nil), figures(got.Metrics, got.Rows, nil)); d != "" {
				t.Fatalf("%s, %+v:\n%s", path, got.Answer, d)
			}
			if want.Begin != got.Begin || want.Span != got.Span || want.PeakAt != got.PeakAt {
				t.Fatalf("%s: %+v, want %+v", path, got.Answer, want.Answer)
			}
			for _, end := range [][2]uint64{{q.Range.From, got.From}, {q.Range.To, got.To}} {
				if span := spanOf(t, s, min(end[0], end[1]), max(end[0], end[1])); span > s.Pixel() {
					t.Errorf("%s: %d was moved to %d, past events in %d ns; a pixel is %d", path, end[0], end[1],
						span, s.Pixel())
				}
			}
		}
		if fromAtlas == 0 {
			t.Errorf("%s: the atlas answered nothing", path)
		}
	}
}

// spanOf returns the time from the first to the last event between two cuts, ns.
func spanOf(t *testing.T, s *Source, from, to uint64) int64 {
	t.Helper()
	if from == to {
		return 0
	}
	first, err := s.Reader.TimeAt(from + 1)
	if err != nil {
		t.Fatal(err)
	}
	last, err := s.Reader.TimeAt(to)
	if err != nil {
		t.Fatal(err)
	}
	return last - first
}
