package profiletest

import (
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// Sampled writes a recording whose allocations were sampled, and whose calls were counted and timed.
func Sampled(t *testing.T, s event.Sampling, events int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "sampled.htap")
	w, err := recording.Create(path, event.Process{PID: 12, Args: []string{"prog"}, Sampling: s}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Thread(0, event.Thread{TID: 12, Name: "prog"})
	for i := range uint32(2) {
		w.PC(i+1, event.PC{Addr: uint64(0x1000 * (i + 1)), Module: 1})
		w.Node(i+1, event.Node{PC: i + 1})
	}
	w.Module(event.Module{ID: 1, Path: "/bin/prog", Start: 0x1000, End: 0x9000, Bias: 0x1000, Unload: -1})
	for i := range uint64(events) {
		at := int64(i) * 1000
		e := event.Event{Time: at, Kind: event.Alloc, Func: event.Malloc, Stack: uint32(1 + i%2), Size: 100 + 900*(i%2),
			Usable: 1008, Ref: event.NoRef, Flags: event.HasUsable | event.Sampled}
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
		if i%4 == 0 {
			e = event.Event{Time: at + 500, Kind: event.Free, Func: event.FreeFunc, Stack: e.Stack, Size: e.Size,
				Usable: e.Usable, Born: at, Ref: i, Flags: event.HasUsable | event.Sampled}
			if err := w.Event(&e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if events > 0 {
		e := event.Event{Time: 1e6, Kind: event.Unrecorded, Func: event.FreeFunc, Ref: event.NoRef}
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
	}
	counts := &event.Counts{Tick: 400_000, Rows: []event.Count{
		{TID: 12, Name: "prog", Func: event.Malloc, Calls: 1000, Failed: 1, Bytes: 55_000, Usable: 56_000, Time: 90_000,
			Timed: 900,
			Sizes: []event.Class{{Class: 7, Calls: 500},
				{Class: 10, Calls: 500}}, Times: []event.Class{{Class: 7, Calls: 890}, {Class: 12, Calls: 10}}},
		{TID: 13, Name: "worker", Func: event.FreeFunc, Frees: true, Calls: 700, Usable: 50_000, Time: 7000, Timed: 700,
			Sizes: []event.Class{{Class: 0, Calls: 1}}, Times: []event.Class{{Class: 3, Calls: 700}}}}}
	for _, err := range []error{w.Counts(counts), w.Finish(recording.Ending{End: 2e6, Exited: true})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return path
}
