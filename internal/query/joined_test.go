package query

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
)

// TestJoined compares tables of source lines and files of random programs with a count over all events. The programs'
// lines lie in several functions, some inlined into others of the same line, and recurse.
func TestJoined(t *testing.T) {
	t.Parallel()
	line := func(g *Group) (Group, bool) {
		return Group{By: ByLine, File: g.File, Line: g.Line}, g.File != ""
	}
	file := func(g *Group) (Group, bool) { return Group{By: ByLine, File: g.File}, g.File == "x.c" }
	several := 0 // lines that lie in several functions of one stack
	for seed := range uint64(12) {
		s, events := random(t, seed, 400)
		type sum struct{ Allocations, Bytes, OwnPeak uint64 }
		type both struct{ Self, Total sum }
		want := []map[Group]both{{}, {}}
		live := map[[2]string]uint64{} // by group, and self or total
		for i := range events {
			e := &events[i]
			if e.Kind != event.Alloc && e.Kind != event.Free {
				continue
			}
			frames := s.Frames(e.Stack)
			for k, join := range []Join{line, file} {
				on := map[Group]string{} // and one of the functions
				for depth, f := range frames {
					g, ok := join(&Group{File: f.File, Line: f.Line})
					if !ok {
						continue
					}
					if other, twice := on[g]; twice && other != f.Function {
						several++
					}
					parts := []string{}
					if _, twice := on[g]; !twice {
						parts = append(parts, "total")
					}
					if depth == 0 {
						parts = append(parts, "self")
					}
					on[g] = f.Function
					for _, part := range parts {
						v := want[k][g]
						to := &v.Total
						if part == "self" {
							to = &v.Self
						}
						key := [2]string{fmt.Sprint(k, g), part}
						if e.Kind == event.Alloc {
							to.Allocations++
							to.Bytes += e.Size
							live[key] += e.Size
							to.OwnPeak = max(to.OwnPeak, live[key])
						} else {
							live[key] -= e.Size
						}
						want[k][g] = v
					}
				}
			}
		}
		tables, err := Joined(t.Context(), s, &Query{By: ByLine, Metrics: []Metric{Allocations, Bytes, OwnPeak}}, false,
			line, file)
		if err != nil {
			t.Fatal(err)
		}
		for k, table := range tables {
			got := map[Group]both{}
			for _, r := range table.Rows {
				of := func(v *Values) sum { return sum{v.Allocations, v.Bytes, v.OwnPeak} }
				got[r.Group] = both{of(&r.Self), of(&r.Total)}
			}
			if d := cmp.Diff(want[k], got); d != "" {
				t.Fatalf("seed %d, table %d:\n%s", seed, k, d)
			}
		}
	}
	if several < 100 {
		t.Errorf("only %d lines in several functions of one stack", several)
	}
}

// TestJoinedCalls compares what lines call with a count over all events.
func TestJoinedCalls(t *testing.T) {
	t.Parallel()
	line := func(g *Group) (Group, bool) {
		return Group{By: ByLine, File: g.File, Line: g.Line}, g.File == "x.c"
	}
	recursive := 0 // calls that occur several times on one stack
	for seed := range uint64(12) {
		s, events := random(t, seed, 400)
		type sum struct{ Allocations, Bytes uint64 }
		want := map[Group]sum{}
		for i := range events {
			e := &events[i]
			if e.Kind != event.Alloc {
				continue
			}
			frames := s.Frames(e.Stack) // leaf first
			seen := map[Group]bool{}
			for depth, callee := range frames {
				if depth+1 == len(frames) {
					break
				}
				caller := frames[depth+1]
				if caller.File != "x.c" {
					continue
				}
				g := Group{By: ByLine, File: caller.File, Line: caller.Line, Function: callee.Function,
					Module: callee.Module}
				switch {
				case g.Function != "":
				case g.Module != "":
					g.Offset = callee.Offset
				default:
					g.Offset = callee.Address
				}
				if seen[g] {
					recursive++
					continue
				}
				seen[g] = true
				v := want[g]
				want[g] = sum{v.Allocations + 1, v.Bytes + e.Size}
			}
		}
		tables, err := Joined(t.Context(), s, &Query{By: ByLine, Metrics: []Metric{Bytes, Allocations}}, true, line)
		if err != nil {
			t.Fatal(err)
		}
		got := map[Group]sum{}
		for _, r := range tables[1].Rows {
			got[r.Group] = sum{r.Total.Allocations, r.Total.Bytes}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d: calls differ (-model +answer):\n%s", seed, diff)
		}
	}
	if recursive == 0 {
		t.Error("no call occurs twice on a stack: the test does not test that it counts once")
	}
}
