// Package estimates measures how often the intervals of estimates (docs/queries.md) have the true value in them.
package estimates

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
	"github.com/heaptap/heaptap/tests/programs"
)

func TestMain(m *testing.M) { kit.Main(m) }

// draws is how often each recording is sampled, and least the share of intervals that must have the true value in them,
// of all that claim to have it in 95 of 100.
const (
	draws = 1000
	least = 0.90
	// fewer is by how much less a histogram may have: it is sampled a quarter as often, so chance moves it more.
	fewer = 0.02
)

// eventsOfBlock is how many events the blocks of the recordings have: those of a recording of this size would be few.
const eventsOfBlock = 512

// recorded is a recording with many small blocks of events.
type recorded struct {
	name  string
	fresh bool   // the rule was not chosen by it
	last  uint64 // how many events it has
	*query.Source
}

// TestCoverage: of 1,000 samples of each of the recordings, at least 900 have the true sums in their intervals: of all
// that a filter of sizes selects, of each class of sizes, and of each function, as far as there is an interval.
func TestCoverage(t *testing.T) {
	t.Parallel()
	for _, r := range record(t) {
		t.Run(r.name, func(t *testing.T) {
			least := least
			classes := r.try(t, query.BySizeClass, draws)
			functions := r.try(t, query.ByFunction, draws/20)
			sizes, lifetimes := r.tryHistogram(t, draws/4)
			t.Logf("%d events; all %s; classes of sizes %s; functions %s; histogram: sizes %s, lifetimes %s", r.last,
				&classes.all, &classes.groups, &functions.groups, &sizes, &lifetimes)
			for _, c := range []*covered{&classes.all, &classes.groups, &functions.groups, &sizes, &lifetimes} {
				if c == &sizes {
					least -= fewer
				}
				if c.of < 100 || float64(c.within) < least*float64(c.of) {
					t.Errorf("%s; want at least %.2f of all", c, least)
				}
			}
			if mean := classes.all.width / float64(classes.all.of); mean > 0.3 && !r.fresh {
				t.Errorf("intervals are ± %.2f: they say nothing", mean)
			}
		})
	}
}

// covered counts intervals, and those that have the true value in them.
type covered struct {
	within, of int
	unknown    int     // estimates without interval
	width      float64 // sum of margins, as shares of the true value
}

func (c *covered) String() string {
	return fmt.Sprintf("%.1f %% of %d, ± %.1f %% on average, %d without interval",
		100*float64(c.within)/float64(c.of), c.of, 100*c.width/float64(c.of), c.unknown)
}

// count compares a value with the true one.
func (c *covered) count(m query.Metric, got, want *query.Values) {
	margin, ok := m.Margin(got, 1)
	if !ok {
		c.unknown++
		return
	}
	c.of++
	truth := m.Of(want, 1)
	c.width += margin / truth
	if math.Abs(m.Of(got, 1)-truth) <= margin {
		c.within++
	}
}

// tried is how often the intervals of everything, and of groups, have the true value in them.
type tried struct{ all, groups covered }

