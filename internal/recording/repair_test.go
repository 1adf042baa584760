package recording_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/repair"
	"github.com/heaptap/heaptap/internal/verify"
)

// consistent makes events that could have happened: addresses are given out again only after they were freed.
func consistent(seed uint64, n int) []event.Event {
	events := programEvents(seed, n)
	var idle, at []uint64 // addresses
	for i := range events {
		e := &events[i]
		if e.Flags&event.Realloc != 0 {
			e.Func = event.ReallocFunc
		}
		switch e.Kind {
		case event.Alloc:
			e.Flags &^= event.InPlace
			if k := len(idle); k > 0 {
				e.Addr, idle = idle[k-1], idle[:k-1]
			} else {
				e.Addr = 0x1000 + 16*uint64(len(at))
			}
			at = append(at, e.Addr)
		case event.Free:
			e.Addr = at[e.Ref]
			idle = append(idle, e.Addr)
		}
	}
	return events
}

// many makes a recording of many small blocks.
func many(t *testing.T, seed uint64, addresses, finish bool) (path string, events []event.Event) {
	t.Helper()
	events = consistent(seed, 600)
	path = filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{PID: 7}, recording.Options{Addresses: addresses})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint32(3) {
		w.Thread(i, event.Thread{TID: 100 + i, Name: "t"})
	}
	w.Module(event.Module{ID: 1, Path: "/bin/a", Start: 4096, End: 8192, Bias: 4096, Unload: -1})
	for i := range uint32(12) {
		w.PC(i+1, event.PC{Addr: 4096 + uint64(i), Module: 1})
		w.Node(i+1, event.Node{Parent: i, PC: i + 1})
	}
	for i := range events {
		if err := w.Event(&events[i]); err != nil {
			t.Fatal(err)
		}
		if i%30 == 29 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if finish {
		err = w.Finish(recording.Ending{End: 1e9, Exited: true, Code: 3,
			Health: event.Health{Waits: 2, LostEvents: 5, Notes: []string{"old"}}})
	} else {
		err = w.Abort()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path, events
}

// TestRepair damages blocks of events and repairs the recording: the new one is consistent, as package verify judges,
// has what was whole, and says what was not.
func TestRepair(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		addresses, finish := seed%4 < 2, seed%3 > 0
		path, events := many(t, seed, addresses, finish)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := verify.File(path); err != nil || !v.OK {
			t.Fatalf("the recording to be damaged is none: %v %+v", err, v)
		}
		r, err := recording.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var blocks []recording.Block
		for _, b := range r.Blocks() {
			if b.Type == "events" {
				blocks = append(blocks, b)
			}
		}
		r.Close()
		for _, damage := range []string{"none", "one", "half", "end", "tally"} {
			rng := rand.New(rand.NewPCG(seed, uint64(len(damage))))
			file := bytes.Clone(whole)
			kept := make([]bool, len(events))
			lost := 0
			for i, b := range blocks {
				bad := damage == "one" && i == int(seed) || damage == "half" && rng.IntN(2) == 0 || damage == "end" &&
					i >= len(blocks)-3
				if bad && damage != "end" {
					file[b.Offset+b.Size-2] ^= 4
				}
				for n := b.FirstEvent; n < b.FirstEvent+b.Events; n++ {
					kept[n] = !bad
					if bad {
						lost++
					}
				}
			}
			ended := finish
			if damage == "end" {
				file, ended = file[:blocks[len(blocks)-3].Offset+20], false
				lost = 0 // nobody can know
			}
			if damage == "tally" {
				at := bytes.LastIndex(file, []byte{'H', 'B', 'L', 'K', 9, 0})
				if at < 0 {
					continue
				}
				file[at+30] ^= 1
			}
			what := fmt.Sprintf("seed %d, damage %s", seed, damage)
			got, x := repairOf(t, what, file)
			if x.Events != uint64(len(got.events))-x.Unseen || int(x.Lost) != lostBefore(lost, kept, ended) ||
				x.Ended != ended ||
				x.Incomplete != (!ended || lost > 0) || !addresses && x.Unseen > 0 {
				t.Fatalf("%s: %+v, %d events, %d lost, ended %v", what, x, len(got.events), lost, ended)
			}
			compare(t, what, events, kept, got.events, x)
			if got.health.LostEvents != x.Lost+5*b2u(ended) {
				t.Fatalf("%s: the health counts %d lost events", what, got.health.LostEvents)
			}
			notes := strings.Join(got.health.Notes, "\n")
			if ended && !strings.HasPrefix(notes, "old") ||
				x.Incomplete != strings.Contains(notes, "Repaired by heaptap 9.9") ||
				ended == strings.Contains(notes, "is missing: what is live then") {
				t.Fatalf("%s: notes %q", what, notes)
			}
		}
	}
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// lostBefore is how many events are known to be lost. Without an ending, these are the ones before a whole block.
func lostBefore(lost int, kept []bool, ended bool) int {
	if ended || lost == 0 {
		return lost
	}
	for i := len(kept) - 1; i >= 0 && !kept[i]; i-- {
		lost--
	}
	return lost
}

type saved struct {
	events []event.Event
	health event.Health
}

// repairOf repairs a file and verifies the result.
func repairOf(t *testing.T, what string, file []byte) (saved, *repair.Result) {
	t.Helper()
	r, err := recording.NewReader(bytes.NewReader(file), int64(len(file)), "a.htap")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "b.htap")
	x, err := repair.Write(t.Context(), r, path, repair.Options{Version: "9.9"})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	v, err := verify.File(path)
	if err != nil || !v.OK || len(v.Missing) > 0 {
		for _, c := range v.Checks {
			t.Log(c.Name, c.Problems)
		}
		t.Fatalf("%s: what was repaired is not right: %v %q", what, err, v.Missing)
	}
	out, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var s saved
	if err := out.Events(func(e *event.Event) bool { s.events = append(s.events, *e); return true }); err != nil {
		t.Fatal(err)
	}
	s.health = out.Health()
	if !reflect.DeepEqual(out.Process(), r.Process()) || !reflect.DeepEqual(out.Threads(), r.Threads()) ||
		!reflect.DeepEqual(out.Modules(), r.Modules()) ||
		out.Nodes().Len() != r.Nodes().Len() {
		t.Fatalf("%s: the tables are others", what)
	}
	return s, x
}

