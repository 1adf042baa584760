package merge

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/tally"
	"github.com/heaptap/heaptap/internal/verify"
)

// process is a generated recording, and what is known about it.
type process struct {
	path    string
	started int64
	events  []event.Event
	sum     *tally.Summary
}

// record writes a recording of n events of a process, with random addresses and some of the call stacks that all share.
func record(t *testing.T, path string, seed uint64, n int) *process {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	p := &process{path: path, started: int64(1e18) + rng.Int64N(1e9)}
	w, err := recording.Create(path, event.Process{PID: int(seed) + 100, Exe: "/bin/app", Args: []string{"app"},
		Host: "h", Arch: "amd64", Started: p.started}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	base := uint64(1+rng.IntN(1000)) << 32 // a random load address
	w.Module(event.Module{ID: 1, Path: fmt.Sprintf("/run%d/app", seed), BuildID: []byte("app"), Start: base,
		End: base + 1<<20, Bias: base, Unload: -1})
	w.Module(event.Module{ID: 2, Path: "/lib/x.so", Start: base << 8, End: base<<8 + 1<<20, Bias: base << 8,
		Unload: -1})
	order := rng.Perm(40) // call stacks get their ids in the order of their first use
	frames := make(map[uint32][]event.Frame)
	for i, k := range order {
		id := uint32(i + 1)
		w.PC(id, event.PC{Addr: base<<(8*(k&1)) + uint64(k)*16, Module: uint32(1 + k&1), Interrupted: k == 7})
		if k%5 != 0 {
			frames[id] = []event.Frame{{Function: fmt.Sprintf("f%d", k), File: "a.c", Line: uint32(k), Inlined: true},
				{Function: fmt.Sprintf("g%d", k)}}
		}
		parent := uint32(0)
		if i > 0 && rng.IntN(4) > 0 {
			parent = 1 + uint32(rng.IntN(i))
		}
		w.Node(id, event.Node{Parent: parent, PC: id, Truncated: parent == 0 && k == 3})
	}
	// A library that was loaded a second time at another address: the same call stack under two ids.
	w.Module(event.Module{ID: 3, Path: "/lib/x.so", Start: base << 9, End: base<<9 + 1<<20, Bias: base << 9,
		Unload: -1})
	for i := range uint32(2) {
		w.PC(41+i, event.PC{Addr: base<<(8+i) + 0x9990, Module: 2 + i})
		w.Node(41+i, event.Node{PC: 41 + i})
	}
	// One of the program's own pools, whose name has a different number in each recording.
	w.PC(43, event.PoolPC(uint32(seed)))
	w.Node(43, event.Node{Parent: 1, PC: 43})
	frames[43] = []event.Frame{event.PoolFrame("words")}
	threads := 1 + rng.IntN(3)
	for i := range threads {
		w.Thread(uint32(i), event.Thread{TID: uint32(seed*10) + uint32(i), Name: []string{"main", "work", "work"}[i]})
	}
	type block struct {
		ref, size uint64
		stack     uint32
		born      int64
		by        uint32
	}
	var live []block
	now, ref := int64(0), uint64(0)
	for range n {
		now = recording.Quantise(now + rng.Int64N(5000))
		e := event.Event{Time: now, Thread: uint32(rng.IntN(threads)), Ref: event.NoRef}
		if k := rng.IntN(5); k < 3 || len(live) == 0 {
			e.Kind, e.Func, e.Size, e.Stack = event.Alloc, event.Malloc, uint64(rng.IntN(10_000)), uint32(rng.IntN(44))
			live = append(live, block{ref, e.Size, e.Stack, now, e.Thread})
			ref++
		} else {
			i := rng.IntN(len(live))
			b := live[i]
			live = slices.Delete(live, i, i+1)
			e.Kind, e.Func, e.Size, e.Stack = event.Free, event.FreeFunc, b.size, b.stack
			e.Ref, e.Born, e.BornBy = b.ref, b.born, b.by
		}
		p.events = append(p.events, e)
	}
	if err := w.Events(p.events); err != nil {
		t.Fatal(err)
	}
	if err := w.Symbols(frames); err != nil {
		t.Fatal(err)
	}
	if err := w.Pools([]event.Pool{somePool("words", seed), somePool(fmt.Sprintf("of %d", seed%2), seed)}); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(recording.Ending{End: now + rng.Int64N(1000), Exited: true,
		Health: event.Health{Waits: seed}}); err != nil {
		t.Fatal(err)
	}
	r := open(t, path)
	if p.sum, err = r.Tally(); err != nil {
		t.Fatal(err)
	}
	return p
}

// somePool is a pool with a different number in every place.
func somePool(name string, n uint64) event.Pool {
	return event.Pool{Name: name, Backing: n, PeakBacking: 10 + n, Live: 100 * n, PeakLive: 1000 * n, Blocks: 2 * n,
		Allocations: 3 * n, Frees: 4 * n, Bytes: 10000 * n}
}

func open(t *testing.T, path string) *recording.Reader {
	t.Helper()
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// merged merges recordings, and checks that the result is consistent.
func merged(t *testing.T, align Align, paths ...string) string {
	t.Helper()
	m := New(align)
	for _, p := range paths {
		if err := m.Add(t.Context(), filepath.Base(p), open(t, p)); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "out.htap")
	if err := m.Write(out); err != nil {
		t.Fatal(err)
	}
	if v, err := verify.File(out); err != nil || !v.OK {
		for _, c := range v.Checks {
			for _, p := range c.Problems {
				t.Errorf("%s: %s", c.Name, p)
			}
		}
		t.Fatal("the result is inconsistent", err)
	}
	return out
}

func some(t *testing.T, n int) (list []*process, paths []string) {
	dir := t.TempDir()
	for i := range n {
		p := record(t, filepath.Join(dir, fmt.Sprintf("%d.htap", i)), uint64(i+1), []int{0, 1, 50, 3000}[min(i, 3)])
		list, paths = append(list, p), append(paths, p.path)
	}
	return list, paths
}

// reading sums up call stacks by their text, which is the same in all recordings of a program.
func reading(t *testing.T, r *recording.Reader, into map[string]tally.Stack) {
	t.Helper()
	p, err := profile.Load(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := r.Tally()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sum.Stacks {
		key := ""
		for _, f := range p.AppendFrames(nil, s.ID) {
			key += fmt.Sprintf("%s %s:%d %s+%x %t\n", f.Function, f.File, f.Line, filepath.Base(f.Module), f.Offset,
				f.Inlined)
		}
		all := into[key]
		s.ID = 0
		all.Add(&s)
		into[key] = all
	}
}

// TestSums: the sums of random recordings are the sums of their single reports, stack by stack.
func TestSums(t *testing.T) {
	t.Parallel()
	list, paths := some(t, 9)
	want := make(map[string]tally.Stack)
	var totals tally.Totals
	for i, p := range list {
		reading(t, open(t, paths[i]), want)
		totals.Add(&p.sum.Totals)
	}
	r := open(t, merged(t, ByStart, paths...))
	got := make(map[string]tally.Stack)
	reading(t, r, got)
	maps.DeleteFunc(want, func(_ string, s tally.Stack) bool { return s == tally.Stack{} })
	if d := gocmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	sum, err := r.Tally()
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(totals, sum.Totals); d != "" {
		t.Error(d)
	}
	m := r.Merged()
	for id, s := range m.Spreads {
		var least, most, n uint64
		var mostAt uint32
		for k := range m.Inputs {
			// In the input's own recording: the stack with the same text.
			one := make(map[string]tally.Stack)
			reading(t, open(t, filepath.Join(filepath.Dir(paths[0]), m.Inputs[k].File)), one)
			p, err := profile.Load(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			key := ""
			for _, f := range p.AppendFrames(nil, id) {
				key += fmt.Sprintf("%s %s:%d %s+%x %t\n", f.Function, f.File, f.Line, filepath.Base(f.Module), f.Offset,
					f.Inlined)
			}
			if v, ok := one[key]; ok {
				if n == 0 || v.Bytes < least {
					least = v.Bytes
				}
				if n == 0 || v.Bytes > most {
					most, mostAt = v.Bytes, uint32(k)
				}
				n++
			}
		}
		if s.Inputs != n || s.Bytes.Min != least || s.Bytes.Max != most || s.Bytes.MaxAt != mostAt {
			t.Errorf("stack %d: %+v, want %d inputs with %d to %d bytes, most in %d", id, s, n, least, most, mostAt)
		}
		if id > 12 {
			break // a dozen suffices
		}
	}
}

// TestPools: the program's own pools are summed up by name, and call stacks in them still name them.
func TestPools(t *testing.T) {
	t.Parallel()
	_, paths := some(t, 5)
	r := open(t, merged(t, ByStart, paths...))
	words, of0, of1 := somePool("words", 1+2+3+4+5), somePool("of 0", 2+4), somePool("of 1", 1+3+5)
	words.PeakBacking, of0.PeakBacking, of1.PeakBacking = 5*10+15, 2*10+6, 3*10+9
	if d := gocmp.Diff([]event.Pool{words, of1, of0}, r.Pools()); d != "" {
		t.Error(d)
	}
	names := make(map[string]bool)
	for id := range uint32(r.PCs().Len() + 1) {
		pc, _ := r.PCs().Get(id)
		if _, ok := pc.Pool(); ok {
			names[r.Frames(id)[0].Function] = true
		}
	}
	if d := gocmp.Diff(map[string]bool{"[pool words]": true}, names); d != "" {
		t.Error(d)
	}
}

// TestAnyOrder: the result is the same file, with the same report, in whatever order and steps recordings are merged.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	_, p := some(t, 5)
	// Nor does the order decide which of two equal inputs is listed.
	copied := filepath.Join(filepath.Dir(p[3]), "copied.htap")
	b, err := os.ReadFile(p[3])
	if err != nil || os.WriteFile(copied, b, 0o666) != nil {
		t.Fatal(err)
	}
	p = append(p, copied)
	for _, align := range []Align{ByStart, ByClock} {
		read := func(path string) []byte {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		all := merged(t, align, p...)
		for name, other := range map[string]string{
			"backwards":  merged(t, align, p[5], p[4], p[3], p[2], p[1], p[0]),
			"left tree":  merged(t, align, merged(t, align, p[0], p[1], p[2]), p[3], p[4], p[5]),
			"right tree": merged(t, align, p[0], merged(t, align, p[1], merged(t, align, p[3], p[2]), p[4]), p[5]),
			"of two":     merged(t, align, merged(t, align, p[4], p[0], p[3]), merged(t, align, p[5], p[1], p[2])),
			"of one each": merged(t, align, merged(t, align, p[3]), merged(t, align, p[0]), p[1],
				merged(t, align, p[2], p[5]), merged(t, align, p[4])),
		} {
			if !bytes.Equal(read(all), read(other)) {
				t.Errorf("%s: the files differ", name)
			}
			if a, b := report(t, all), report(t, other); a != b {
				t.Errorf("%s: the reports differ: %s", name, gocmp.Diff(a, b))
			}
		}
	}
}

func report(t *testing.T, path string) string {
	t.Helper()
	p, err := profile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := answer.Write(&b, answer.NewReport(p, nil, 0)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestCopies: n copies of a recording have n times its sums, at the same call stacks, and each copy has both the
// minimum and the maximum.
func TestCopies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := record(t, filepath.Join(dir, "a.htap"), 3, 2000)
	const n = 7
	r := open(t, merged(t, ByStart, slices.Repeat([]string{p.path}, n)...))
	sum, err := r.Tally()
	if err != nil {
		t.Fatal(err)
	}
	want := tally.Totals{}
	for range n {
		want.Add(&p.sum.Totals)
	}
	if d := gocmp.Diff(want, sum.Totals); d != "" || sum.Totals.Bytes != n*p.sum.Totals.Bytes ||
		sum.Totals.Peak.Bytes != n*p.sum.Totals.Peak.Bytes {
		t.Error(d)
	}
	one, all := make(map[string]tally.Stack), make(map[string]tally.Stack)
	reading(t, open(t, p.path), one)
	reading(t, r, all)
	for k, s := range one {
		if a := all[k]; a.Bytes != n*s.Bytes || a.Allocations != n*s.Allocations ||
			a.LiveAtPeakBytes != n*s.LiveAtPeakBytes || a.MaxSize != s.MaxSize {
			t.Errorf("%s: %+v is not %d times %+v", k, a, n, s)
		}
	}
	if least, most := r.Merged().Peak(); most != n*p.sum.Totals.Peak.Bytes || least > most {
		t.Errorf("the merged peak is from %d to %d, want up to %d", least, most, n*p.sum.Totals.Peak.Bytes)
	}
	for id, s := range r.Merged().Spreads {
		if s.Inputs != n || s.Bytes.Min != s.Bytes.Max || s.Bytes.MinAt != 0 || s.Bytes.MaxAt != 0 {
			t.Errorf("stack %d: %+v", id, s)
		}
	}
}

// TestMergedTimeline compares the timeline with the events of all processes in one order.
func TestMergedTimeline(t *testing.T) {
	t.Parallel()
	list, paths := some(t, 8)
	for _, align := range []Align{ByStart, ByClock} {
		m := open(t, merged(t, align, paths...)).Merged()
		type change struct {
			time  int64
			bytes int64
		}
		var all []change
		for i := range list {
			offset := int64(0)
			if align == ByClock {
				offset = list[i].started
			}
			for _, e := range list[i].events {
				if e.Kind == event.Free {
					all = append(all, change{offset + e.Time, -int64(e.Size)})
				} else {
					all = append(all, change{offset + e.Time, int64(e.Size)})
				}
			}
			in := m.Inputs[slices.IndexFunc(m.Inputs,
				func(in recording.Input) bool { return in.File == filepath.Base(paths[i]) })]
			if in.LeakedBytes > 0 {
				// A process that has ended has no live bytes.
				all = append(all, change{offset + in.End + 1, -int64(in.LeakedBytes)})
			}
		}
		slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.time, b.time) })
		at := func(t int64) (live int64) {
			for _, c := range all {
				if c.time < t {
					live += c.bytes
				}
			}
			return live
		}
		var live, most int64
		for _, c := range all {
			live += c.bytes
			most = max(most, live)
		}
		if lower, upper := m.Peak(); int64(lower) > most || int64(upper) < most || upper > lower*3/2 {
			t.Errorf("align %d: the merged peak is %d, not from %d to %d", align, most, lower, upper)
		}
		for _, l := range m.Timeline.Levels {
			if len(l.Steps) > maxSteps {
				t.Errorf("%d steps", len(l.Steps))
			}
			for i, s := range l.Steps {
				if end := (l.First + int64(i) + 1) * recording.Quantum << l.Shift; i%17 == 0 &&
					int64(s.Live) != at(end) {
					t.Errorf("align %d: level %d: at %d, %d bytes are live, want %d", align, l.Shift, end, s.Live,
						at(end))
				}
			}
		}
	}
}

// TestEmpty: recordings without events, of processes that only have a start.
func TestEmpty(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := record(t, filepath.Join(dir, "a.htap"), 1, 0), record(t, filepath.Join(dir, "b.htap"), 2, 0)
	for _, align := range []Align{ByStart, ByClock} {
		r := open(t, merged(t, align, a.path, b.path))
		if m := r.Merged(); len(m.Inputs) != 2 || m.Inputs[0].Bytes != 0 {
			t.Errorf("%+v", m)
		}
		s, err := query.New(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := query.Develop(t.Context(), s, &query.Query{}, 10, 0); err != nil || len(d.Times) < 2 {
			t.Error(d, err)
		}
	}
	if err := New(ByStart).Write(filepath.Join(dir, "out.htap")); err == nil {
		t.Error("a merged recording of nothing was written")
	}
}

// TestDevelop: the timeline that a question gets has the sums of the single recordings.
func TestDevelop(t *testing.T) {
	t.Parallel()
	list, paths := some(t, 6)
	s, err := query.Open(merged(t, ByStart, paths...))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d, err := query.Develop(t.Context(), s, &query.Query{}, 100, 0)
	if err != nil {
		t.Fatal(err)
	}
	var want, got tally.Totals
	for _, p := range list {
		want.Add(&p.sum.Totals)
	}
	for i := range d.All.Points {
		got.Allocations += d.All.Points[i].Allocations
		got.Bytes += d.All.Points[i].Bytes
	}
	if got.Allocations != want.Allocations || got.Bytes != want.Bytes || len(d.Times) < 50 ||
		!slices.IsSorted(d.Times) {
		t.Errorf("%d allocations of %d bytes in %d steps, want %d of %d", got.Allocations, got.Bytes, len(d.Times),
			want.Allocations, want.Bytes)
	}
	for name, q := range map[string]*query.Query{"threads": {By: query.ByThread},
		"own peaks": {Metrics: []query.Metric{query.OwnPeak}},
		"sizes":     {Sizes: &query.Interval{Max: 5}}, "a range": {Range: &query.Range{From: 0, To: 0},
			Metrics: []query.Metric{query.Copied}}} {
		if _, err := query.Flat(t.Context(), s, q); err == nil {
			t.Errorf("%s: there is an answer, although there are no events", name)
		}
	}
}

// TestForged: a merged recording with changed bytes gives an error or other numbers, and nothing worse.
func TestForged(t *testing.T) {
	t.Parallel()
	_, paths := some(t, 4)
	whole, err := os.ReadFile(merged(t, ByStart, paths...))
	if err != nil {
		t.Fatal(err)
	}
	original, err := recording.NewReader(bytes.NewReader(whole), int64(len(whole)), "whole")
	if err != nil {
		t.Fatal(err)
	}
	want, err := original.Tally()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		b := bytes.Clone(whole)
		for range 1 + rng.IntN(3) {
			b[32+rng.IntN(len(b)-32)] ^= 1 << rng.IntN(8)
		}
		if i%10 == 0 {
			b = b[:32+rng.IntN(len(b)-32)]
		}
		r, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), "forged")
		if err != nil {
			continue
		}
		if p, err := profile.Load(t.Context(), r); err == nil {
			if err := answer.Write(io.Discard, answer.NewReport(p, nil, 0)); err != nil {
				t.Error(err)
			}
		}
		if err := New(ByStart).Add(t.Context(), "forged", r); err == nil {
			// The changed bytes are stored twice in the file.
			if got, err := r.Tally(); err != nil || !reflect.DeepEqual(got, want) {
				t.Error("a damaged recording was merged", err)
			}
		}
	}
	// With right checksums: a timeline that contradicts itself.
	for i, bad := range []recording.Timeline{{}, {Levels: []recording.TimelineLevel{{}}},
		{End: 1000, Levels: []recording.TimelineLevel{{Steps: make([]recording.TimelineStep, 1)}}},
		{Begin: 5, End: 1}, {Levels: []recording.TimelineLevel{{Shift: 70, Steps: make([]recording.TimelineStep, 1)}}},
		{Levels: []recording.TimelineLevel{{First: 1 << 60, Steps: make([]recording.TimelineStep, 1)}}}} {
		path := filepath.Join(t.TempDir(), "bad.htap")
		if err := recording.WriteMerged(path, &recording.Sums{Tally: &tally.Summary{},
			Merged: &recording.Merged{Timeline: bad, Inputs: make([]recording.Input, 1)}}); err != nil {
			t.Fatal(err)
		}
		if r := open(t, path); r.Complete() {
			t.Errorf("timeline %d is accepted", i)
		}
	}
}

