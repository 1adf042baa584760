package query

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
)

// walk visits the nodes below a node, with the groups on the path to each.
func walk(n *Node, path []Group, visit func(n *Node, path []Group)) {
	visit(n, path)
	for _, c := range n.Children {
		walk(c, append(slices.Clone(path), c.Group), visit)
	}
}

// hasPrefix reports whether a path begins with another.
func hasPrefix(way, prefix []Group) bool {
	return len(way) >= len(prefix) && slices.Equal(way[:len(prefix)], prefix)
}

func reversed(list []Group) []Group {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

// TestTrees compares whole trees of random programs with the model: a node has the blocks whose stacks have its path.
func TestTrees(t *testing.T) {
	t.Parallel()
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 2))
		s, events := random(t, seed, []int{0, 1, 40, 90}[seed%4])
		q := randomQuery(rng, s, uint64(len(events)))
		q.By = By(rng.IntN(int(ByStack)))
		m := newModel(s, events, q)
		down := func(b *event.Event) []Group { return reversed(m.names(b.Stack)) }
		up := func(b *event.Event) []Group { return m.names(b.Stack) }
		check := func(shape string, plan Plan, root *Node, way func(b *event.Event) []Group) {
			metrics := q.metrics()
			seen := 0
			walk(root, nil, func(n *Node, path []Group) {
				if seen++; seen > 60 {
					return
				}
				counted := func(b *event.Event) bool { return way(b) != nil }
				total := m.values(func(_ uint64, b *event.Event) bool { return counted(b) && hasPrefix(way(b), path) })
				self := m.values(func(_ uint64, b *event.Event) bool {
					return counted(b) && slices.Equal(way(b), path)
				})
				if d := cmp.Diff(only(total, metrics), only(n.Total, metrics)); d != "" {
					t.Fatalf("seed %d, %s, %s, %+v: total at %+v:\n%s", seed, shape, plan, q, path, d)
				}
				if d := cmp.Diff(only(self, metrics), only(n.Self, metrics)); d != "" {
					t.Fatalf("seed %d, %s, %s, %+v: self at %+v:\n%s", seed, shape, plan, q, path, d)
				}
				// A range counts some of the stacks, and of the whole run all.
				firsts := m.firsts(func(b *event.Event) bool { return counted(b) && hasPrefix(way(b), path) })
				if of := append(firsts, 0); q.Range == nil && n.First != of[0] || !slices.Contains(of, n.First) {
					t.Fatalf("seed %d, %s, %s, %+v: the first stack at %+v is %d; stacks %d", seed, shape, plan, q,
						path, n.First, of)
				}
				sum := n.Self
				for i, c := range n.Children {
					sum.Add(&c.Total)
					if i > 0 && metrics[0].compare(&n.Children[i-1].Total, &c.Total) < 0 {
						t.Fatalf("seed %d, %s: children are not in order", seed, shape)
					}
				}
				for _, k := range metrics {
					if k.Sums() && k.Of(&sum, 1e9) != k.Of(&n.Total, 1e9) {
						t.Fatalf("seed %d, %s: %s of the children and the self is not the total", seed, shape, k)
					}
				}
			})
		}
		top, err := TopDown(t.Context(), s, q, Trim{})
		if err != nil {
			t.Fatal(err)
		}
		check("top-down", top.Plan, top.Root, down)
		bottom, err := BottomUp(t.Context(), s, q, Trim{})
		if err != nil {
			t.Fatal(err)
		}
		check("bottom-up", bottom.Plan, bottom.Root, up)

		// Callers and callees of a function.
		groups := m.groups()
		if len(groups) == 0 {
			continue
		}
		g := groups[rng.IntN(len(groups))]
		sandwich, err := Sandwich(t.Context(), s, q, func(x *Group) bool { return *x == g }, Trim{})
		if err != nil {
			t.Fatal(err)
		}
		outermost := func(b *event.Event) int {
			names := m.names(b.Stack)
			for i := len(names) - 1; i >= 0; i-- {
				if names[i] == g {
					return i
				}
			}
			return -1
		}
		check("callers", sandwich.Plan, sandwich.Callers, func(b *event.Event) []Group {
			if i := outermost(b); i >= 0 {
				return m.names(b.Stack)[i+1:]
			}
			return nil
		})
		check("callees", sandwich.Plan, sandwich.Callees, func(b *event.Event) []Group {
			if i := outermost(b); i >= 0 {
				return reversed(m.names(b.Stack)[:i])
			}
			return nil
		})
		self := m.values(func(_ uint64, b *event.Event) bool { n := m.names(b.Stack); return len(n) > 0 && n[0] == g })
		if d := cmp.Diff(only(self, q.metrics()), only(sandwich.Self, q.metrics())); d != "" {
			t.Fatalf("seed %d: self of %+v:\n%s", seed, g, d)
		}
	}
}

// firsts returns the stacks of blocks, in the order of their ids plus 1, without those that the query does not count.
func (m *model) firsts(in func(b *event.Event) bool) (list []uint32) {
	for ref := range m.born {
		if b := &m.born[ref]; m.counts(uint64(ref)) && in(b) {
			list = append(list, b.Stack+1)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestTrim: what is left out is summed up in Folded.
func TestTrim(t *testing.T) {
	t.Parallel()
	folded := 0
	for seed := range uint64(10) {
		s, _ := random(t, seed, 200)
		for _, trim := range []Trim{{Share: .1}, {Depth: 2}, {Share: .02, Depth: 4}} {
			for _, shape := range []func() (*Tree, error){
				func() (*Tree, error) { return TopDown(t.Context(), s, &Query{}, trim) },
				func() (*Tree, error) { return BottomUp(t.Context(), s, &Query{}, trim) },
			} {
				tree, err := shape()
				if err != nil {
					t.Fatal(err)
				}
				walk(tree.Root, nil, func(n *Node, path []Group) {
					if trim.Depth > 0 && len(path) > trim.Depth {
						t.Errorf("a node at level %d", len(path))
					}
					if float64(n.Total.Bytes) < trim.Share*float64(tree.Total.Bytes) {
						t.Errorf("a node with %d of %d bytes", n.Total.Bytes, tree.Total.Bytes)
					}
					sum := n.Self.Bytes + n.FoldedTotal.Bytes
					for _, c := range n.Children {
						sum += c.Total.Bytes
					}
					if sum != n.Total.Bytes {
						t.Errorf("%d bytes in the children, the self and what is folded; the total is %d", sum,
							n.Total.Bytes)
					}
					folded += n.Folded
				})
			}
		}
	}
	if folded < 100 {
		t.Errorf("only %d nodes were folded", folded)
	}
}

// TestBlockTrees: if blocks are grouped, their groups come first and functions follow.
func TestBlockTrees(t *testing.T) {
	t.Parallel()
	s, events := random(t, 8, 120)
	for by := ByThread; by < byCount; by++ {
		q := &Query{By: by, Metrics: []Metric{Bytes, Live}}
		tree, err := TopDown(t.Context(), s, q, Trim{})
		if err != nil {
			t.Fatal(err)
		}
		m := newModel(s, events, q)
		for _, c := range tree.Root.Children {
			want := m.values(func(_ uint64, b *event.Event) bool { l := m.of(b); return l[len(l)-1] == c.Group })
			if d := cmp.Diff(only(want, q.Metrics), only(c.Total, q.Metrics)); d != "" {
				t.Errorf("%+v:\n%s", c.Group, d)
			}
			if len(c.Children) == 0 || c.Children[0].By != ByFunction && !by.ofRegions() {
				t.Errorf("%+v has no functions below", c.Group)
			}
		}
	}
}
