package query

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
)

// workedExample is the example that docs/queries.md calculates by hand.
func workedExample(t *testing.T) *Source {
	r := newRecorder(t)
	r.w.Module(event.Module{ID: 1, Path: "/bin/app", Unload: -1})
	for pc := uint32(1); pc <= 3; pc++ {
		r.w.PC(pc, event.PC{Addr: uint64(pc), Module: 1})
	}
	frames := map[uint32][]event.Frame{1: {{Function: "main"}}, 2: {{Function: "grow"}},
		3: {{Function: "fill", Inlined: true}, {Function: "resize"}}}
	for id, n := range []event.Node{{}, {PC: 1}, {Parent: 1, PC: 2}, {Parent: 2, PC: 2}, {Parent: 3, PC: 3}} {
		if id > 0 {
			r.w.Node(uint32(id), n)
		}
	}
	th := r.thread(0)
	r.now = 1000
	a := r.alloc(th, 2, 100, event.Malloc, 0)
	r.now = 2000
	b := r.alloc(th, 4, 50, event.Malloc, 0)
	r.now = 3000
	r.free(th, a, event.FreeFunc, 0)
	r.now = 4000
	c := r.realloc(th, b, 3, 80, false)
	r.now = 5000
	r.free(th, c, event.FreeFunc, 0)
	r.now = 7000
	r.alloc(th, 4, 70, event.Malloc, 0)
	return r.source(frames) // which ends at 8000
}

func TestWorkedExample(t *testing.T) {
	t.Parallel()
	s := workedExample(t)
	table, err := Flat(t.Context(), s, &Query{Metrics: Metrics()})
	if err != nil {
		t.Fatal(err)
	}
	pick := []Metric{Allocations, Bytes, Deallocations, Peak, OwnPeak, Leaked, Temporary, Copied, Time, MinLifetime,
		MeanLifetime, MaxLifetime, MinSize, MeanSize, MaxSize, Recycling, Churn}
	got := make(map[string][]float64)
	for _, r := range table.Rows {
		for name, v := range map[string]*Values{" self": &r.Self, " total": &r.Total} {
			for _, m := range pick {
				got[r.Function+name] = append(got[r.Function+name], m.Of(v, table.Span))
			}
		}
	}
	none := make([]float64, len(pick))
	all := []float64{4, 300, 3, 150, 150, 70, 1, 50, 7000, 1000, 1666, 2000, 50, 75, 100, 2, 37.5e6}
	fill := []float64{2, 120, 1, 50, 70, 70, 0, 0, 4000, 2000, 2000, 2000, 50, 60, 70, 120. / 70, 15e6}
	want := map[string][]float64{"main self": none, "main total": all, "grow total": all,
		"grow self":   {2, 180, 2, 100, 100, 0, 1, 50, 3000, 1000, 1500, 2000, 80, 90, 100, 1.8, 22.5e6},
		"resize self": none, "resize total": fill, "fill self": fill, "fill total": fill}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, c := range []struct {
		name  string
		q     Query
		bytes uint64
		live  uint64
		leaks uint64
		plan  Plan
	}{
		{"all", Query{Metrics: []Metric{Bytes, Live, Leaked}}, 300, 70, 70, FromTally},
		{"the first two events", Query{Range: &Range{0, 2}, Metrics: []Metric{Bytes, Live}}, 150, 150, 0,
			FromSummaries},
		{"the first two events: nothing of them leaked",
			Query{Range: &Range{0, 2}, Metrics: []Metric{Bytes, Live, Leaked}}, 150, 150, 0, FromSummaries},
		{"the other events", Query{Range: &Range{2, 7}, Metrics: []Metric{Bytes, Live, Leaked}}, 150, 70, 70,
			FromSummaries},
		{"live after the first", Query{At: new(uint64), Metrics: []Metric{Bytes, Live}}, 300, 0, 0, FromSummaries},
		{"50 to 80 bytes", Query{Sizes: &Interval{50, 80}, Metrics: []Metric{Bytes, Live, Leaked}}, 200, 70, 70,
			FromEvents},
		{"short-lived", Query{Lifetimes: &Interval{0, 1000}, Metrics: []Metric{Bytes, Live, Leaked}}, 80, 0, 0,
			FromEvents},
		{"long-lived", Query{Lifetimes: &Interval{2000, Unbounded}, Metrics: []Metric{Bytes, Live, Leaked}}, 220, 70,
			70, FromEvents},
		{"freed by nobody", Query{FreedBy: []uint32{}, Metrics: []Metric{Bytes, Live, Leaked}}, 0, 0, 0, FromEvents},
		{"no thread", Query{Threads: []uint32{}, Metrics: []Metric{Bytes, Live, Leaked}}, 0, 0, 0,
			FromEvents},
	} {
		got, err := Flat(t.Context(), s, &c.q)
		if err != nil || got.Total.Bytes != c.bytes || got.Total.LiveBytes != c.live || c.q.wants(Leaked) &&
			got.Total.LeakedBytes != c.leaks || got.Plan != c.plan {
			t.Errorf("%s: %d bytes, %d live, %d leaked, from %s; want %d, %d, %d, from %s (%v)", c.name,
				got.Total.Bytes,
				got.Total.LiveBytes, got.Total.LeakedBytes, got.Plan, c.bytes, c.live, c.leaks, c.plan, err)
		}
	}
}