// TestFolded: folded events, of which only sums are known, are in the sums, and the timeline limits the peak.
func TestFolded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "long.htap")
	w, err := recording.Create(path, event.Process{PID: 1, Started: 1e18},
		recording.Options{Fold: recording.Fold{Keep: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	w.Thread(0, event.Thread{TID: 1})
	w.PC(1, event.PC{Addr: 5})
	w.Node(1, event.Node{PC: 1})
	rng := rand.New(rand.NewPCG(5, 5))
	var first uint64
	for i := range 100 * 3000 { // two blocks, of which the first is freed
		e := event.Event{Time: int64(i) * 1000, Kind: event.Alloc, Func: event.Malloc, Stack: 1,
			Size: rng.Uint64N(1 << 20), Ref: event.NoRef}
		switch i % 3 {
		case 0:
			first = e.Size
		case 2:
			e = event.Event{Time: int64(i) * 1000, Kind: event.Free, Func: event.FreeFunc, Stack: 1, Size: first,
				Ref: uint64(i / 3 * 2), Born: int64(i-2) * 1000}
		}
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
		if i%3000 == 2999 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(recording.Ending{End: 3e8, Exited: true}); err != nil {
		t.Fatal(err)
	}
	r := open(t, path)
	if r.Folded().Cut == 0 {
		t.Skip("nothing was folded: the file system cannot give back a part of a file")
	}
	sum, err := r.Tally()
	if err != nil {
		t.Fatal(err)
	}
	m := open(t, merged(t, ByStart, path, path)).Merged()
	if least, most := m.Peak(); m.Timeline.Vague != 2 || least > 2*sum.Totals.Peak.Bytes ||
		most != 2*sum.Totals.Peak.Bytes {
		t.Errorf("from %d to %d of %d, %d of 2 folded", least, most, 2*sum.Totals.Peak.Bytes, m.Timeline.Vague)
	}
}
