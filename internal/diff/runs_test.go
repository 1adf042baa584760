package diff

import (
	"testing"

	"github.com/heaptap/heaptap/internal/query"
)

// sides makes runs of a program on one side, each of which has so many more allocations at call stack 5.
func sides(t *testing.T, dir string, q *query.Query, extra ...int) (list []Side) {
	t.Helper()
	for i, n := range extra {
		b := &build{dir: dir, id: dir[1], moved: still, extra: map[int]int{5: n, 17: 4 * int(dir[1]-'a')}}
		list = append(list, Side{b.run(t, uint64(100*int(dir[1])+i)), q})
	}
	return list
}

// TestRuns: of repeated runs the medians count, with their spread, and what lies within it is said to vary.
func TestRuns(t *testing.T) {
	t.Parallel()
	q := &query.Query{By: query.ByStack, Metrics: []query.Metric{query.Allocations}}
	c := &Comparison{Before: sides(t, "/a", q, 0, 4, 1), After: sides(t, "/b", q, 3, 2)}
	d, err := Compare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	found := map[float64]Status{}
	for i := range d.Rows[:len(d.Rows)-d.Unchanged()] {
		r := &d.Rows[i]
		n := d.Change(query.Allocations, &r.Total)
		found[n] = r.Status
		// Stack 5 has 3 allocations, and 0, 1 or 4 more before (median 1), 2 or 3 after (2, rounded down).
		if n == 1 && (r.Spread[0] != Spread{[2]float64{3, 7}, [2]float64{5, 6}} || r.Total.Before.Allocations != 4) {
			t.Errorf("%+v, with %d before", r.Spread, r.Total.Before.Allocations)
		}
	}
	if len(found) != 2 || found[1] != Varying || found[4] != Grown {
		t.Errorf("changes %v, want 1 that varies and 4 more", found)
	}
	if d.Rows[0].Status != Grown {
		t.Error("what varies comes before what has grown")
	}
	if want := (Spread{[2]float64{180, 184}, [2]float64{186, 187}}); d.Spread[0] != want ||
		d.Before.Total.Allocations != 181 {
		t.Errorf("in all %+v, median before %d, want %+v", d.Spread[0], d.Before.Total.Allocations, want)
	}
	one, err := Compare(t.Context(), Between(c.Before[0], c.After[0]))
	if err != nil {
		t.Fatal(err)
	}
	if one.Spread != nil || one.Rows[0].Spread != nil {
		t.Error("single runs have a spread")
	}
}

// TestScale: what was before is multiplied, so that the totals are equal and changes are those of shares.
func TestScale(t *testing.T) {
	t.Parallel()
	q := &query.Query{By: query.ByStack, Metrics: []query.Metric{query.Bytes, query.MaxSize}}
	c := Between(sides(t, "/a", q, 0)[0], sides(t, "/b", q, 90)[0])
	c.Scale = true
	d, err := Compare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if d.Before.Total.Bytes != d.After.Total.Bytes {
		t.Errorf("%d bytes before, %d after", d.Before.Total.Bytes, d.After.Total.Bytes)
	}
	var before, after uint64
	for i := range d.Rows {
		r := &d.Rows[i]
		before, after = before+r.Self.Before.Bytes, after+r.Self.After.Bytes
		if r.Total.Before.MaxSize != r.Total.After.MaxSize {
			t.Errorf("the largest allocation was scaled: %d and %d", r.Total.Before.MaxSize, r.Total.After.MaxSize)
		}
	}
	if diff := int64(before - after); diff > 60 || diff < -60 { // each row is rounded
		t.Errorf("rows have %d bytes before, %d after", before, after)
	}
}

// TestWholeTrees: with what has not changed, a tree has both totals of each node, either way round, and no more nodes
// than it may.
func TestWholeTrees(t *testing.T) {
	t.Parallel()
	q := &query.Query{By: query.ByFunction}
	c := Between(sides(t, "/a", q, 0)[0], sides(t, "/b", q, 9)[0])
	for _, up := range []bool{false, true} {
		c.All, c.Up = true, up
		tree, err := CompareTrees(t.Context(), c, query.Trim{})
		if err != nil {
			t.Fatal(err)
		}
		nodes := 0
		tree.Walk(func(n *Node, _ int) {
			nodes++
			var larger float64
			before, after := n.Self.Before.Bytes, n.Self.After.Bytes
			larger += float64(max(before, after))
			for _, c := range n.Children {
				before, after = before+c.Total.Before.Bytes, after+c.Total.After.Bytes
				larger += c.Larger
			}
			if before != n.Total.Before.Bytes || after != n.Total.After.Bytes || larger != n.Larger || n.Folded != 0 {
				t.Errorf("%v: %d and %d, larger %v, want %d, %d and %v", n.Group, before, after, n.Larger,
					n.Total.Before.Bytes, n.Total.After.Bytes, larger)
			}
		})
		c.All = false
		changed, err := CompareTrees(t.Context(), c, query.Trim{})
		if err != nil {
			t.Fatal(err)
		}
		few := 0
		changed.Walk(func(*Node, int) { few++ })
		if few >= nodes || few < 3 {
			t.Errorf("%d nodes have changed of %d", few, nodes)
		}
		c.All = true
		cut, err := CompareTrees(t.Context(), c, query.Trim{Nodes: 10})
		if err != nil {
			t.Fatal(err)
		}
		left := 0
		cut.Walk(func(*Node, int) { left++ })
		if left > 10 || left < 2 || cut.Root.Total != tree.Root.Total {
			t.Errorf("%d nodes of at most 10", left)
		}
	}
}
