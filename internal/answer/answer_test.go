package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/profile/profiletest"
	"github.com/heaptap/heaptap/internal/query"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (rewrite with: go test ./internal/answer -update):\n%s", path, d)
	}
}

// answers are the answers to questions, by the name of their golden file.
func answers(t *testing.T, s *query.Source) map[string]any {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	all := &query.Query{Metrics: []query.Metric{query.Bytes, query.Allocations, query.OwnPeak, query.Recycling,
		query.MeanLifetime, query.Churn}}
	top, err := query.Flat(ctx, s, all)
	must(err)
	stacks, err := query.Flat(ctx, s, &query.Query{By: query.ByStack, Metrics: []query.Metric{query.Leaked}})
	must(err)
	trim := query.Trim{Share: .02}
	tree, err := query.TopDown(ctx, s, &query.Query{Metrics: []query.Metric{query.Bytes, query.Allocations}}, trim)
	must(err)
	sandwich, err := query.Sandwich(ctx, s, &query.Query{By: query.ByLine}, func(g *query.Group) bool {
		return regexp.MustCompile("walk").MatchString(g.Function)
	}, trim)
	must(err)
	series, err := query.Develop(ctx, s, &query.Query{By: query.ByStack, Metrics: []query.Metric{query.Peak}}, 88, 2)
	must(err)
	hist, err := query.Distribute(ctx, s, &query.Query{})
	must(err)
	threads := &query.ThreadTables{}
	threads.Threads, err = query.Flat(ctx, s, &query.Query{By: query.ByThread,
		Metrics: []query.Metric{query.Bytes, query.OwnPeak}})
	must(err)
	threads.Calls, err = query.Flat(ctx, s, &query.Query{By: query.ByAllocation, Metrics: []query.Metric{query.Bytes}})
	must(err)
	threads.Matrix, err = query.Cross(ctx, s, &query.Query{})
	must(err)
	rules, err := query.ParseSuppressions(strings.NewReader("leak:worker_main\nleak:nothing\n"), "x")
	must(err)
	leaks, err := query.Flat(ctx, s, &query.Query{By: query.ByStack,
		Metrics: []query.Metric{query.Leaked, query.LeakedBlocks, query.Allocations}})
	must(err)
	found := &query.LeakTables{Leaks: &query.Leaks{Table: leaks}, Rules: rules.Rules()}
	suspects, _, err := query.Growth(ctx, s, &query.Query{By: query.ByStack}, -1)
	must(err)
	found.Suspects = suspects
	for i := 0; i < len(leaks.Rows); i++ {
		v := leaks.Rows[i].Total
		if v.LeakedBlocks == 0 || rules.Suppress(s.Frames(leaks.Rows[i].Stack), v.LeakedBytes, v.LeakedBlocks) {
			leaks.Rows = append(leaks.Rows[:i], leaks.Rows[i+1:]...)
			i--
		}
	}
	return map[string]any{
		"top.json":       NewTop(s, top, query.ByFunction, Page{}),
		"top-stack.json": NewTop(s, stacks, query.ByStack, Page{}),
		"tree.json":      NewTree(s, tree, query.ByFunction, "top-down"),
		"sandwich.json":  NewSandwich(s, sandwich, query.ByLine),
		"timeline.json":  NewTimeline(s, series),
		"hist.json":      NewHist(s, hist, Page{}),
		"threads.json":   NewThreads(s, threads, Page{}),
		"leaks.json":     NewLeaks(s, found, Page{}),
	}
}

func sampleSource(t *testing.T) *query.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server.4711.htap")
	profiletest.Server(t, path)
	s, err := query.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestAnswers compares answers with their golden files. What is the same in all of them, and the many steps
// of the timeline, are left out.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, a := range answers(t, sampleSource(t)) {
		var b bytes.Buffer
		if err := Write(&b, a); err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := json.Unmarshal(b.Bytes(), &v); err != nil || v["plan"] == "" ||
			bytes.Count(b.Bytes(), []byte("\n")) != 1 {
			t.Errorf("%s: %v", name, err)
		}
		if name == "timeline.json" {
			continue
		}
		delete(v, "recording")
		pretty, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			t.Error(err)
		}
		golden(t, "query."+name, pretty)
	}
}

// TestMarshal: an answer is the same, written by Write, which makes rows one at a time, and by package json.
func TestMarshal(t *testing.T) {
	t.Parallel()
	s := sampleSource(t)
	list := answers(t, s)
	list["report"] = NewReport(s.Profile, nil, 0)
	for name, a := range list {
		var written bytes.Buffer
		if err := Write(&written, a); err != nil {
			t.Fatal(err)
		}
		marshalled, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var one, other any
		if err := errors.Join(json.Unmarshal(written.Bytes(), &one), json.Unmarshal(marshalled, &other)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(one, other); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