// compare checks that the events are those that were kept, changed only as the missing ones require.
func compare(t *testing.T, what string, events []event.Event, kept []bool, got []event.Event, x *repair.Result) {
	t.Helper()
	number := map[uint64]uint64{} // new number of an allocation that was kept, by the old one
	var old, now, unmatched, unseen uint64
	i := 0
	for n, e := range events {
		ref := old
		if e.Kind == event.Alloc {
			old++
		}
		if !kept[n] {
			continue
		}
		for i < len(got) && got[i].Func == event.FuncUnknown {
			unseen++
			i++
		}
		if i == len(got) {
			t.Fatalf("%s: event %d is missing", what, n)
		}
		g := got[i]
		i++
		if g.Time != e.Time || g.Thread != e.Thread || g.Func != e.Func {
			t.Fatalf("%s: event %d is %+v, was %+v", what, n, g, e)
		}
		switch e.Kind {
		case event.Alloc:
			number[ref] = now
			now++
			if g.Kind != event.Alloc || g.Size != e.Size || g.Stack != e.Stack || g.Usable != e.Usable ||
				g.Count != e.Count {
				t.Fatalf("%s: event %d is %+v, was %+v", what, n, g, e)
			}
		case event.Free:
			ref, ok := number[e.Ref]
			if !ok {
				unmatched++
				if g.Kind != event.Unmatched {
					t.Fatalf("%s: event %d is %+v, expected unmatched", what, n, g)
				}
			} else if g.Kind != event.Free || g.Ref != ref || g.Size != e.Size || g.Stack != e.Stack ||
				g.Born != e.Born || g.BornBy != e.BornBy {
				t.Fatalf("%s: event %d is %+v, was %+v", what, n, g, e)
			}
		}
	}
	if i != len(got) || unmatched != x.Unmatched || unseen != x.Unseen {
		t.Fatalf("%s: %d of %d events compared, %d unmatched, %d unseen: %+v", what, i, len(got), unmatched, unseen, x)
	}
}