// try samples a recording.
func (r *recorded) try(t *testing.T, by query.By, draws uint64) (c tried) {
	t.Helper()
	metrics := []query.Metric{query.Bytes, query.Allocations, query.FreedBytes}
	ask := func(e *query.Sample) *query.Table {
		table, err := query.Flat(t.Context(), r.Source, &query.Query{By: by, Metrics: metrics,
			Sizes: &query.Interval{Min: 32, Max: 1000}, Estimate: e})
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	exact := ask(nil)
	truth := make(map[query.Group]*query.Values)
	for i := range exact.Rows {
		truth[exact.Rows[i].Group] = &exact.Rows[i].Total
	}
	for seed := range draws {
		got := ask(&query.Sample{Events: r.last / 16, Seed: seed})
		if got.Estimate == nil || got.Estimate.Share() > 0.1 {
			t.Fatalf("%d events, read %+v", r.last, got.Estimate)
		}
		for _, m := range metrics {
			c.all.count(m, &got.Total, &exact.Total)
			for i := range got.Rows {
				row := &got.Rows[i]
				c.groups.count(m, &row.Total, truth[row.Group])
			}
		}
	}
	return c
}

// tryHistogram samples a recording for the classes of sizes and of lifetimes.
func (r *recorded) tryHistogram(t *testing.T, draws uint64) (sizes, lifetimes covered) {
	t.Helper()
	q := &query.Query{Sizes: &query.Interval{Min: 1, Max: 4000}}
	exact, err := query.Distribute(t.Context(), r.Source, q)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range draws {
		one := *q
		one.Estimate = &query.Sample{Events: r.last / 16, Seed: seed}
		got, err := query.EstimateSizes(t.Context(), r.Source, &one)
		if err != nil {
			t.Fatal(err)
		}
		for class := range query.Classes {
			sizes.countBlocks(got.Margins.Sizes[class], got.Sizes[class], exact.Sizes[class])
			lifetimes.countBlocks(got.Margins.Lifetimes[class], got.Lifetimes[class], exact.Lifetimes[class])
		}
	}
	return sizes, lifetimes
}

// countBlocks compares a number of blocks with the true one.
func (c *covered) countBlocks(margin float64, got, want query.Bucket) {
	switch {
	case got.Count == 0:
	case math.IsNaN(margin):
		c.unknown++
	default:
		c.of++
		c.width += margin / float64(want.Count)
		if math.Abs(float64(got.Count)-float64(want.Count)) <= margin {
			c.within++
		}
	}
}

// record records programs: a loop and an import of Python, and four shapes in C, by which the rule was chosen; and two
// that came later, so that they can tell whether it holds for others.
func record(t *testing.T) (list []recorded) {
	t.Helper()
	need.Tool(t, "python3")
	shapes := kit.Compile(t, "gcc", "-O1", "-g", "src/shapes.c", "-lpthread")
	need.Tool(t, "sqlite3")
	need.Tool(t, "perl")
	const table = "create table t(a, b); " +
		"with recursive c(x) as (select 1 union all select x+1 from c where x<20000) " +
		"insert into t select x, hex(randomblob(x % 40)) from c; create index i on t(b); " +
		"select count(*) from (select b, group_concat(a) from t group by substr(b, 1, 3)); " +
		"delete from t where a % 3 = 0;"
	const words = "my %h; for my $i (1..40000) { my @w = map { $_ x ($i % 7 + 1) } qw(a bc def); " +
		"$h{join('-', @w, $i % 900)} .= $i; delete $h{(keys %h)[0]} if $i % 1000 == 0 } print scalar keys %h"
	script := filepath.Join(t.TempDir(), "loop.py")
	if err := os.WriteFile(script, []byte(programs.PythonJSON(1)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, p := range [][]string{{"json", "python3", script},
		{"imports", "python3", "-c", "import json, asyncio, decimal, unittest, email.mime.text, http.server"},
		{"threads", shapes, "threads"}, {"bursts", shapes, "bursts"}, {"growing", shapes, "growing"},
		{"phases", shapes, "phases"}, {"sqlite", "sqlite3", ":memory:", table},
		{"perl", "perl", "-e", words}} {
		_, r := kit.Command{Env: []string{"PYTHONMALLOC=malloc", "PYTHONHASHSEED=0"}}.Record(t, nil, p[1:]...)
		s := divide(t, r)
		_, last := s.Reader.Cuts()
		list = append(list, recorded{p[0], p[0] == "sqlite" || p[0] == "perl", last, s})
	}
	return list
}

// divide writes a recording anew, with small blocks of events, and opens it.
func divide(t *testing.T, r *recording.Reader) *query.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.htap")
	w, err := recording.Create(path, r.Process(), recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, thread := range r.Threads() {
		w.Thread(uint32(i), thread)
	}
	for _, m := range r.Modules() {
		w.Module(m)
	}
	frames := r.Symbols()
	for pc := range frames {
		if p, ok := r.PCs().Get(pc); ok {
			w.PC(pc, p)
		}
	}
	nodes := r.Nodes()
	for id := uint32(1); int(id) <= nodes.Len(); id++ {
		if n, ok := nodes.Get(id); ok {
			w.Node(id, n)
		}
	}
	end := int64(0)
	if err := r.Walk(t.Context(), 0, math.MaxUint64, func(n, _ uint64, e *event.Event) bool {
		v := *e
		end = v.Time
		if err = w.Event(&v); err == nil && n%eventsOfBlock == eventsOfBlock-1 {
			err = w.Flush()
		}
		return err == nil
	}); err != nil {
		t.Fatal(err)
	}
	if err == nil {
		err = w.Symbols(frames)
	}
	if err == nil {
		err = w.Finish(recording.Ending{End: end, Exited: true})
	}
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", path, err))
	}
	s, err := query.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
