package query

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// TestExplain asks random questions about random programs and compares with a scan of all events.
func TestExplain(t *testing.T) {
	t.Parallel()
	plans := make(map[Plan]int)
	rows, fell, others := 0, 0, 0
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 19))
		s, events := random(t, seed, []int{0, 1, 30, 120, 250}[seed%5])
		if seed%2 == 0 && len(events) > 0 {
			withAtlas(t, s, 20)
		}
		for range 25 {
			q := randomQuery(rng, s, uint64(len(events)))
			q.Rough = int64(rng.IntN(2)) * s.Profile.Duration / 10
			limit := rng.IntN(6)
			got, err := Explain(t.Context(), s, q, limit)
			if err != nil {
				t.Fatalf("seed %d, %+v: %v", seed, q, err)
			}
			plans[got.Plan]++
			there := *q
			there.Range, there.At = &Range{got.From, got.To}, nil
			m := newModel(s, events, &there)
			m.compareRise(t, seed, got, limit)
			rows += len(got.Rows)
			others += got.Others.Groups
			if got.End < got.Begin {
				fell++
			}
		}
	}
	for _, p := range []Plan{FromTally, FromSummaries, FromEvents, FromAtlas} {
		if plans[p] < 10 {
			t.Errorf("only %d questions were answered from %s", plans[p], p)
		}
	}
	if rows < 300 || fell < 30 || others < 300 {
		t.Errorf("%d rows, %d other groups, %d times less was live at the end", rows, others, fell)
	}
}

// owner names the group that a block belongs to; "": it does not count.
func (m *model) owner(b *event.Event) string {
	list := m.of(b)
	switch {
	case list == nil:
		return ""
	case m.q.By == ByStack:
		return read(list)
	}
	return m.label(list[0])
}

func (m *model) label(g Group) string {
	if g.By == ByStack {
		return read(m.names(g.Stack))
	}
	return fmt.Sprintf("%+v", g)
}

// compareRise compares a rise with what was live at the ends of the range, block by block.
func (m *model) compareRise(t *testing.T, seed uint64, got *Rise, limit int) {
	t.Helper()
	type moved struct{ begin, end, blocks int64 }
	levels := make(map[string]moved)
	ref := uint64(0)
	for n := range min(m.to, uint64(len(m.events))) {
		e := &m.events[n]
		sign, r := int64(1), ref
		switch e.Kind {
		case event.Alloc:
			ref++
		case event.Free:
			sign, r = -1, e.Ref
		default:
			continue
		}
		name := m.owner(&m.born[r])
		if name == "" || !m.counts(r) {
			continue
		}
		for _, l := range []string{name, ""} {
			x := levels[l]
			x.end += sign * int64(e.Size)
			if n < m.from {
				x.begin += sign * int64(e.Size)
			} else {
				x.blocks += sign
			}
			levels[l] = x
		}
	}
	all := levels[""]
	delete(levels, "")
	if int64(got.Begin) != all.begin || int64(got.End) != all.end {
		t.Fatalf("seed %d, %s, %+v: from %d to %d, want from %d to %d", seed, got.Plan, m.q, got.Begin, got.End,
			all.begin, all.end)
	}
	level, least := int64(got.Begin), int64(1<<62)
	for i, r := range got.Rows {
		name := m.label(r.Group)
		want, ok := levels[name]
		if !ok || r.Bytes != want.end-want.begin || r.Blocks != want.blocks || int64(r.Begin) != want.begin ||
			int64(r.End) != want.end || r.Bytes == 0 {
			t.Fatalf("seed %d, %s, %+v: row %+v, want %+v", seed, got.Plan, m.q, r, want)
		}
		if i > 0 && got.Rows[i-1].Bytes < r.Bytes {
			t.Fatalf("seed %d: growing rows do not come first: %+v", seed, got.Rows)
		}
		delete(levels, name) // the rest are the others; a group has one row
		level += r.Bytes
		least = min(least, max(r.Bytes, -r.Bytes))
	}
	var grown, shrunk, largest int64 // of the others
	groups := 0
	for _, l := range levels {
		d := l.end - l.begin
		if d != 0 {
			groups++
		}
		if len(got.Rows) > 0 && max(d, -d) > least {
			t.Fatalf("seed %d: one of the others changed by %d, a row by %d", seed, d, least)
		}
		largest = max(largest, d, -d)
		grown, shrunk = grown+max(d, 0), shrunk+max(-d, 0)
	}
	if o := got.Others; o.Groups != groups || int64(o.Grown) != grown || int64(o.Shrunk) != shrunk {
		t.Fatalf("seed %d: others %+v, want %d groups, +%d -%d", seed, o, groups, grown, shrunk)
	}
	if level+got.Others.Bytes() != int64(got.End) {
		t.Fatalf("seed %d: the rows do not add up: %+v", seed, got)
	}
	// The others have a fifth of the change at most, and none of them changed more than that, unless the limit was
	// reached; with a row less it would not be so.
	change := all.end - all.begin
	enough := func(others, largest int64) bool {
		return 5*max(others, -others) <= max(change, -change) && largest <= max(change, -change)
	}
	if !enough(got.Others.Bytes(), largest) && len(got.Rows) != limit {
		t.Fatalf("seed %d: of %d, %d are left to the others", seed, change, got.Others.Bytes())
	}
	smallest := slices.DeleteFunc(slices.Clone(got.Rows), func(r RiseRow) bool {
		return max(r.Bytes, -r.Bytes) != least
	})
	if len(smallest) == 1 && enough(got.Others.Bytes()+smallest[0].Bytes, least) {
		t.Fatalf("seed %d: of %d, %d would be left with a row less", seed, change,
			got.Others.Bytes()+smallest[0].Bytes)
	}
}

// TestFewest: how many of the largest changes explain a rise.
func TestFewest(t *testing.T) {
	t.Parallel()
	noise := []int64{100}
	for range 50 {
		noise = append(noise, 3, -3)
	}
	drained := append([]int64{100}, slices.Repeat([]int64{-1}, 50)...)
	for _, x := range []struct {
		changes []int64
		limit   int
		want    int
	}{
		{nil, 0, 0},
		{[]int64{80, 20}, 0, 1},
		{[]int64{79, 21}, 0, 2},
		{[]int64{-80, -20}, 0, 1},
		{[]int64{1000, -900}, 0, 2},       // neither alone says why 100 more are live
		{[]int64{1000, -1000, 100}, 0, 3}, // though the others cancel out
		{[]int64{500, -500}, 0, 2},        // nothing changed, and yet something did
		{[]int64{100, 50, -50}, 0, 1},
		{noise, 0, 1},
		{drained, 0, 41},
		{drained, 10, 10},
	} {
		all := int64(0)
		for _, c := range x.changes {
			all += c
		}
		order := largest(x.changes, x.limit)
		got := fewest(all, len(order), func(i int) int64 { return x.changes[order[i]] })
		if got != x.want {
			t.Errorf("%v, at most %d: %d, want %d", x.changes, x.limit, got, x.want)
		}
	}
}
