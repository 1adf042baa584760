package query

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"testing"
)

// TestPages compares pages with the whole table, sorted and filtered row by row.
func TestPages(t *testing.T) {
	t.Parallel()
	rowsSeen, filtered := 0, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 8))
		s, events := random(t, seed, []int{0, 1, 90, 200}[seed%4])
		q := randomQuery(rng, s, uint64(len(events)))
		table, err := Flat(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		for range 12 {
			l, err := List(t.Context(), s, q)
			if err != nil {
				t.Fatal(err)
			}
			p := PageOf{Reverse: rng.IntN(2) == 0, Offset: rng.IntN(6), Limit: rng.IntN(9)}
			p.Metric = q.metrics()[rng.IntN(len(q.metrics()))]
			p.Self, p.Name, p.Query = rng.IntN(2) == 0, rng.IntN(4) == 0, rng.IntN(4) == 0
			if rng.IntN(3) == 0 {
				p.Match = regexp.MustCompile([]string{"a", "(?i)LIB", "x\\.c:1", "^main ", "nowhere"}[rng.IntN(5)])
			}
			got, err := l.Page(p)
			if err != nil {
				t.Fatal(err)
			}
			want := slowPage(s, q, table, p)
			rows := want[min(p.Offset, len(want)):]
			if p.Limit > 0 {
				rows = rows[:min(p.Limit, len(rows))]
			}
			if got.All != len(table.Rows) || got.Matching != len(want) || len(rows) != len(got.Rows) ||
				len(rows) > 0 && !reflect.DeepEqual(rows, got.Rows) {
				t.Fatalf("seed %d, %+v, %+v: %d of %d rows match, want %d of %d:\n%+v\nwant\n%+v", seed, q, p,
					got.Matching, got.All, len(want), len(table.Rows), got.Rows, rows)
			}
			rowsSeen += len(got.Rows)
			filtered += got.All - got.Matching
		}
	}
	if rowsSeen < 300 || filtered < 300 {
		t.Errorf("only %d rows were seen, and %d filtered", rowsSeen, filtered)
	}
}

// slowPage returns all rows that match, in order.
func slowPage(s *Source, q *Query, table *Table, p PageOf) (list []Row) {
	frames := func(r *Row) (list []string) {
		if r.By != ByStack {
			return []string{s.Text(&r.Group)}
		}
		for _, g := range newModel(s, nil, q).frames(r.Stack) {
			list = append(list, s.Text(&g))
		}
		return list
	}
	for _, r := range table.Rows {
		if p.Match == nil || slices.ContainsFunc(frames(&r), p.Match.MatchString) {
			list = append(list, r)
		}
	}
	value := func(r *Row) float64 {
		if p.Self {
			return p.Metric.Of(&r.Self, 1e9)
		}
		return p.Metric.Of(&r.Total, 1e9)
	}
	switch {
	case p.Query:
	case p.Name:
		slices.SortStableFunc(list, func(a, b Row) int { return cmp.Compare(frames(&a)[0], frames(&b)[0]) })
	default:
		slices.SortStableFunc(list, func(a, b Row) int { return cmp.Compare(value(&b), value(&a)) })
	}
	if p.Reverse {
		slices.Reverse(list)
	}
	return list
}

// frames returns the groups of a stack's visible frames, also if the stack does not count.
func (m *model) frames(stack uint32) []Group {
	q := *m.q
	q.Focus, q.Ignore, q.Modules = nil, nil, nil
	return (&model{s: m.s, q: &q}).read(stack)
}

// TestPageErrors: a page that cannot be is an error.
func TestPageErrors(t *testing.T) {
	t.Parallel()
	s, _ := random(t, 2, 50)
	l, err := List(t.Context(), s, &Query{Metrics: []Metric{Bytes}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []PageOf{
		{Order: Order{Metric: Live}},
		{Order: Order{Query: true}, Offset: -1},
		{Order: Order{Query: true}, Limit: -1},
	} {
		if _, err := l.Page(p); err == nil {
			t.Errorf("%+v: no error", p)
		}
	}
	p, err := l.Page(PageOf{Order: Order{Query: true}, Offset: 1 << 40})
	if err != nil || len(p.Rows) != 0 || p.Matching != p.All {
		t.Errorf("far away: %+v, %v", p, err)
	}
}

// TestListingsAreKept: the same query has the same listing, another one has another, and closing the source drops them.
func TestListingsAreKept(t *testing.T) {
	t.Parallel()
	s, _ := random(t, 2, 80)
	at, other := uint64(20), uint64(30)
	queries := []*Query{
		{}, {By: ByLine}, {Metrics: []Metric{Live}}, {Metrics: []Metric{Live, Bytes}}, {Metrics: []Metric{Bytes, Live}},
		{Range: &Range{2, 40}}, {Range: &Range{2, 41}}, {At: &at}, {At: &other}, {Processes: []int{1}},
		{Threads: []uint32{0}}, {Threads: []uint32{1}}, {Threads: []uint32{}}, {Sizes: &Interval{1, 9}},
		{FreedBy: []uint32{0}}, {FreedBy: []uint32{}}, {Lifetimes: &Interval{1, 9}},
		{Regions: []string{"a", "b"}}, {Regions: []string{"a b"}},
		{Modules: []string{"x"}},
		{Focus: each("a")}, {Focus: each("a", "b")}, {Focus: each("a b")},
		{Ignore: each("a")}, {Ignore: each("a", "b")},
		{Hide: regexp.MustCompile("a")},
		{Runtime: true}, {Rough: 1},
	}
	seen := make(map[string]int)
	for i, q := range queries {
		if j, twice := seen[q.Key()]; twice {
			t.Errorf("%+v and %+v are not told apart: %s", q, queries[j], q.Key())
		}
		seen[q.Key()] = i
		a, err := List(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		again := *q
		if b, err := List(t.Context(), s, &again); err != nil || a != b {
			t.Errorf("%+v: another listing, %v", q, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	keptListings.DropIf(func(k listingKey) bool {
		if k.s == s {
			t.Error("a listing was kept")
		}
		return false
	})
}
