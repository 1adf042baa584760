// Package querytest has the answers to one question of each kind, for the tests of the packages that show answers.
package querytest

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/profile/profiletest"
	"github.com/heaptap/heaptap/internal/query"
)

// Server opens the recording of profiletest.Server.
func Server(t *testing.T) *query.Source {
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

// Answers are what a source answers to one question of each kind.
type Answers struct {
	Top      *query.Table // of functions, with many metrics
	Stacks   *query.Table // of call stacks, with what they leaked
	Trim     query.Trim   // of Tree and Sandwich
	Tree     *query.Tree
	Outline  *query.Outline         // the same
	Sandwich *query.SandwichTree    // of lines, for a function's name
	Sides    *query.SandwichOutline // the same
	Series   *query.Series
	Hist     *query.Histogram
	Rise     *query.Rise // of call stacks, two at most
	Threads  *query.ThreadTables
	Leaks    *query.LeakTables // with suppressions, of which one applies
}

// Ask puts the questions to a source. The series has so many steps.
func Ask(t *testing.T, s *query.Source, steps int) *Answers {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	a := &Answers{Trim: query.Trim{Share: .02}, Threads: &query.ThreadTables{}}
	var err error
	a.Top, err = query.Flat(ctx, s, &query.Query{Metrics: []query.Metric{query.Bytes, query.Allocations,
		query.OwnPeak, query.Recycling, query.MeanLifetime, query.Churn}})
	must(err)
	a.Stacks, err = query.Flat(ctx, s, &query.Query{By: query.ByStack, Metrics: []query.Metric{query.Leaked}})
	must(err)
	a.Outline, err = query.Draw(ctx, s, &query.Query{Metrics: []query.Metric{query.Bytes, query.Allocations}},
		query.Down, a.Trim)
	must(err)
	a.Tree = &query.Tree{Answer: a.Outline.Answer, Root: a.Outline.Tree()}
	a.Sides, err = query.DrawSandwich(ctx, s, &query.Query{By: query.ByLine}, func(g *query.Group) bool {
		return regexp.MustCompile("walk").MatchString(g.Function)
	}, a.Trim)
	must(err)
	a.Sandwich = a.Sides.Tree()
	a.Series, err = query.Develop(ctx, s, &query.Query{By: query.ByStack, Metrics: []query.Metric{query.Peak}},
		steps, 2)
	must(err)
	a.Rise, err = query.Explain(ctx, s, &query.Query{By: query.ByStack, Range: &query.Range{From: 4, To: 1 << 30}}, 2)
	must(err)
	a.Hist, err = query.Distribute(ctx, s, &query.Query{})
	must(err)
	a.Threads.Threads, err = query.Flat(ctx, s, &query.Query{By: query.ByThread,
		Metrics: []query.Metric{query.Bytes, query.OwnPeak}})
	must(err)
	a.Threads.Calls, err = query.Flat(ctx, s, &query.Query{By: query.ByAllocation,
		Metrics: []query.Metric{query.Bytes}})
	must(err)
	a.Threads.Matrix, err = query.Cross(ctx, s, &query.Query{})
	must(err)
	a.Threads.Freed = a.Threads.Matrix.Freed()
	a.Leaks = leaks(t, s)
	return a
}

// leaks are what the source leaked and no rule suppresses, and what grows.
func leaks(t *testing.T, s *query.Source) *query.LeakTables {
	t.Helper()
	rules, err := query.ParseSuppressions(strings.NewReader("leak:worker_main\nleak:nothing\n"), "x")
	if err != nil {
		t.Fatal(err)
	}
	table, err := query.Flat(t.Context(), s, &query.Query{By: query.ByStack,
		Metrics: []query.Metric{query.Leaked, query.LeakedBlocks, query.Allocations}})
	if err != nil {
		t.Fatal(err)
	}
	// So short a recording has nothing that kept growing.
	var suspects []query.Suspect
	for _, r := range table.Rows[:2] {
		suspects = append(suspects, query.Suspect{Group: r.Group, End: r.Total.LeakedBytes,
			Slope: float64(r.Total.LeakedBytes) / 2, Confidence: .9})
	}
	table.Rows = slices.DeleteFunc(table.Rows, func(r query.Row) bool {
		v := r.Total
		return v.LeakedBlocks == 0 || rules.Suppress(r.Stack, s.Frames(r.Stack), v.LeakedBytes, v.LeakedBlocks)
	})
	return &query.LeakTables{Table: table, Rules: rules.Rules(), Suspects: suspects}
}
