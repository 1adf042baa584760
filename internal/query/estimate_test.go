package query

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDraw: each block of a range is in one stratum, and each stratum has one block that stands for all of it.
func TestDraw(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		n := 20 + rng.IntN(300)
		m := 10 + rng.IntN(n/2-9)
		var differs []float64
		if rng.IntN(4) > 0 {
			differs = make([]float64, n)
			for i := range differs {
				if rng.IntN(5) == 0 {
					differs[i] = rng.ExpFloat64()
				}
			}
			differs[n/2] = 50 // another phase begins
		}
		d := newDraw(7, n, m, differs, rng.Uint64())
		at, middle := 7, false
		for i, w := range d.weights {
			middle = middle || at == 7+n/2
			if b := d.blocks[i]; w < 1 || b < at || b >= at+int(w) {
				t.Fatalf("block %d stands for %d from %d on", b, w, at)
			}
			at += int(w)
		}
		if at != 7+n || d.Blocks != len(d.blocks) || d.Of != n || d.Blocks > m+1 || d.Blocks < m/2 {
			t.Fatalf("%d of %d blocks, %d wanted; they end at %d", d.Blocks, n, m, at)
		}
		if differs != nil && !middle {
			t.Fatalf("of %d blocks, no stratum begins with the other phase: %v", n, d.weights)
		}
	}
}

// TestEstimate compares estimates with a count block by block: each group is the sum of what it has in the blocks that
// were chosen, as often as these count, and its margin the one that these values have.
func TestEstimate(t *testing.T) {
	t.Parallel()
	known, unknown := 0, 0
	sums := []Metric{Bytes, Allocations, FreedBytes, Temporary, Slack, Reallocations, Churn}
	for seed := range uint64(12) {
		s, events := random(t, seed, 4000)
		rng := rand.New(rand.NewPCG(seed, 4))
		for range 6 {
			q := &Query{By: []By{ByFunction, ByStack, ByThread, BySizeClass, ByLine, ByRegionName}[rng.IntN(6)],
				Metrics:  sums[rng.IntN(4):],
				Sizes:    &Interval{0, 1 << rng.IntN(11)},
				Estimate: &Sample{Events: 500, Seed: rng.Uint64()}}
			if rng.IntN(2) == 0 {
				from := rng.Uint64N(1000)
				q.Range = &Range{from, from + 2000 + rng.Uint64N(uint64(len(events))-3000)}
			}
			got, err := Flat(t.Context(), s, q)
			if err != nil {
				t.Fatal(err)
			}
			if got.Estimate == nil {
				if blocks := s.Reader.EventBlocks().Len(); blocks > 200 {
					t.Fatalf("seed %d: no estimate from %d blocks", seed, blocks)
				}
				continue
			}
			a := newTestDraw(t, s, q)
			m := blockByBlock(t, s, q, a)
			for i := range got.Rows {
				row := &got.Rows[i]
				k, u := m.compare(t, q, a.draw, "self", row.Group, &row.Self)
				known, unknown = known+k, unknown+u
				m.compare(t, q, a.draw, "total", row.Group, &row.Total)
			}
			m.compare(t, q, a.draw, "all", Group{}, &got.Total)
			if len(got.Rows) != m.groups {
				t.Fatalf("%d rows, want %d", len(got.Rows), m.groups)
			}
			compareShapes(t, s, q, got)
		}
	}
	if known < 100 || unknown < 100 {
		t.Errorf("%d intervals and %d estimates without one", known, unknown)
	}
}

func newTestDraw(t *testing.T, s *Source, q *Query) *ask {
	t.Helper()
	a, err := newAsk(t.Context(), s, q)
	if err != nil {
		t.Fatal(err)
	}
	if a.estimate(); a.draw == nil {
		t.Fatal("no blocks were chosen")
	}
	return a
}

// blocksModel has the values of groups in each block that was chosen.
type blocksModel struct {
	values map[string]map[Group][]Values
	groups int
	span   int64
}

