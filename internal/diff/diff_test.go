package diff

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording"
)

// build is one build of a made-up program: functions call each other at lines.
type build struct {
	dir   string
	id    byte
	moved func(line uint32) uint32
	extra map[int]int // allocations added or removed at the n-th call stack
}

// run records a program of 60 call stacks, the same ones for every build, with its own addresses and ids.
func (b *build) run(t *testing.T, seed uint64) *query.Source {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	path := filepath.Join(t.TempDir(), "a.htap")
	exe := b.dir + "/app"
	w, err := recording.Create(path, event.Process{PID: int(seed), Exe: exe}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	base := uint64(1+rng.IntN(99)) << 32
	w.Module(event.Module{ID: 1, Path: exe, BuildID: []byte{b.id}, Start: base, End: base + 1<<20, Bias: base,
		Unload: -1})
	w.Thread(0, event.Thread{TID: uint32(seed), Name: exe})
	type site struct {
		function int
		line     uint32
	}
	program := rand.New(rand.NewPCG(7, 7)) // the same in every build
	frames := make(map[uint32][]event.Frame)
	pcs, nodes := make(map[site]uint32), make(map[[2]uint32]uint32)
	var ids []int // pcs and nodes get their ids in another order in each run
	for i := range 4000 {
		ids = append(ids, i+1)
	}
	rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	next := func() uint32 {
		id := ids[0]
		ids = ids[1:]
		return uint32(id)
	}
	var events []event.Event
	live := 0
	for n := range 60 {
		parent := uint32(0)
		for depth := range 2 + program.IntN(5) {
			s := site{program.IntN(4) + 4*depth, uint32(10 + program.IntN(4)*10)}
			pc := pcs[s]
			if pc == 0 {
				pc = next()
				pcs[s] = pc
				w.PC(pc, event.PC{Addr: base + uint64(pc)*8, Module: 1})
				frames[pc] = []event.Frame{{Function: fmt.Sprintf("f%d", s.function), File: b.dir + "/f.c",
					Line: b.moved(s.line + 100*uint32(s.function)), Inlined: rng.IntN(2) == 0}}
			}
			k := [2]uint32{parent, pc}
			if nodes[k] == 0 {
				nodes[k] = next()
				w.Node(nodes[k], event.Node{Parent: parent, PC: pc})
			}
			parent = nodes[k]
		}
		for range 3 + b.extra[n] {
			events = append(events, event.Event{Time: int64(live) * 100, Kind: event.Alloc, Func: event.Malloc,
				Stack: parent, Size: uint64(100 + n), Ref: event.NoRef})
			live++
		}
	}
	if err := w.Events(events); err != nil {
		t.Fatal(err)
	}
	if err := w.Symbols(frames); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(recording.Ending{End: 1e6, Exited: true}); err != nil {
		t.Fatal(err)
	}
	s, err := query.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func still(line uint32) uint32 { return line }

// TestPlantedChanges: between two builds in which every line, address, id, path and inlining differs, exactly the
// planted changes are found; and by any grouping, the changes add up.
func TestPlantedChanges(t *testing.T) {
	t.Parallel()
	a := (&build{dir: "/old", id: 1, moved: still}).run(t, 1)
	for name, c := range map[string]struct {
		b    build
		want map[uint64]int // by number of changed bytes: rows that changed by it
	}{
		"nothing": {build{dir: "/new", id: 2, moved: func(l uint32) uint32 { return 3*l + 17 }}, map[uint64]int{}},
		"some": {build{dir: "/new", id: 2, moved: func(l uint32) uint32 { return l + l/7 },
			extra: map[int]int{5: 2, 17: -1, 40: 9}},
			map[uint64]int{2 * 105: 1, 117: 1, 9 * 140: 1}},
		"one build": {build{dir: "/old", id: 1, moved: still, extra: map[int]int{9: 4}}, map[uint64]int{4 * 109: 1}},
	} {
		b := c.b.run(t, 2)
		for by := range query.ByAllocation + 1 {
			q := query.Query{By: by, Metrics: []query.Metric{query.Bytes, query.Allocations, query.OwnPeak}}
			d, err := Compare(t.Context(), Between(Side{a, &q}, Side{b, &q}))
			if err != nil {
				t.Fatal(err)
			}
			sum, rows := 0., map[uint64]int{}
			for i := range d.Rows {
				r := &d.Rows[i]
				sum += d.Change(query.Bytes, &r.Self)
				if r.Status != Unchanged && r.Status != Grown && r.Status != Shrunk && by != query.ByAddress {
					t.Errorf("%s: by %s: %+v is %s", name, by, r.Group, r.Status)
				}
				if n := d.Change(query.Bytes, &r.Self); n != 0 {
					rows[uint64(max(n, -n))]++
				}
			}
			all := Pair{d.Before.Total, d.After.Total}
			if sum != d.Change(query.Bytes, &all) {
				t.Errorf("%s: by %s: the rows' changes sum up to %v, the total changed by %v", name, by, sum,
					d.Change(query.Bytes, &all))
			}
			if by == query.ByStack && fmt.Sprint(rows) != fmt.Sprint(c.want) {
				t.Errorf("%s: rows changed by %v, want %v", name, rows, c.want)
			}
			if len(c.want) == 0 && len(rows) > 0 && by != query.ByAddress {
				t.Errorf("%s: by %s: %v", name, by, rows)
			}
		}
		q := query.Query{By: query.ByFunction}
		tree, err := CompareTrees(t.Context(), Between(Side{a, &q}, Side{b, &q}), query.Trim{})
		if err != nil {
			t.Fatal(err)
		}
		moved := 0.
		for n, k := range c.want {
			moved += float64(n) * float64(k)
		}
		if tree.Root.Moved != moved || moved == 0 && len(tree.Root.Children) > 0 {
			t.Errorf("%s: %v bytes moved in the tree, want %v", name, tree.Root.Moved, moved)
		}
	}
}

// TestOrder: what changed most comes first, what is unchanged last; compared the other way round, all signs change.
func TestOrder(t *testing.T) {
	t.Parallel()
	a := (&build{dir: "/x", id: 1, moved: still, extra: map[int]int{3: -3, 4: -3}}).run(t, 1)
	b := (&build{dir: "/y", id: 2, moved: still, extra: map[int]int{4: 5, 8: -2}}).run(t, 2)
	q := query.Query{By: query.ByStack}
	there, err := Compare(t.Context(), Between(Side{a, &q}, Side{b, &q}))
	if err != nil {
		t.Fatal(err)
	}
	back, err := Compare(t.Context(), Between(Side{b, &q}, Side{a, &q}))
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		status, back Status
		change       float64
	}{{New, Gone, 8 * 104}, {New, Gone, 3 * 103}, {Shrunk, Grown, -2 * 108}}
	for i, w := range want {
		r, k := &there.Rows[i], &back.Rows[i]
		if r.Status != w.status || there.Change(query.Bytes, &r.Self) != w.change || k.Status != w.back ||
			back.Change(query.Bytes, &k.Self) != -w.change {
			t.Errorf("row %d: %s %v, back %s %v, want %+v", i, r.Status, there.Change(query.Bytes, &r.Self), k.Status,
				back.Change(query.Bytes, &k.Self), w)
		}
	}
	if slices.ContainsFunc(there.Rows[len(want):], func(r Row) bool { return r.Status != Unchanged }) ||
		there.Unchanged() != len(there.Rows)-len(want) {
		t.Error("other rows have changed, too")
	}
}
