package view

import (
	"bytes"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/profile/profiletest"
	"github.com/heaptap/heaptap/internal/query"
)

// answers are all ways to show the answer to a query, by the name of their golden file.
func answers(t *testing.T, s *query.Source) map[string]func(w io.Writer, o QueryOptions) error {
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
	series, err := query.Develop(ctx, s, &query.Query{By: query.ByStack, Metrics: []query.Metric{query.Peak}},
		TimelineSteps(100), 2)
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
	return map[string]func(w io.Writer, o QueryOptions) error{
		"top.txt":          func(w io.Writer, o QueryOptions) error { return Top(w, s, top, o) },
		"top-stack.txt":    func(w io.Writer, o QueryOptions) error { return Top(w, s, stacks, o) },
		"tree.txt":         func(w io.Writer, o QueryOptions) error { return Tree(w, s, tree, trim, o) },
		"sandwich.txt":     func(w io.Writer, o QueryOptions) error { return Sandwich(w, s, sandwich, trim, o) },
		"timeline.txt":     func(w io.Writer, o QueryOptions) error { return Timeline(w, s, series, o) },
		"timeline.csv":     func(w io.Writer, o QueryOptions) error { return TimelineCSV(w, s, series) },
		"hist.txt":         func(w io.Writer, o QueryOptions) error { return Hist(w, s, hist, HistParts, o) },
		"threads.txt":      func(w io.Writer, o QueryOptions) error { return Threads(w, s, threads, o) },
		"leaks.txt":        func(w io.Writer, o QueryOptions) error { return Leaks(w, s, found, o) },
		"suggestions.supp": func(w io.Writer, _ QueryOptions) error { return Suggestions(w, found.Suggestions(s)) },
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

// TestAnswers compares every way to show an answer with its golden file. The steps of a long series would fill pages:
// TestTimelineCSV has its CSV.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, show := range answers(t, sampleSource(t)) {
		var b bytes.Buffer
		if err := show(&b, QueryOptions{}); err != nil {
			t.Fatal(err)
		}
		if name == "timeline.csv" {
			continue
		}
		golden(t, "query."+name, b.Bytes())
	}
}

// TestAnswerOptions: colours, numbers in full and pages change what they ought to and nothing else.
func TestAnswerOptions(t *testing.T) {
	t.Parallel()
	s := sampleSource(t)
	escapes := regexp.MustCompile("\x1b\\[[0-9;]*m")
	trailing := regexp.MustCompile(" +\n")
	for name, show := range answers(t, s) {
		text := func(o QueryOptions) string {
			var b bytes.Buffer
			if err := show(&b, o); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		plain := text(QueryOptions{})
		coloured := text(QueryOptions{Options: Options{Color: true}})
		if escapes.MatchString(plain) {
			t.Errorf("%s has colours unasked", name)
		}
		if got := trailing.ReplaceAllString(escapes.ReplaceAllString(coloured, ""),
			"\n"); got != trailing.ReplaceAllString(plain, "\n") {
			t.Errorf("%s reads differently with colours:\n%s\n%s", name, got, plain)
		}
		if strings.HasSuffix(name, ".txt") == (coloured == plain) {
			t.Errorf("%s: colours are %v", name, coloured != plain)
		}
	}
	var b bytes.Buffer
	top := answers(t, s)["top.txt"]
	if err := top(&b, QueryOptions{Exact: true, Page: answer.Page{Limit: 2, Skip: 1}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"bytes (bytes)", "18,740", "more rows (--skip 3)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), " kB") {
		t.Errorf("rounded numbers in:\n%s", b.String())
	}
}

func TestTimelineCSV(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := answers(t, sampleSource(t))["timeline.csv"](&b, QueryOptions{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != TimelineSteps(100)+2 {
		t.Errorf("%d lines", len(lines))
	}
	if !strings.HasPrefix(lines[0], "time_s,live_bytes,live_blocks,most_live_bytes,allocations,bytes,deallocations,"+
		"resident_bytes,") {
		t.Error(lines[0])
	}
	// All happens in the first step: 31 allocations, of which 8 stay.
	if !strings.HasPrefix(lines[2], "0.0140") || !strings.Contains(lines[2], ",77804,8,90804,31,96444,23,") {
		t.Error(lines[2])
	}
}
