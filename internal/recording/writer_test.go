package recording_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/tally"
)

func TestTables(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.htap")
	process := event.Process{PID: 12, Parent: 3, Exe: "/bin/é", Args: []string{"x", "", "a b\xff"}, Dir: "/", Host: "h",
		Env: []string{"A=b"}, Arch: "arm64", Started: 1 << 60, Agent: 1, Recorder: "v"}
	w, err := recording.Create(path, process, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	threads := []event.Thread{{TID: 9, Name: "main"}, {TID: 1 << 31, Name: strings.Repeat("x", 300), Start: 1 << 62}}
	for i, th := range threads {
		w.Thread(uint32(i), event.Thread{Name: "to be replaced"})
		w.Thread(uint32(i), th)
	}
	modules := []event.Module{
		{ID: 3, Path: "/lib/a.so", BuildID: []byte{0, 255}, Start: 1 << 63, End: 1<<63 + 9, Bias: ^uint64(0), Loaded: 5,
			Unload: -1},
		{ID: 1, Path: "[vdso]", Unload: 77},
	}
	w.Module(event.Module{ID: 3, Path: "older"})
	for _, m := range modules {
		w.Module(m)
	}
	const many = recording.TableRows*2 + 7
	for i := range uint32(many) {
		w.PC(i*3+1, event.PC{Addr: uint64(i) * 0x9e3779b97f4a7c15, Module: i % 5, Interrupted: i%7 == 0})
		w.Node(i+1, event.Node{Parent: i / 2, PC: i*3 + 1, Truncated: i%11 == 0})
	}
	samples := []event.Sample{{Time: 1, RSS: 2, Virtual: 3, Swap: 4, PSS: -1, MinorFaults: 6, MajorFaults: 7,
		SystemFree:   8,
		SystemCached: -1, Threads: 7}, {Time: 1 << 62, RSS: -1, PSS: 1 << 40}}
	for _, s := range samples {
		w.Sample(s)
	}
	frames := map[uint32][]event.Frame{1: {{Function: "f<int>(g)", Linkage: "_Z1f", File: "/a/b.c", Line: 1<<32 - 1,
		Inlined: true}, {Function: "f<int>(g)", File: "/a/b.c"}}, 4: {}, 1 << 31: {{Line: 1}}}
	if err := w.Symbols(frames); err != nil {
		t.Fatal(err)
	}
	ending := recording.Ending{End: 1 << 61, Exited: true, Code: 3, Signal: 9, Status: "killed",
		Health: event.Health{LostEvents: 1,
			Notes: []string{"note"}}}
	if err := w.Finish(ending); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !r.Complete() {
		t.Errorf("damage: %v", r.Damage())
	}
	process.Args[2] = "a b\ufffd" // JSON has no other bytes
	for what, pair := range map[string][2]any{
		"process": {r.Process(), process}, "threads": {r.Threads(), threads}, "modules": {r.Modules(), modules},
		"samples": {r.Samples(), samples}, "frames": {r.Frames(1), frames[1]}, "far frames": {r.Frames(1 << 31),
			frames[1<<31]},
		"health": {r.Health(), ending.Health}, "PCs": {r.PCs().Len(), many}, "nodes": {r.Nodes().Len(), many},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: %+v, want %+v", what, pair[0], pair[1])
		}
	}
	if e, ok := r.Ending(); !ok || !reflect.DeepEqual(e, ending) {
		t.Errorf("ending: %+v, %v", e, ok)
	}
	for i := range uint32(many) {
		p, ok := r.PCs().Get(i*3 + 1)
		n, ok2 := r.Nodes().Get(i + 1)
		if !ok || !ok2 || p != (event.PC{Addr: uint64(i) * 0x9e3779b97f4a7c15, Module: i % 5, Interrupted: i%7 == 0}) ||
			n != (event.Node{Parent: i / 2, PC: i*3 + 1, Truncated: i%11 == 0}) {
			t.Fatalf("entry %d: %+v %v %+v %v", i, p, ok, n, ok2)
		}
	}
	if _, ok := r.PCs().Get(2); ok {
		t.Error("a pc that was never set is there")
	}
}

// TestTally: the recorder's statistics and those that a reader counts are the same.
func TestTally(t *testing.T) {
	t.Parallel()
	p := program{threads: 4, stacks: 50, window: 500, burst: 5, foreign: true, lifo: .5, realloc: .1, tick: 70,
		odd: true}
	events := p.run(5, recording.BlockEvents+5000)
	sum := tally.New()
	for i := range events {
		sum.Add(&events[i])
	}
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Events(events); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(recording.Ending{Tally: sum}); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	stored, err := r.Tally()
	if err != nil {
		t.Fatal(err)
	}
	counted, err := r.Recount()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(stored, sum.Summary()) {
		t.Error("the stored numbers are not the recorder's")
	}
	if !reflect.DeepEqual(counted, sum.Summary()) {
		t.Errorf("counted again: %+v, want %+v", counted.Totals, sum.Summary().Totals)
	}
	// The heads agree.
	h := eventBlocks(r)[1]
	if h.FirstEvent != recording.BlockEvents || h.Events != 5000 || h.Live <= 0 ||
		uint64(h.Peak) > stored.Totals.Peak.Bytes {
		t.Errorf("head of the second block: %+v", h)
	}
}

