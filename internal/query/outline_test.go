package query

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"sync"
	"testing"
)

// all is every node of a tree, with its path, by the path's text.
func all(root *Node) map[string]*Node {
	list := make(map[string]*Node)
	walk(root, nil, func(n *Node, path []Group) { list[fmt.Sprint(path)] = n })
	return list
}

// choose returns the totals of the nodes that a trim leaves, by going through all of them for each.
func choose(root *Node, nodes int, m Metric) (list []float64) {
	chosen, waiting := 0, []*Node{root}
	for len(waiting) > 0 && chosen < nodes {
		best := 0
		for i, n := range waiting {
			if m.Of(&n.Total, 1e9) > m.Of(&waiting[best].Total, 1e9) {
				best = i
			}
		}
		n := waiting[best]
		waiting = append(slices.Delete(waiting, best, best+1), n.Children...)
		list = append(list, m.Of(&n.Total, 1e9))
		chosen++
	}
	return list
}

// TestNodes: of the nodes of a tree, those with the most of the first metric are chosen, each with its own values; what
// is left out is in Folded and FoldedTotal, so that the sums hold at every node.
func TestNodes(t *testing.T) {
	t.Parallel()
	folded := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 7))
		s, events := random(t, seed, []int{0, 1, 90, 200}[seed%4])
		q := randomQuery(rng, s, uint64(len(events)))
		if rng.IntN(3) > 0 {
			q.By = By(rng.IntN(int(ByStack)))
		}
		metrics := q.metrics()
		own := metrics[0] == OwnPeak || metrics[0] == Recycling
		for _, shape := range []Shape{Down, Up} {
			full, err := Draw(t.Context(), s, q, shape, Trim{})
			if err != nil {
				t.Fatal(err)
			}
			whole := full.Tree()
			paths := all(whole)
			for range 4 {
				trim := Trim{Nodes: 1 + rng.IntN(len(full.Parent)+2)}
				o, err := Draw(t.Context(), s, q, shape, trim)
				if err != nil {
					t.Fatal(err)
				}
				if len(o.Parent) != min(trim.Nodes, len(full.Parent)) {
					t.Fatalf("seed %d: %d of %d nodes, want %d", seed, len(o.Parent), len(full.Parent), trim.Nodes)
				}
				var got []float64
				for i := range o.Parent {
					v := o.Total.Values(i)
					got = append(got, metrics[0].Of(&v, 1e9))
				}
				if want := choose(whole, trim.Nodes, metrics[0]); !own && !slices.Equal(got, want) {
					t.Fatalf("seed %d, %+v: nodes of %v, want %v", seed, q, got, want)
				}
				walk(o.Tree(), nil, func(n *Node, path []Group) {
					want := paths[fmt.Sprint(path)]
					if want == nil || want.Group != n.Group || !reflect.DeepEqual(want.Self, n.Self) ||
						!reflect.DeepEqual(want.Total, n.Total) {
						t.Fatalf("seed %d, %+v, at %+v: %+v, want %+v", seed, q, path, n, want)
					}
					if n.Folded+len(n.Children) != len(want.Children) {
						t.Fatalf("seed %d: %d of %d children, and %d folded", seed, len(n.Children), len(want.Children),
							n.Folded)
					}
					var left Values
					for _, c := range want.Children {
						if !slices.ContainsFunc(n.Children, func(x *Node) bool { return x.Group == c.Group }) {
							left.Add(&c.Total)
						}
					}
					left.OwnPeak = n.FoldedTotal.OwnPeak
					if !reflect.DeepEqual(only(left, metrics), only(n.FoldedTotal, metrics)) {
						t.Fatalf("seed %d, %+v: %+v is folded, want %+v", seed, q, n.FoldedTotal, left)
					}
					folded += n.Folded
				})
			}
			below(t, rng, s, q, shape, full)
		}
	}
	if folded < 500 {
		t.Errorf("only %d nodes were folded", folded)
	}
}