// TestRecursion: a function that calls itself counts once.
func TestRecursion(t *testing.T) {
	t.Parallel()
	got, err := Sandwich(t.Context(), workedExample(t), &Query{Metrics: []Metric{Bytes, OwnPeak}},
		func(g *Group) bool { return g.Function == "grow" }, Trim{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Totals.Bytes != 300 || got.Self.Bytes != 180 || got.Totals.OwnPeak != 150 || got.Self.OwnPeak != 100 {
		t.Errorf("total %+v\nself %+v", got.Totals, got.Self)
	}
	type line struct {
		name        string
		self, total uint64
	}
	lines := func(root *Node) (list []line) {
		walk(root, nil, func(n *Node, _ []Group) { list = append(list, line{n.Function, n.Self.Bytes, n.Total.Bytes}) })
		return list
	}
	for side, c := range map[string]struct {
		root *Node
		want []line
	}{
		"callers": {got.Callers, []line{{"", 0, 300}, {"main", 300, 300}}},
		"callees": {got.Callees, []line{{"", 100, 300}, {"grow", 80, 200}, {"resize", 0, 120}, {"fill", 120, 120}}},
	} {
		if d := cmp.Diff(c.want, lines(c.root), cmp.AllowUnexported(line{})); d != "" {
			t.Errorf("%s:\n%s", side, d)
		}
	}
}

// TestAllocationFunctions: the function that allocated a block is known even if that was before the range.
func TestAllocationFunctions(t *testing.T) {
	t.Parallel()
	got, err := Flat(t.Context(), workedExample(t), &Query{By: ByAllocation, Range: &Range{2, 7},
		Metrics: []Metric{Deallocations}})
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[event.Func]uint64)
	for _, r := range got.Rows {
		counts[r.Func] = r.Total.Deallocations
	}
	if d := cmp.Diff(map[event.Func]uint64{event.Malloc: 2, event.ReallocFunc: 1}, counts); d != "" {
		t.Error(d)
	}
}

// TestUnseen: a block whose end nobody saw has no freeing thread.
func TestUnseen(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	a, b := r.thread(0), r.thread(0)
	r.free(b, r.alloc(a, 0, 10, event.Malloc, 0), event.FuncUnknown, 0)
	r.free(b, r.alloc(a, 0, 20, event.Malloc, 0), event.FreeFunc, 0)
	r.free(a, r.alloc(a, 0, 30, event.Malloc, 0), event.FreeFunc, 0)
	got, err := Cross(t.Context(), r.source(nil), &Query{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[Crossing]bool{{Allocated: a, Unseen: true, Blocks: 1, Bytes: 10}: true,
		{Allocated: a, Freed: b, Blocks: 1, Bytes: 20}: true, {Allocated: a, Freed: a, Blocks: 1, Bytes: 30}: true}
	for _, c := range got.Cells {
		if !want[c] {
			t.Errorf("%+v", c)
		}
	}
	if len(got.Cells) != 3 || got.Total.Deallocations != 3 {
		t.Errorf("%+v", got)
	}
}

func TestSuppressions(t *testing.T) {
	t.Parallel()
	frames := []profile.Frame{{Function: "std::vector<int>::grow(int)", File: "/usr/include/vector",
		Module: "/bin/app"}, {Function: "load", Linkage: "_Z4loadv", File: "src/load.cc", Module: "/lib/libdata.so.1"}}
	for pattern, want := range map[string]bool{
		"load": true, "^load$": true, "^oad": false, "loa$": false, "libdata": true, "load.cc": true, "_Z4loadv": true,
		"std::*grow": true, "^std::*(int)$": true, "grow*vector": false, "banana": false, "*": true, "^lo*d$": true,
		"^l*x$":    false,
		"^load*d$": false,
	} {
		s, err := ParseSuppressions(strings.NewReader("# known\n\n  leak: "+pattern+"\nrace:load\n"), "x")
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Suppress(1, frames, 10, 2); got != want {
			t.Errorf("leak:%s: %v", pattern, got)
		}
		if r := s.Rules(); len(r) != 1 || (r[0].Bytes == 10) != want || (r[0].Blocks == 2) != want {
			t.Errorf("leak:%s: %+v", pattern, r)
		}
	}
	for text, message := range map[string]string{"load": "x:1: \"load\" is not a suppression",
		"#\nleak:": "x:2: the pattern is empty"} {
		if _, err := ParseSuppressions(strings.NewReader(text), "x"); err == nil ||
			!strings.Contains(err.Error(), message) {
			t.Errorf("%q: %v", text, err)
		}
	}
	const app, lib, libc = "/bin/app", "/lib/libglib.so", "/lib/libc.so.6"
	start := profile.Frame{Function: "__libc_start_main", Module: libc}
	own := func(function string) profile.Frame { return profile.Frame{Function: function, Module: app} }
	atLine := profile.Frame{Function: "main", File: "/src/a.c", Line: 12, Module: app}
	for _, c := range []struct {
		frames      []profile.Frame
		rule, broad string
	}{
		{frames, "leak:^load$", "leak:^load$"},
		{[]profile.Frame{{Function: "strdup", Module: libc}, own("load"), own("main"), start}, "leak:^load$",
			"leak:^load$"},
		{[]profile.Frame{{Function: "g_list_add", Module: lib}, own("load"), own("main"), start}, "leak:^load$",
			"leak:^load$"},
		{[]profile.Frame{own("xmalloc"), own("load"), own("main"), start}, "leak:^load$", "leak:^load$"},
		{[]profile.Frame{own("xmalloc"), own("main"), start}, "", "leak:^main$"},
		{[]profile.Frame{{Function: "g_list_add", Module: lib}, own("main"), start}, "leak:^g_list_add$",
			"leak:^g_list_add$"},
		{[]profile.Frame{{Function: "strdup", Module: libc}, atLine, start}, "leak:a.c:12$", "leak:a.c:12$"},
		{[]profile.Frame{own("std::get"), own("main"), start}, "", "leak:^main$"},
		{[]profile.Frame{own("worker"), {Function: "start_thread", Module: libc}}, "", "leak:^worker$"},
		{[]profile.Frame{own("worker"), {Module: libc}}, "", "leak:^worker$"},
		{[]profile.Frame{own("step"), own("worker"), {Module: libc}}, "leak:^step$", "leak:^step$"},
		{[]profile.Frame{own("app::main"), own("std::rt::lang_start_internal"), own("main")}, "", "leak:^app::main$"},
		{[]profile.Frame{own("main")}, "", "leak:^main$"},
		{[]profile.Frame{{Module: app}}, "", "leak:app"},
		{nil, "", ""},
	} {
		if got := Suggest(c.frames, app, false); got != c.rule {
			t.Errorf("%+v: %s, want %s", c.frames, got, c.rule)
		}
		if got := Suggest(c.frames, app, true); got != c.broad {
			t.Errorf("%+v: %s, want %s if broad", c.frames, got, c.broad)
		}
	}
}