// disk is a file on a disk of limited size.
type disk struct {
	sync.Mutex
	data  []byte
	limit int
}

func (d *disk) WriteAt(p []byte, at int64) (int, error) {
	n := min(len(p), max(0, d.limit-int(at)))
	d.data = append(d.data[:at], p[:n]...)
	if n < len(p) {
		return n, errors.New("no space left on device")
	}
	return n, nil
}

func (d *disk) Truncate(n int64) error { d.data = d.data[:n]; return nil }
func (d *disk) Close() error           { return nil }

func TestDiskFull(t *testing.T) {
	t.Parallel()
	events := programs["cc1plus"].run(9, 60_000)
	for _, limit := range []int{60, 100_000} {
		d := &disk{limit: limit}
		w, err := recording.NewWriter(d, "full.htap", event.Process{PID: 1}, recording.Options{})
		if err != nil {
			if limit == 60 && strings.Contains(err.Error(), "cannot write the recording full.htap: no space left") {
				continue
			}
			t.Fatal(err)
		}
		sum := tally.New()
		var failed error
		for i := 0; i < len(events); i += 1000 {
			for j := range events[i : i+1000] {
				sum.Add(&events[i+j])
			}
			w.Node(uint32(i+1), event.Node{PC: 1})
			err := w.Events(events[i : i+1000])
			if err == nil {
				err = w.Flush()
			}
			if failed != nil && err == nil {
				t.Fatal("the error was forgotten")
			}
			failed = err
		}
		if failed == nil || !strings.Contains(failed.Error(), "no space left") {
			t.Fatalf("%v", failed)
		}
		lost := w.LostEvents()
		d.limit += 1 << 20 // somebody made room: the ending fits
		if err := w.Finish(recording.Ending{Tally: sum}); err == nil ||
			!strings.Contains(err.Error(), "no space left") {
			t.Errorf("finish: %v", err)
		}
		r, err := recording.NewReader(bytes.NewReader(d.data), int64(len(d.data)), "full.htap")
		if err != nil {
			t.Fatal(err)
		}
		n := uint64(0)
		if err := r.Events(func(e *event.Event) bool {
			if e.Ref != events[n].Ref || e.Time != events[n].Time {
				t.Fatalf("event %d is another one", n)
			}
			n++
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if n == 0 || n+lost != uint64(len(events)) || r.Health().LostEvents != lost || len(r.Health().Notes) != 1 {
			t.Errorf("%d written, %d lost, health %+v", n, lost, r.Health())
		}
		if got := r.Nodes().Len(); got != 60 {
			t.Errorf("%d of 60 call stacks are there", got)
		}
		if s, err := r.Tally(); err != nil || s.Totals.Events != uint64(len(events)) {
			t.Errorf("the recorder's count is not kept: %v", err)
		}
	}
}

// TestDiskStaysFull has room for the ending only where something else was: the ending says how much is lost.
func TestDiskStaysFull(t *testing.T) {
	t.Parallel()
	const total = 60_000
	events := programs["cc1plus"].run(9, total)
	dropped := 0
	for limit := 34_000; limit < 37_000; limit += 23 * min(thinner, 12) {
		d := &disk{limit: limit}
		w, err := recording.NewWriter(d, "full.htap", event.Process{PID: 1}, recording.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < total; i += 3000 {
			w.Node(uint32(i+1), event.Node{PC: 1})
			_ = w.Events(events[i : i+3000])
			_ = w.Flush()
		}
		lost := w.LostEvents()
		if err := w.Finish(recording.Ending{}); err == nil {
			t.Fatal("no error")
		}
		if w.LostEvents() != lost {
			dropped++
		}
		r, err := recording.NewReader(bytes.NewReader(d.data), int64(len(d.data)), "full.htap")
		if err != nil {
			t.Fatal(err)
		}
		n := uint64(0)
		if err := r.Events(func(*event.Event) bool { n++; return true }); err != nil {
			t.Fatal(err)
		}
		if e, ok := r.Ending(); !r.Complete() || !ok || n == 0 || n+e.Health.LostEvents != total ||
			w.LostEvents() != e.Health.LostEvents {
			t.Fatalf("limit %d: complete %v, %d written, %d lost, the writer says %d", limit, r.Complete(), n,
				e.Health.LostEvents, w.LostEvents())
		}
	}
	if dropped == 0 {
		t.Error("no block ever made room for the ending")
	}
}

func TestInvalidEvents(t *testing.T) {
	t.Parallel()
	w, err := recording.NewWriter(&disk{limit: 1 << 20}, "a.htap", event.Process{}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []event.Event{{Kind: event.KindCount}, {Func: 64}, {Flags: 64}} {
		if err := w.Events([]event.Event{e}); err == nil || !strings.Contains(err.Error(), "event 0 is none") {
			t.Errorf("%+v: %v", e, err)
		}
	}
}

func TestQuantise(t *testing.T) {
	t.Parallel()
	for in, want := range map[int64]int64{0: 0, 99: 0, 100: 100, 12345: 12300, -5: 0} {
		if got := recording.Quantise(in); got != want {
			t.Errorf("Quantise(%d) = %d, want %d", in, got, want)
		}
	}
}
