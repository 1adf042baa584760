package reply

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/control"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// FuzzDumpRequest: whatever a program asks for by heaptap_dump, it gets an answer or an error, in a line that names
// what is wrong.
func FuzzDumpRequest(f *testing.F) {
	for _, text := range []string{"", "text sort=peak limit=10", "function=parse|main thread=self",
		"folded sort=calls thread=self", "summary", "histogram thread=self", "function=(", "limit=-1",
		"limit=99999999999999999999", "sort=", "text\x00folded", "function=(a{1000}){1000}"} {
		f.Add(text, 7)
	}
	path := filepath.Join(f.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{PID: 7, Args: []string{"p"}}, recording.Options{})
	if err != nil {
		f.Fatal(err)
	}
	w.Thread(0, event.Thread{TID: 7, Name: "main"})
	w.Thread(1, event.Thread{TID: 8, Name: "worker"})
	w.Module(event.Module{ID: 1, Path: "/bin/p", Start: 4096, End: 8192, Unload: -1})
	for i := range uint32(3) {
		w.PC(i+1, event.PC{Addr: 4096 + uint64(i), Module: 1})
		w.Node(i+1, event.Node{Parent: i, PC: i + 1})
	}
	for i := range 20 {
		err = errors.Join(err, w.Event(&event.Event{Kind: event.Alloc, Func: event.Malloc, Time: int64(i) * 100,
			Thread: uint32(i % 2), Stack: uint32(i % 4), Size: 1 << i, Ref: event.NoRef}))
	}
	if err := errors.Join(err, w.Symbols(map[uint32][]event.Frame{1: {{Function: "main"}},
		2: {{Function: "parse;all", File: "p.c", Line: 7}}}), w.Flush()); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, tid int) {
		out, err := Dump(path, control.Request{Verb: control.Dump, Text: text, TID: tid})
		switch {
		case err == nil && len(out) > 1<<20:
			t.Errorf("%q: %d bytes of 20 events", text, len(out))
		case err != nil && strings.Contains(err.Error(), "\n"):
			t.Errorf("%q: %q", text, err)
		}
	})
}