func blockByBlock(t *testing.T, s *Source, q *Query, a *ask) *blocksModel {
	t.Helper()
	m := &blocksModel{values: map[string]map[Group][]Values{"self": {}, "total": {}, "all": {}}, span: a.Span}
	add := func(side string, g Group, block int, v Values) {
		list := m.values[side][g]
		if list == nil {
			list = make([]Values, len(a.draw.blocks))
			m.values[side][g] = list
		}
		list[block] = v
	}
	for i, b := range a.draw.blocks {
		h := s.Reader.EventBlocks().Head(b)
		one := *q
		one.Estimate, one.Range = nil, &Range{max(h.FirstEvent, a.From), min(h.FirstEvent+h.Events, a.To)}
		table, err := Flat(t.Context(), s, &one)
		if err != nil {
			t.Fatal(err)
		}
		for k := range table.Rows {
			row := &table.Rows[k]
			row.Stack = sameStack(s, row.Group)
			add("self", row.Group, i, row.Self)
			add("total", row.Group, i, row.Total)
		}
		add("all", Group{}, i, table.Total)
	}
	m.groups = len(m.values["total"])
	return m
}

// sameStack returns a number that is the same for call stacks with the same text.
func sameStack(s *Source, g Group) uint32 {
	if g.By != ByStack || g.Unknown {
		return 0
	}
	hash := uint32(1)
	for _, f := range s.Frames(g.Stack) {
		for _, c := range f.Function + f.File + f.Module {
			hash = hash*31 + uint32(c)
		}
		hash = hash*31 + f.Line + uint32(f.Offset)
	}
	return hash
}

// compare compares the values of a group, and counts its intervals and the estimates without one.
func (m *blocksModel) compare(t *testing.T, q *Query, d *draw, side string, g Group, got *Values) (known, unknown int) {
	t.Helper()
	if g.By == ByStack {
		return 0, 0 // TestEstimate compares their sum
	}
	list := m.values[side][g]
	if list == nil {
		list = make([]Values, len(d.blocks))
	}
	for _, metric := range q.metrics() {
		sum, in := 0.0, 0
		values := make([]float32, len(list))
		for i := range list {
			x := metric.Of(&list[i], 1e9)
			values[i] = float32(x)
			sum += x * float64(d.weights[i])
			if x > 0 {
				in++
			}
		}
		if x := metric.Of(got, 1e9); x != sum {
			t.Fatalf("%s of %+v, %s: %g, want %g", metric, g, side, x, sum)
		}
		margin, ok := metric.Margin(got, 1e9)
		want, has := d.margin(values)
		if ok != has || ok != (in >= LeastBlocks) || math.Abs(margin-want) > 1e-6*want {
			t.Fatalf("%s of %+v, %s in %d blocks: ± %g %v, want %g %v", metric, g, side, in, margin, ok, want, has)
		}
		if ok {
			known++
		} else {
			unknown++
		}
	}
	return known, unknown
}