// below: the tree below a path is what the whole tree has there.
func below(t *testing.T, rng *rand.Rand, s *Source, q *Query, shape Shape, full *Outline) {
	t.Helper()
	at := rng.IntN(len(full.Parent))
	var path []Group
	var names []string
	for n := int32(at); full.Parent[n] >= 0; n = full.Parent[n] {
		path = append(path, full.Groups[full.Group[n]])
	}
	slices.Reverse(path)
	want := full.Tree()
	for i, g := range path {
		k := slices.IndexFunc(want.Children, func(n *Node) bool { return n.Group == g })
		first := slices.IndexFunc(want.Children, func(n *Node) bool { return n.Function == g.Function })
		want = want.Children[k]
		if names = append(names, s.Text(&g)); k == first && g.Function != "" && i%2 == 0 && q.metrics()[0].Sums() {
			names[i] = g.Function // the largest of those with the name
		}
	}
	got, err := Draw(t.Context(), s, q, shape, Trim{Below: names})
	if err != nil {
		t.Fatal(err)
	}
	if root := got.Tree(); !reflect.DeepEqual(root, want) {
		t.Fatalf("%+v below %+v:\n%+v\nwant\n%+v", q, path, root, want)
	}
	if len(path) == 0 {
		return
	}
	// A share is one of the node at the end of the path.
	got, err = Draw(t.Context(), s, q, shape, Trim{Below: names, Share: .3})
	if err != nil {
		t.Fatal(err)
	}
	if m := q.metrics()[0]; m.Sums() {
		for i := range got.Parent {
			v := got.Total.Values(i)
			if m.Of(&v, 1e9) < .3*m.Of(&want.Total, 1e9) {
				t.Fatalf("%+v: a node with %v of %v", q, m.Of(&v, 1e9), m.Of(&want.Total, 1e9))
			}
		}
	}
	// A name alone is found wherever it is.
	last := path[len(path)-1]
	got, err = Draw(t.Context(), s, q, shape, Trim{Below: []string{s.Text(&last)}})
	if err != nil {
		t.Fatal(err)
	}
	if g := got.Tree().Group; s.Text(&g) != s.Text(&last) {
		t.Fatalf("%+v below %q: %+v", q, s.Text(&last), g)
	}
	// Functions alone lead along the path, too, whichever of those with a name has the rest of it.
	functions := make([]string, len(path))
	for i, g := range path {
		functions[i] = g.Function
	}
	if !slices.Contains(functions, "") {
		if got, err = Draw(t.Context(), s, q, shape, Trim{Below: functions}); err != nil {
			t.Fatal(err)
		}
		if f := got.Tree().Function; f != last.Function {
			t.Fatalf("%+v below %q: %q", q, functions, f)
		}
	}
	nowhere, err := Draw(t.Context(), s, q, shape, Trim{Below: append(names, "nowhere")})
	if err != nil {
		t.Fatal(err)
	}
	if len(nowhere.Parent) != 1 || nowhere.Folded[0] != 0 || !nowhere.Total.isZero(0) {
		t.Fatalf("below what does not exist: %+v", nowhere)
	}
}

// TestSandwichNodes: a sandwich has so many nodes on each side, with the values that it has without the limit.
func TestSandwichNodes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		s, _ := random(t, seed, 150)
		q := &Query{Metrics: []Metric{Bytes, Allocations}}
		match := func(g *Group) bool { return g.Function == "b" || g.Function == "c" }
		full, err := DrawSandwich(t.Context(), s, q, match, Trim{})
		if err != nil {
			t.Fatal(err)
		}
		part, err := DrawSandwich(t.Context(), s, q, match, Trim{Nodes: 5})
		if err != nil {
			t.Fatal(err)
		}
		if part.Self != full.Self || part.Totals != full.Totals || !slices.Equal(part.Groups, full.Groups) {
			t.Fatalf("seed %d: %+v, want %+v", seed, part, full)
		}
		for i, pair := range [][2]*Outline{{part.Callers, full.Callers}, {part.Callees, full.Callees}} {
			paths := all(pair[1].Tree())
			if len(pair[0].Parent) != min(5, len(pair[1].Parent)) {
				t.Fatalf("seed %d: %d nodes", seed, len(pair[0].Parent))
			}
			walk(pair[0].Tree(), nil, func(n *Node, path []Group) {
				if want := paths[fmt.Sprint(path)]; want == nil || want.Total != n.Total || want.Self != n.Self {
					t.Fatalf("seed %d, side %d, at %+v: %+v, want %+v", seed, i, path, n, want)
				}
			})
		}
	}
}