// TestRepairErrors: a file that could be written only in part is removed.
func TestRepairErrors(t *testing.T) {
	t.Parallel()
	path, _ := many(t, 1, false, true)
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := repair.Write(t.Context(), r, filepath.Join(path, "x"), repair.Options{}); err == nil {
		t.Error("a recording in a folder that is none")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	half := filepath.Join(t.TempDir(), "half.htap")
	if _, err := repair.Write(ctx, r, half, repair.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if _, err := os.Stat(half); err == nil {
		t.Error("half a file was left behind")
	}
}

// TestRepairedRegions: where events are missing, notes of regions and names of memory stay between the same events, and
// a note which says that an event happened earlier stays with that event.
func TestRepairedRegions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{PID: 7}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Thread(0, event.Thread{TID: 7, Name: "t"})
	for i := range uint64(30) {
		n := event.RegionNote{Time: int64(i) * 1000, Event: i, Alloc: i}
		switch {
		case i%10 == 0:
			n.Name = fmt.Sprint(i)
		case i%10 == 5:
			n.Name, n.Leaves = fmt.Sprint(i-5), 1
		case i%10 == 8:
			n.Late, n.Back = event.LateAlloc, 1
		default:
			n.Thread = 9 // none
		}
		if n.Thread == 0 {
			w.Region(n)
		}
		w.Range(event.NamedRange{Name: "m", Time: n.Time, Event: i, Start: i, Size: 1})
		if err := w.Event(&event.Event{Kind: event.Alloc, Func: event.Malloc, Time: n.Time, Size: 1,
			Ref: event.NoRef}); err != nil {
			t.Fatal(err)
		}
		if i%10 == 9 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(recording.Ending{End: 30_000, Exited: true}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), "a.htap")
	if err != nil {
		t.Fatal(err)
	}
	hurt := 0
	for _, block := range r.Blocks() {
		if block.Type == "events" {
			if hurt++; hurt == 2 {
				b[block.Offset+block.Size-1] ^= 1
			}
		}
	}
	if r, err = recording.NewReader(bytes.NewReader(b), int64(len(b)), "a.htap"); err != nil {
		t.Fatal(err)
	}
	mended := filepath.Join(t.TempDir(), "b.htap")
	if _, err := repair.Write(t.Context(), r, mended, repair.Options{}); err != nil {
		t.Fatal(err)
	}
	m, err := recording.Open(mended)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var got []string
	for _, n := range m.Regions() {
		got = append(got, fmt.Sprint(n.Name, " ", n.Event, n.Alloc, n.Leaves, n.Back))
	}
	// Event 18 is missing, and so is its note; event 28 is now number 18.
	want := []string{"0 0 0 0 0", "0 5 5 1 0", " 8 8 0 1", "10 10 10 0 0", "10 10 10 1 0", "20 10 10 0 0",
		"20 15 15 1 0", " 18 18 0 1"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for i, n := range m.Ranges() {
		want := uint64(i)
		if i >= 10 {
			want = uint64(max(10, i-10))
		}
		if n.Event != want {
			t.Errorf("name %d lies after %d events, want %d", i, n.Event, want)
		}
	}
	if v, err := verify.File(mended); err != nil || !v.OK || len(m.Ranges()) != 30 {
		t.Errorf("%v, %d names: %+v", err, len(m.Ranges()), v)
	}
}

// TestRepairedPools: a block in a pool may have the address of another block; and blocks that serve a pool, or were
// sampled, never count as temporary.
func TestRepairedPools(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{PID: 7, Sampling: event.Sampling{Bytes: 1000}},
		recording.Options{Addresses: true})
	if err != nil {
		t.Fatal(err)
	}
	w.Thread(0, event.Thread{TID: 7, Name: "t"})
	var events []event.Event
	var now int64
	alloc := func(f event.Func, addr uint64, flags event.Flags) {
		now += 100
		events = append(events, event.Event{Time: now, Kind: event.Alloc, Func: f, Addr: addr, Size: 10, Flags: flags,
			Ref: event.NoRef})
	}
	free := func(f event.Func, addr, ref uint64, flags event.Flags, born int64) {
		now += 100
		events = append(events, event.Event{Time: now, Kind: event.Free, Func: f, Addr: addr, Size: 10, Flags: flags,
			Ref: ref, Born: born})
	}
	alloc(event.Malloc, 0x1000, 0)
	alloc(event.PoolAlloc, 0x1000, 0)
	free(event.PoolFree, 0x1000, 1, event.Temporary, 200)
	alloc(event.PoolAlloc, 0x1000, 0)
	free(event.FreeFunc, 0x1000, 0, 0, 100)
	alloc(event.Malloc, 0x1000, 0)
	alloc(event.Malloc, 0x2000, 0)
	free(event.PoolBacking, 0x2000, 4, 0, now)
	alloc(event.Malloc, 0x3000, event.Sampled)
	free(event.FreeFunc, 0x3000, 5, event.Sampled, now)
	if err := w.Events(events); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(recording.Ending{End: now, Exited: true}); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	mended := filepath.Join(t.TempDir(), "b.htap")
	did, err := repair.Write(t.Context(), r, mended, repair.Options{})
	if err != nil || did.Unseen != 0 || did.Unmatched != 0 || did.Events != uint64(len(events)) {
		t.Errorf("%v: %+v", err, did)
	}
	for _, name := range []string{path, mended} {
		if v, err := verify.File(name); err != nil || !v.OK {
			t.Errorf("%s: %v: %+v", filepath.Base(name), err, v)
		}
	}
}