// compareShapes compares trees and a sandwich with a table of the same sample.
func compareShapes(t *testing.T, s *Source, q *Query, table *Table) {
	t.Helper()
	margins := func(v *Values) []float64 {
		var list []float64
		for _, m := range q.metrics() {
			x, ok := m.Margin(v, 1e9)
			if list = append(list, m.Of(v, 1e9), x); !ok {
				list[len(list)-1] = -1
			}
		}
		return list
	}
	for _, shape := range []Shape{Down, Up} {
		o, err := Draw(t.Context(), s, q, shape, Trim{})
		if err != nil {
			t.Fatal(err)
		}
		root := o.Total.Values(0)
		if d := cmp.Diff(margins(&table.Total), margins(&root)); d != "" || o.Estimate == nil {
			t.Fatalf("shape %d of %+v: %s", shape, q, d)
		}
		if shape == Up || q.By.Nests() {
			continue
		}
		of := map[Group][]float64{}
		for i := range table.Rows {
			of[table.Rows[i].Group] = margins(&table.Rows[i].Total)
		}
		for i, p := range o.Parent {
			if p != 0 || q.By == ByStack {
				continue
			}
			v := o.Total.Values(i)
			if d := cmp.Diff(of[o.Groups[o.Group[i]]], margins(&v)); d != "" {
				t.Fatalf("%+v: %s", o.Groups[o.Group[i]], d)
			}
		}
	}
	if q.By != ByFunction {
		return
	}
	for i := range table.Rows {
		row := &table.Rows[i]
		o, err := DrawSandwich(t.Context(), s, q, func(g *Group) bool { return *g == row.Group }, Trim{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([][]float64{margins(&row.Self), margins(&row.Total)},
			[][]float64{margins(&o.Self), margins(&o.Totals)}); d != "" {
			t.Fatalf("%+v: %s", row.Group, d)
		}
	}
}

// TestNoEstimate: what is no sum over blocks of events is counted, and so is what is read at once.
func TestNoEstimate(t *testing.T) {
	t.Parallel()
	s, events := random(t, 5, 6000)
	sizes := &Interval{0, 1 << 10}
	quick := &Sample{Events: 500}
	if got, err := Flat(t.Context(), s, &Query{Sizes: sizes, Estimate: quick}); err != nil || got.Estimate == nil {
		t.Fatalf("%+v, %v", got.Estimate, err)
	}
	for _, m := range Metrics() {
		switch m {
		case Allocations, Bytes, Deallocations, FreedBytes, Temporary, TemporaryBytes, ZeroSize, Slack, Reallocations,
			Churn:
			if !m.Estimable() {
				t.Errorf("%s is a sum", m)
			}
			continue
		}
		got, err := Flat(t.Context(), s, &Query{Sizes: sizes, Metrics: []Metric{Bytes, m}, Estimate: quick})
		if err != nil || got.Estimate != nil {
			t.Errorf("%s is estimated: %+v, %v", m, got.Estimate, err)
		}
	}
	for _, q := range []*Query{
		{Sizes: sizes, Lifetimes: &Interval{0, 1000}}, {Sizes: sizes, FreedBy: []uint32{0}}, {By: ByAllocation}, {},
		{Sizes: sizes, Range: &Range{0, 1000}}, {Sizes: sizes, Range: &Range{10, 10}},
		{Sizes: sizes, Estimate: &Sample{Events: uint64(len(events))}}, {Sizes: sizes, Estimate: &Sample{}},
	} {
		one := *q
		if q.Estimate == nil {
			one.Estimate = quick
		}
		got, err := Flat(t.Context(), s, &one)
		if err != nil || got.Estimate != nil {
			t.Fatalf("%+v: %+v, %v", q, got.Estimate, err)
		}
		if one.Estimate = nil; !slices.EqualFunc(got.Rows, must(Flat(t.Context(), s, &one)).Rows, Row.equals) {
			t.Errorf("%+v: not the exact answer", q)
		}
	}
}

func (r Row) equals(o Row) bool {
	return r.Group == o.Group && r.Total.Bytes == o.Total.Bytes && r.Self.Bytes == o.Self.Bytes
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestEstimateDamaged: if a block that was chosen cannot be read, the answer is the exact one, of what is whole.
func TestEstimateDamaged(t *testing.T) {
	t.Parallel()
	r, frames := randomProgram(t, 8, 6000)
	whole := r.source(frames)
	q := &Query{Sizes: &Interval{0, 1 << 10}, Estimate: &Sample{Events: 500}}
	a := newTestDraw(t, whole, q)
	first := make(map[uint64]bool) // events with which blocks that were chosen begin
	for _, i := range a.draw.blocks {
		first[whole.Reader.EventBlocks().Head(i).FirstEvent] = true
	}
	tried := map[bool]int{}
	for _, b := range whole.Reader.Blocks() {
		chosen := first[b.FirstEvent]
		if b.Threads == 0 || tried[chosen] == 8 {
			continue
		}
		tried[chosen]++
		s := flipped(t, r.path, b.Offset+b.Size-1)
		got, err := Flat(t.Context(), s, q)
		if err != nil || (got.Estimate != nil) == chosen {
			t.Fatalf("block of event %d, chosen %v: %+v, %v", b.FirstEvent, chosen, got.Estimate, err)
		}
		if !chosen {
			continue
		}
		exact := *q
		exact.Estimate = nil
		want, err := Flat(t.Context(), s, &exact)
		if err != nil || got.Missing != want.Missing || got.Missing == "" ||
			!slices.EqualFunc(got.Rows, want.Rows, Row.equals) || got.Total.Margins != nil {
			t.Errorf("block of event %d: missing %q, want %q: %v", b.FirstEvent, got.Missing, want.Missing, err)
		}
	}
	if tried[true] < 8 || tried[false] < 8 {
		t.Errorf("damaged were %v", tried)
	}
}

// TestStudentQuantile compares with a table of Student's distribution.
func TestStudentQuantile(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ freedom, want float64 }{{1, 12.706}, {2, 4.303}, {7, 2.365}, {9, 2.262}, {12, 2.179},
		{25, 2.060}, {40, 2.021}, {100, 1.984}, {1e9, 1.960}} {
		if got := studentQuantile(x.freedom); math.Abs(got-x.want) > 0.006 {
			t.Errorf("%g degrees: %.4f, want %.3f", x.freedom, got, x.want)
		}
	}
}