// TestNothingInSandwich: the trees of a sandwich lack what has nothing of the metrics, as other trees do. Its groups
// are there nevertheless, wherever the answer comes from.
func TestNothingInSandwich(t *testing.T) {
	t.Parallel()
	missing := 0
	for seed := range uint64(6) {
		s, events := random(t, seed, 200)
		withAtlas(t, s, 20)
		defer s.Close()
		n := uint64(len(events))
		match := func(g *Group) bool { return g.Function == "b" }
		for _, q := range []*Query{{}, {Threads: []uint32{0}}, {Range: &Range{n / 3, n / 2}},
			{Range: &Range{n / 3, n / 2}, Rough: s.Profile.Duration}} {
			q.Metrics = []Metric{Live}
			o, err := DrawSandwich(t.Context(), s, q, match, Trim{})
			if err != nil {
				t.Fatal(err)
			}
			for _, tree := range []*Outline{o.Callers, o.Callees} {
				for i := 1; i < len(tree.Parent); i++ {
					if v := tree.Total.Values(i); v.LiveBytes == 0 {
						t.Errorf("seed %d, %s: %+v has nothing", seed, o.Plan, tree.Groups[tree.Group[i]])
					}
				}
			}
			there := *q
			there.Range, there.At, there.Rough, there.Metrics = &Range{o.From, o.To}, &o.At, 0, []Metric{Live, Bytes}
			both, err := DrawSandwich(t.Context(), s, &there, match, Trim{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(o.Groups, both.Groups) {
				t.Errorf("seed %d, %s: the groups are %+v, want %+v", seed, o.Plan, o.Groups, both.Groups)
			}
			missing += len(both.Callees.Parent) - len(o.Callees.Parent)
		}
	}
	if missing == 0 {
		t.Error("everything was live")
	}
}

// TestAllHidden: what is kept for a query that hides all frames is not taken for one that hides none.
func TestAllHidden(t *testing.T) {
	t.Parallel()
	s, _ := random(t, 2, 100)
	defer s.Close()
	withAtlas(t, s, 20)
	all := regexp.MustCompile("")
	b := func(g *Group) bool { return g.Function == "b" }
	for _, hide := range []*regexp.Regexp{all, nil, all} {
		q := &Query{Hide: hide}
		table, err := Flat(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		curve, err := CurveOf(t.Context(), s, q, b)
		if err != nil {
			t.Fatal(err)
		}
		frames := slices.ContainsFunc(table.Rows, func(r Row) bool { return b(&r.Group) })
		if lives := slices.Max(curve.Most) > 0; frames != (hide == nil) || lives != frames {
			t.Errorf("hiding %v: b is in the table: %v; its curve has something: %v", hide, frames, lives)
		}
	}
}

// TestKeptForest: queries that share a forest get the answers that they get without it, at the same time and in any
// order, also if the forest has to grow for them.
func TestKeptForest(t *testing.T) {
	t.Parallel()
	s, events := random(t, 14, 400)
	n := uint64(len(events))
	ask := func(s *Source, i int) (*Table, *Node) {
		rng := rand.New(rand.NewPCG(uint64(i), 9))
		from, to := rng.Uint64N(n+1), rng.Uint64N(n+1)
		q := &Query{By: By(rng.IntN(int(ByStack) + 1)), Range: &Range{min(from, to), max(from, to)},
			Metrics: []Metric{[]Metric{Bytes, Live, Peak}[i%3], Allocations}}
		table, err := Flat(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := BottomUp(t.Context(), s, q, Trim{})
		if err != nil {
			t.Fatal(err)
		}
		return table, tree.Root
	}
	forget := func() { keptForests.DropIf(func(k forestKey) bool { return k.s == s }) }
	type answers struct {
		rows map[string]Row
		tree map[string]Values
	}
	flat := func(table *Table, tree *Node) (a answers) {
		a.rows, a.tree = make(map[string]Row), make(map[string]Values)
		for _, r := range table.Rows {
			name := read([]Group{r.Group})
			if r.By == ByStack { // which one of those with the same text stands for them does not matter
				name = ""
				for _, f := range s.Frames(r.Stack) {
					name += read([]Group{groupOf(ByLine, &f)})
				}
			}
			r.Group = Group{}
			a.rows[name] = r
		}
		for path, node := range all(tree) {
			a.tree[path] = node.Total
		}
		return a
	}
	const questions = 24
	want := make([]answers, questions)
	for i := range want {
		forget()
		want[i] = flat(ask(s, i))
	}
	forget()
	whole := s.sum.Stacks
	few := *s.sum
	few.Stacks = whole[:len(whole)/3] // as if the recording had grown since
	s.sum = &few
	defer s.Close()
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			for k := range questions {
				i := (k*(2*g+1) + g) % questions
				if i%3 != 0 {
					continue // what is live may be counted back from the tally, which was made smaller
				}
				if got := flat(ask(s, i)); !reflect.DeepEqual(got, want[i]) {
					t.Errorf("question %d: %+v, want %+v", i, got, want[i])
				}
			}
		})
	}
	wait.Wait()
}
