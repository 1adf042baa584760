package view

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/goldentest"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/query/querytest"
)

// answers are all ways to show the answer to a query, by the name of their golden file.
func answers(t *testing.T, s *query.Source) map[string]func(w io.Writer, o QueryOptions) error {
	t.Helper()
	a := querytest.Ask(t, s, TimelineSteps(QueryOptions{}))
	return map[string]func(w io.Writer, o QueryOptions) error{
		"top.txt":       func(w io.Writer, o QueryOptions) error { return Top(w, s, a.Top, o) },
		"top-stack.txt": func(w io.Writer, o QueryOptions) error { return Top(w, s, a.Stacks, o) },
		"tree.txt":      func(w io.Writer, o QueryOptions) error { return Tree(w, s, a.Tree, false, a.Trim, o) },
		"sandwich.txt":  func(w io.Writer, o QueryOptions) error { return Sandwich(w, s, a.Sandwich, a.Trim, o) },
		"timeline.txt":  func(w io.Writer, o QueryOptions) error { return Timeline(w, s, a.Series, o) },
		"timeline.csv":  func(w io.Writer, o QueryOptions) error { return TimelineCSV(w, s, a.Series) },
		"rise.txt":      func(w io.Writer, o QueryOptions) error { return Rise(w, s, a.Rise, o) },
		"hist.txt":      func(w io.Writer, o QueryOptions) error { return Hist(w, s, a.Hist, HistParts, o) },
		"heat.txt": func(w io.Writer, o QueryOptions) error {
			return Hist(w, s, a.Hist, []string{HeatPart(query.HeatTime), HeatPart(query.HeatLifetime),
				HeatPart(query.HeatReallocs)}, o)
		},
		"threads.txt": func(w io.Writer, o QueryOptions) error { return Threads(w, s, a.Threads, nil, ThreadParts, o) },
		"leaks.txt":   func(w io.Writer, o QueryOptions) error { return Leaks(w, s, a.Leaks, o) },
		"suggestions.supp": func(w io.Writer, _ QueryOptions) error {
			return Suggestions(w, s, a.Leaks.Suggestions(s, false))
		},
	}
}

// TestAnswers compares every way to show an answer with its golden file. The steps of a long series would fill pages:
// TestTimelineCSV has its CSV.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, show := range answers(t, querytest.Server(t)) {
		var b bytes.Buffer
		if err := show(&b, QueryOptions{}); err != nil {
			t.Fatal(err)
		}
		if name == "timeline.csv" {
			continue
		}
		goldentest.Check(t, "query."+name, b.Bytes())
	}
}

// TestNarrowTables: at 80 columns, each row of a table of leaks and of threads is one line, as on a wide terminal.
func TestNarrowTables(t *testing.T) {
	t.Parallel()
	list := answers(t, querytest.Server(t))
	for name, title := range map[string]string{"leaks.txt": "KEPT GROWING", "threads.txt": "ALLOCATED BY"} {
		lines := func(width int) string {
			var b bytes.Buffer
			if err := list[name](&b, QueryOptions{Options: Options{Width: width}}); err != nil {
				t.Fatal(err)
			}
			return b.String()[strings.Index(b.String(), title):]
		}
		if narrow := lines(80); strings.Count(narrow, "\n") != strings.Count(lines(200), "\n") {
			t.Errorf("%s has broken rows:\n%s", name, narrow)
		}
	}
}

// TestAnswerOptions: colours, numbers in full and pages change what they ought to and nothing else.
func TestAnswerOptions(t *testing.T) {
	t.Parallel()
	s := querytest.Server(t)
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
	if err := top(&b, QueryOptions{Options{Exact: true}, answer.Page{Limit: 2, Skip: 1}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"bytes (bytes)", "14,000", "more rows (--skip 3)"} {
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
	if err := answers(t, querytest.Server(t))["timeline.csv"](&b, QueryOptions{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != TimelineSteps(QueryOptions{})+2 {
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
