package recording_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/dump"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

var update = flag.Bool("update", false, "make the recording of this version anew; only for a version that is not "+
	"released")

// TestVersions opens the recordings of every version of the format in testdata and compares what is in them with what
// was in them when they were made.
func TestVersions(t *testing.T) {
	t.Parallel()
	now := fmt.Sprintf("testdata/%d.%d.htap", recording.VersionMajor, recording.VersionMinor)
	if *update {
		makeVersion(t, now)
	}
	files, err := filepath.Glob("testdata/*.htap")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	found := false
	for _, path := range files {
		found = found || path == now
		r, err := recording.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if major, minor := r.Version(); fmt.Sprintf("testdata/%d.%d.htap", major, minor) != path {
			t.Errorf("%s is of version %d.%d", path, major, minor)
		}
		if !r.Complete() {
			t.Errorf("%s: %v", path, r.Damage())
		}
		var b bytes.Buffer
		d := dump.New(&b, r, true)
		if err := errors.Join(d.Blocks(), d.Threads(), d.Modules(), d.Stacks(), d.Samples(),
			d.Events(t.Context(), 0, math.MaxUint64), d.Flush()); err != nil {
			t.Fatal(err)
		}
		stored, err := r.Tally()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%+v\n%+v\n%+v\n", r.Process(), r.Health(), stored.Totals)
		fmt.Fprintf(&b, "%+v\n%+v\n%+v\n", r.Variables(), r.DataSections(), r.Residency())
		fmt.Fprintf(&b, "%+v\n%+v\n%+v\n", r.StackUse(), r.Pairs(), r.Counts())
		golden := strings.TrimSuffix(path, ".htap") + ".txt"
		if *update && path == now {
			if err := os.WriteFile(golden, b.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if b.String() != string(want) {
			t.Errorf("%s: the answers are not those of %s:\n%s", path, golden, b.String())
		}
		counted, err := r.Recount()
		if stored.Mapped == nil { // written before mappings were followed
			counted.Mapped = nil
		}
		if stored.Spread == nil { // before sizes, lifetimes and the threads that free were counted
			counted.Spread = nil
		}
		if err != nil || !reflect.DeepEqual(counted, stored) {
			t.Errorf("%s: the stored statistics are not those of the events (%v)", path, err)
		}
		summaries(t, r)
	}
	if !found {
		t.Errorf("%s is missing: go test ./internal/recording -run TestVersions -update", now)
	}
}

// summaries checks the answers of a recording's summaries against its events.
func summaries(t *testing.T, r *recording.Reader) {
	t.Helper()
	_, last := r.Cuts()
	net := make([]map[uint32]int64, 1, last+1) // at each cut, live bytes by stack
	net[0] = map[uint32]int64{}
	if err := r.Events(func(e *event.Event) bool {
		at := map[uint32]int64{}
		for k, v := range net[len(net)-1] {
			at[k] = v
		}
		switch e.Kind {
		case event.Alloc:
			at[e.Stack] += int64(e.Size)
		case event.Free:
			at[e.Stack] -= int64(e.Size)
		}
		net = append(net, at)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	for from := uint64(0); from <= last; from += 7 {
		for to := from; to <= last; to += 11 {
			c, err := timetravel.Changes(t.Context(), r, from, to)
			if err != nil {
				t.Fatal(err)
			}
			for stack := range net[last] {
				c := c.Of(stack)
				if got, want := c.Net(), net[to][stack]-net[from][stack]; got != want {
					t.Fatalf("%s: stack %d changes by %d from %d to %d, want %d", r.Name(), stack, got, from, to, want)
				}
			}
		}
	}
}

// makeVersion makes a recording that has everything: all kinds of events, with addresses, all tables, a summary.
func makeVersion(t *testing.T, path string) {
	t.Helper()
	w, err := recording.Create(path, event.Process{PID: 7, Parent: 3, Exe: "/bin/a", Args: []string{"a", "b"}, Dir: "/",
		Host: "h", Env: []string{"X=1"},
		Arch: "amd64", Started: 1e18, Agent: 1, Recorder: "1.0"}, recording.Options{Addresses: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint32(3) {
		w.Thread(i, event.Thread{TID: 100 + i, Name: "t", Start: int64(i) * 100})
	}
	w.Module(event.Module{ID: 1, Path: "/bin/a", BuildID: []byte{1, 2}, Start: 4096, End: 8192, Bias: 4096, Unload: -1})
	w.Module(event.Module{ID: 2, Path: "/lib/b.so", Start: 1 << 40, End: 1<<40 + 4096, Bias: 1 << 40, Loaded: 500,
		Unload: 1000})
	for i := range uint32(6) {
		w.PC(i+1, event.PC{Addr: 4096 + uint64(i), Module: 1 + i%2, Interrupted: i == 3})
		w.Node(i+1, event.Node{Parent: i, PC: i + 1, Truncated: i == 0})
	}
	w.Sample(event.Sample{Time: 5, RSS: 100, PSS: -1})
	w.Sample(event.Sample{Time: 15, RSS: 200, PSS: 50, Virtual: 1 << 40})
	w.StackUse(event.StackUse{Thread: 1, Time: 50, Bytes: 8192, Stack: 4})
	w.StackUse(event.StackUse{Thread: 0, Time: 40, Measure: event.StackTouched, Bytes: 1 << 33})
	events := oddEvents(3, 200)
	for i := range events {
		if events[i].Kind <= event.Free {
			events[i].Size %= 1 << 40 // what a process can have
		}
		if err := w.Event(&events[i]); err != nil {
			t.Fatal(err)
		}
		if i%12 == 11 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Symbols(map[uint32][]event.Frame{1: {{Function: "f<int>", Linkage: "_Z1f", File: "x.c", Line: 3,
		Inlined: true}, {Function: "g"}},
		2: {{Function: "h"}}}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Variables(
		[]event.Variable{{Module: 1, Kind: event.BSS, Addr: 0x4000, Size: 1 << 29, Name: "n::big",
			Linkage: "_ZN1n3bigE", File: "x.c", Line: 3}, {Module: 2, Kind: event.TData, Size: 4, Name: "t"}},
		[]event.DataSection{{Module: 1, Kind: event.BSS, Start: 0x4000, End: 0x4040 + 1<<29, Variables: 2,
			Named: 1<<29 + 8}, {Module: 2, Kind: event.TData, End: 4, Variables: 1, Named: 4}}),
		w.Residency([]event.Residency{{Module: 1, Time: 900, PageSize: 4096,
			Looked:   []event.AddrRange{{Start: 4096, End: 1 << 20}},
			Resident: []event.AddrRange{{Start: 8192, End: 12288}, {Start: 65536, End: 81920}}}}),
		w.Counts(someCounts), w.Pairs([]event.Pair{{Mismatch: event.MismatchSize, Alloc: event.New,
			Free: event.DeleteSized, Stack: 2, FreeStack: 3, Count: 4, Time: 700, Thread: 1, Size: 8,
			FreeSize: 1 << 40},
			{Mismatch: event.MismatchFunction, Alloc: event.NewAligned, Free: event.FreeFunc, Count: 1, Time: 600,
				Thread: 2, Size: 1, Align: 64}})); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(recording.Ending{End: 1e6, Exited: true, Code: 3, Status: "exit status 3",
		Health: event.Health{LostEvents: 1, Waits: 2, Notes: []string{"n"}}}); err != nil {
		t.Fatal(err)
	}
}
