package profile

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/tally"
)

// build makes a recording with the stacks of a small C++ program:
//
//	main > grow      twice, at two addresses with the same text
//	main > other     no symbols
//	initialiser of libstdc++, called by the loader, and by dlopen from main
//	start_thread > worker
func build(t *testing.T, finish bool) *Profile {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{PID: 1, Args: []string{"a"}}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for id, path := range []string{"", "/bin/a", "/lib/libc.so.6", "/lib/libstdc++.so.6.0.30",
		"/lib64/ld-linux-x86-64.so.2"} {
		if id > 0 {
			w.Module(event.Module{ID: uint32(id), Path: path, Start: uint64(id) << 20, Bias: uint64(id) << 20,
				Unload: -1})
		}
	}
	pc := func(id, module uint32, offset uint64) {
		w.PC(id, event.PC{Addr: uint64(module)<<20 + offset, Module: module})
	}
	pc(1, 1, 0x10) // main
	pc(2, 1, 0x20) // grow
	pc(3, 1, 0x28) // grow, the same line
	pc(4, 1, 0x30) // no symbols
	pc(5, 3, 0x40) // libstdc++'s initialiser
	pc(6, 4, 0x50) // loader
	pc(7, 2, 0x60) // start_thread
	pc(8, 1, 0x70) // worker
	w.PC(9, event.PC{Addr: 0xdead})
	node := func(id, parent, pc uint32, truncated bool) {
		w.Node(id, event.Node{Parent: parent, PC: pc, Truncated: truncated})
	}
	node(1, 0, 1, false) // main
	node(2, 1, 2, false) // main > grow
	node(3, 1, 3, false) // main > grow, the other one
	node(4, 1, 4, false) // main > ?
	node(5, 0, 6, false) // loader
	node(6, 5, 5, false) // loader > libstdc++: 72,704
	node(7, 1, 6, false) // main > loader (dlopen)
	node(8, 7, 5, false) // main > loader > libstdc++: 72,704
	node(9, 5, 6, false) // loader > loader
	node(10, 0, 7, true) // start_thread, truncated
	node(11, 10, 8, false)
	node(12, 0, 9, false)  // JIT
	node(13, 13, 1, false) // a forged cycle: the reader cuts it, and says so
	var events []event.Event
	now := int64(0)
	var allocs []event.Event
	alloc := func(stack uint32, size uint64) {
		now += 1000
		e := event.Event{Time: now, Func: event.Malloc, Stack: stack, Size: size, Ref: event.NoRef}
		allocs = append(allocs, e)
		events = append(events, e)
	}
	free := func(i int) {
		now += 1000
		a := allocs[i]
		events = append(events, event.Event{Time: now, Kind: event.Free, Func: event.FreeFunc, Stack: a.Stack,
			Size: a.Size, Ref: uint64(i), Born: a.Time})
	}
	alloc(6, 72704)
	alloc(8, 72704)
	alloc(9, 100)
	alloc(2, 1000)
	alloc(3, 500)
	free(3)
	alloc(4, 40)
	alloc(11, 7)
	alloc(12, 9)
	alloc(2, 10)
	sum := tally.New()
	for i := range events {
		sum.Add(&events[i])
	}
	w.Thread(0, event.Thread{TID: 5, Name: "a"})
	w.Sample(event.Sample{Time: 100, RSS: 5})
	w.Sample(event.Sample{Time: 200, RSS: 9})
	w.Sample(event.Sample{Time: 300, RSS: -1})
	if err := w.Events(events); err != nil {
		t.Fatal(err)
	}
	grow := event.Frame{Function: "grow", File: "a.c", Line: 9}
	if err := w.Symbols(map[uint32][]event.Frame{
		1: {{Function: "main", File: "a.c", Line: 3}},
		2: {{Function: "helper", File: "a.h", Line: 1, Inlined: true}, grow},
		3: {{Function: "helper", File: "a.h", Line: 1, Inlined: true}, grow},
		8: {{Function: "worker"}},
	}); err != nil {
		t.Fatal(err)
	}
	if finish {
		err = w.Finish(recording.Ending{End: 1e6, Exited: true, Tally: sum})
	} else if err = w.Flush(); err == nil {
		err = w.Abort()
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLoad(t *testing.T) {
	t.Parallel()
	p := build(t, true)
	if p.Duration != 1e6 || !p.Ended || len(p.Damage) != 1 || len(p.Threads) != 1 ||
		p.Threads[0].Counts.Allocations != 9 {
		t.Errorf("%+v", p)
	}
	if s, ok := p.PeakRSS(); !ok || s.RSS != 9 || s.Time != 200 {
		t.Errorf("peak of RSS: %+v", s)
	}
	classes := make(map[uint32]Class)
	for _, s := range p.Stacks {
		classes[s.ID] = s.Class
		if s.Truncated != (s.ID == 11) {
			t.Errorf("stack %d: truncated %v", s.ID, s.Truncated)
		}
	}
	want := map[uint32]Class{2: Program, 3: Program, 4: Program, 6: Runtime, 8: Runtime, 9: Runtime, 11: Program,
		12: Program}
	if d := cmp.Diff(want, classes); d != "" {
		t.Errorf("classes:\n%s", d)
	}
	if want := (Leak{2*72704 + 100, 3}); p.Runtime != want {
		t.Errorf("runtime's: %+v, want %+v", p.Runtime, want)
	}
}

// TestWithoutEnding: a recording that breaks off is counted from its events, with the same result.
func TestWithoutEnding(t *testing.T) {
	t.Parallel()
	whole, broken := build(t, true), build(t, false)
	if broken.Ended || len(broken.Damage) == 0 {
		t.Errorf("a recording without ending has no damage: %v", broken.Damage)
	}
	if d := cmp.Diff(whole.Totals, broken.Totals); d != "" {
		t.Errorf("totals:\n%s", d)
	}
	if d := cmp.Diff(whole.Stacks, broken.Stacks); d != "" {
		t.Errorf("stacks:\n%s", d)
	}
	if broken.Duration != broken.Totals.LastTime {
		t.Errorf("duration %d", broken.Duration)
	}
}

func TestFrames(t *testing.T) {
	t.Parallel()
	p := build(t, true)
	want := []Frame{
		{Function: "helper", File: "a.h", Line: 1, Module: "/bin/a", Inlined: true, Address: 0x100020, Offset: 0x20},
		{Function: "grow", File: "a.c", Line: 9, Module: "/bin/a", Address: 0x100020, Offset: 0x20},
		{Function: "main", File: "a.c", Line: 3, Module: "/bin/a", Address: 0x100010, Offset: 0x10},
	}
	if d := cmp.Diff(want, p.AppendFrames(nil, 2)); d != "" {
		t.Errorf("frames:\n%s", d)
	}
	if d := cmp.Diff([]Frame{{Address: 0xdead}}, p.AppendFrames(nil, 12)); d != "" {
		t.Errorf("frames of a JIT:\n%s", d)
	}
	for stack, n := range map[uint32]int{0: 0, 99: 0, 13: 1} {
		if got := len(p.AppendFrames(nil, stack)); got != n {
			t.Errorf("stack %d has %d frames, want %d", stack, got, n)
		}
	}
}

func TestRank(t *testing.T) {
	t.Parallel()
	p := build(t, true)
	groups := p.Groups()
	if len(groups) != len(p.Stacks)-1 { // the two calls of grow are one group
		t.Errorf("%d groups of %d stacks", len(groups), len(p.Stacks))
	}
	type line struct {
		Stack uint32
		Value uint64
		N     int
	}
	for m, want := range map[*Metric][]line{
		&LiveAtPeak:  {{6, 72704, 1}, {8, 72704, 1}, {2, 1500, 2}},
		&Leaked:      {{2, 510, 2}, {4, 40, 1}, {12, 9, 1}},
		&Allocations: {{2, 3, 2}, {4, 1, 1}, {6, 1, 1}},
		&Bytes:       {{6, 72704, 1}, {8, 72704, 1}, {2, 1510, 2}},
		&Temporary:   nil,
	} {
		var got []line
		for _, g := range Rank(groups, m, 3) {
			got = append(got, line{g.Stack, m.Of(&g), g.Stacks})
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s:\n%s", m.Name, d)
		}
	}
	for _, m := range Metrics {
		sum := uint64(0)
		for i := range groups {
			if !(m.Own && groups[i].Class == Runtime) {
				sum += m.Of(&groups[i])
			}
		}
		if total := m.Total(p); sum != total {
			t.Errorf("%s: the groups sum up to %d, the total is %d", m.Name, sum, total)
		}
	}
	g := Rank(groups, &Allocations, 1)[0]
	if g.MinSize != 10 || g.MaxSize != 1000 || g.Bytes != 1510 || g.Deallocations != 1 {
		t.Errorf("sums of a group: %+v", g)
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	p := build(t, true)
	for n, want := range map[int][]uint32{0: nil, 1: {2, 3, 6}, 2: {2, 3, 4, 6, 8}, 100: {2, 3, 4, 6, 8, 9, 11, 12}} {
		var got []uint32
		for _, s := range p.Select(n) {
			got = append(got, s.ID)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("first %d:\n%s", n, d)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	if _, err := Open(filepath.Join(t.TempDir(), "none.htap")); err == nil {
		t.Error("a missing file was opened")
	}
	if _, err := recording.NewReader(bytes.NewReader([]byte("text")), 4, "x"); err == nil {
		t.Error("a text file was opened")
	}
}
