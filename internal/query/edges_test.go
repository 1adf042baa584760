package query_test

import (
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording"
)

// record writes a recording of events, one every 100 ns, and opens it.
func record(t *testing.T, more func(*recording.Writer), events ...event.Event) *query.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{PID: 7}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint32(2) {
		w.Thread(i, event.Thread{TID: 100 + i})
	}
	if more != nil {
		more(w)
	}
	now := int64(0)
	for i := range events {
		now += 100
		events[i].Time = now
		if err := w.Event(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(recording.Ending{End: now + 100, Exited: true}); err != nil {
		t.Fatal(err)
	}
	s, err := query.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func alloc(thread uint32, size uint64) event.Event {
	return event.Event{Kind: event.Alloc, Func: event.Malloc, Thread: thread, Size: size, Ref: event.NoRef}
}

// free ends allocation ref, which was made by a thread at a time.
func free(thread uint32, ref, size uint64, by uint32, born int64) event.Event {
	return event.Event{Kind: event.Free, Func: event.FreeFunc, Thread: thread, Ref: ref, Size: size, BornBy: by,
		Born: born}
}

// TestNeverFreedInRange: of three blocks that live on, only the one that was allocated in the range counts.
func TestNeverFreedInRange(t *testing.T) {
	t.Parallel()
	s := record(t, nil, alloc(0, 1), alloc(0, 20), alloc(0, 300))
	h, err := query.Distribute(t.Context(), s, &query.Query{Range: &query.Range{From: 1, To: 2}})
	if err != nil {
		t.Fatal(err)
	}
	if want := (query.Bucket{Count: 1, Bytes: 20}); h.NeverFreed != want || h.Kept[5] != want || h.Kept[9].Count != 0 {
		t.Errorf("%+v, by size %+v", h.NeverFreed, h.Kept)
	}
}

// twoFunctions are the call stacks 1, of a, and 2, of b.
func twoFunctions(w *recording.Writer) {
	w.Module(event.Module{ID: 1, Path: "/bin/app", Start: 1 << 20, Bias: 1 << 20, Unload: -1})
	for i := uint32(1); i <= 2; i++ {
		w.PC(i, event.PC{Addr: 1<<20 + uint64(i), Module: 1})
		w.Node(i, event.Node{PC: i})
	}
	_ = w.Symbols(map[uint32][]event.Frame{1: {{Function: "a"}}, 2: {{Function: "b"}}})
}

func at(stack uint32, e event.Event) event.Event {
	e.Stack = stack
	return e
}

// TestOwnPeakOfSelected: what other call stacks have live when the range begins is not in the peak of those selected;
// what the selected ones have live then is.
func TestOwnPeakOfSelected(t *testing.T) {
	t.Parallel()
	s := record(t, twoFunctions, at(1, alloc(0, 1000)), at(2, alloc(0, 200)), at(2, alloc(0, 30)),
		at(2, free(0, 2, 30, 0, 300)), at(2, alloc(0, 4)))
	for _, metrics := range [][]query.Metric{{query.OwnPeak}, {query.OwnPeak, query.MaxLifetime},
		{query.OwnPeak, query.Leaked, query.Time}} {
		for from, want := range []uint64{230, 230, 230, 230, 204} {
			q := query.Query{By: query.ByStack, Metrics: metrics, Focus: []*regexp.Regexp{regexp.MustCompile("^b$")},
				Range: &query.Range{From: uint64(from), To: 5}}
			got, err := query.Flat(t.Context(), s, &q)
			if err != nil {
				t.Fatal(err)
			}
			if got.Total.OwnPeak != want {
				t.Errorf("%v from event %d on: %d bytes, want %d", metrics, from, got.Total.OwnPeak, want)
			}
		}
	}
}

// TestTransientOfOneThread: a block is transient in a region if the thread that allocated it freed it there, not if
// another one did.
func TestTransientOfOneThread(t *testing.T) {
	t.Parallel()
	stacked := func(e event.Event) event.Event {
		e.FreeStack = 1
		return at(1, e)
	}
	s := record(t, func(w *recording.Writer) {
		twoFunctions(w)
		for thread := range uint32(2) {
			w.Region(event.RegionNote{Thread: thread, Name: "load"})
		}
		w.Region(event.RegionNote{Thread: 1, Name: "parse"})
	}, at(1, alloc(0, 10)), at(1, alloc(1, 200)), stacked(free(0, 0, 10, 0, 100)), stacked(free(1, 1, 200, 1, 200)),
		at(1, alloc(1, 3000)), stacked(free(0, 2, 3000, 1, 500)))
	list, err := query.Transients(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, x := range list {
		got[x.Region+" "+x.Function.Function] = x.Bytes
	}
	if want := map[string]uint64{"load a": 10, "parse a": 200}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestOwnPeakOfSeveral: the own peak of a function with two call stacks is what both have live at one moment. The
// beginning of the range is such a moment, though the first event of the range is a deallocation.
func TestOwnPeakOfSeveral(t *testing.T) {
	t.Parallel()
	s := record(t, func(w *recording.Writer) {
		twoFunctions(w)
		for i := uint32(1); i <= 2; i++ {
			w.PC(2+i, event.PC{Addr: 1<<20 + 100 + uint64(i), Module: 1})
			w.Node(2+i, event.Node{Parent: 1, PC: 2 + i})
		}
	}, at(3, alloc(0, 1000)), at(4, alloc(0, 200)), at(3, free(0, 0, 1000, 0, 100)), at(4, alloc(0, 3)))
	for n, want := range []uint64{1200, 1200, 1200, 203, 1200, 1200, 1200, 203} {
		from := uint64(n % 4)
		q := query.Query{By: query.ByFunction, Metrics: []query.Metric{query.OwnPeak},
			Range: &query.Range{From: from, To: 4}}
		if n >= 4 { // then all events before the range are read, too
			q.Threads = []uint32{0}
		}
		got, err := query.Flat(t.Context(), s, &q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range got.Rows {
			if r.Function == "a" && r.Total.OwnPeak != want {
				t.Errorf("from event %d on: %d bytes, want %d", from, r.Total.OwnPeak, want)
			}
		}
	}
}

// TestBelowSharedNames: of two roots with the same name, as programs that are merged have them, the path leads below
// the one that has the rest of it; with the same paths below both, below the one that counts most.
func TestBelowSharedNames(t *testing.T) {
	t.Parallel()
	names := []string{"main", "main", "load", "store", "both", "both"}
	s := record(t, func(w *recording.Writer) {
		symbols := map[uint32][]event.Frame{}
		for i, name := range names {
			id, module := uint32(i+1), uint32(1+i%2)
			if i < 2 {
				at := int64(id) << 20
				w.Module(event.Module{ID: id, Path: "/bin/" + string(rune('a'+i)), Start: uint64(at), Bias: uint64(at),
					Unload: -1})
			}
			w.PC(id, event.PC{Addr: uint64(module)<<20 + uint64(id), Module: module})
			node := event.Node{PC: id}
			if i >= 2 {
				node.Parent = module // its main
			}
			w.Node(id, node)
			symbols[id] = []event.Frame{{Function: name}}
		}
		_ = w.Symbols(symbols)
	}, at(3, alloc(0, 1000)), at(4, alloc(0, 10)), at(5, alloc(0, 1)), at(6, alloc(0, 2)))
	for path, want := range map[string]uint64{"main": 1001, "main load": 1000, "main store": 10, "main both": 1,
		"main nothing": 0, "store": 10} {
		q := query.Query{Metrics: []query.Metric{query.Bytes}}
		got, err := query.Draw(t.Context(), s, &q, query.Down, query.Trim{Below: strings.Fields(path)})
		if err != nil {
			t.Fatal(err)
		}
		if total := got.Tree().Total.Bytes; total != want {
			t.Errorf("below %s: %d bytes, want %d", path, total, want)
		}
	}
}
