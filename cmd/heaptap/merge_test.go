package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// writeRank writes the recording of a rank: 600 call stacks, at addresses of its own.
func writeRank(t *testing.T, path string, rank int) {
	t.Helper()
	w, err := recording.Create(path, event.Process{PID: 1000 + rank, Exe: "/bin/app", Args: []string{"app"},
		Host: fmt.Sprintf("node%d", rank%7), Started: 1e18 + int64(rank)}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	base := uint64(rank+1) << 32
	w.Thread(0, event.Thread{TID: uint32(1000 + rank), Name: "app"})
	w.Module(event.Module{ID: 1, Path: "/bin/app", BuildID: []byte{1, 2, 3}, Start: base, End: base + 1<<20, Bias: base,
		Unload: -1})
	frames := make(map[uint32][]event.Frame)
	for i := range uint32(600) {
		w.PC(i+1, event.PC{Addr: base + uint64(i)*8, Module: 1})
		w.Node(i+1, event.Node{Parent: i / 2, PC: i + 1})
		frames[i+1] = []event.Frame{{Function: fmt.Sprintf("function_%d", i), File: "app.c", Line: i}}
		e := event.Event{Time: int64(i) * 100, Kind: event.Alloc, Func: event.Malloc, Stack: i + 1,
			Size: uint64(rank + 1), Ref: event.NoRef}
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Symbols(frames); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(recording.Ending{End: 1e6, Exited: true, Status: "exit status 0"}); err != nil {
		t.Fatal(err)
	}
}

// TestMergeMemory: the memory for merging depends on the number of call stacks, not of recordings, and 64 descriptors
// are enough for any number of them.
func TestMergeMemory(t *testing.T) {
	// Not in parallel: the largest resident set of a command includes that of this process when it started it.
	dir := t.TempDir()
	const ranks = 50
	for i := range ranks {
		writeRank(t, filepath.Join(dir, fmt.Sprintf("%d.htap", i)), i)
	}
	merge := func(n int) (memory int64) {
		many := filepath.Join(t.TempDir(), "many")
		if err := os.Mkdir(many, 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if err := os.Symlink(filepath.Join(dir, fmt.Sprintf("%d.htap", i%ranks)),
				filepath.Join(many, fmt.Sprintf("%d.htap", i))); err != nil {
				t.Fatal(err)
			}
		}
		out := filepath.Join(dir, fmt.Sprintf("out%d", n))
		heaptap := plainCommand(t).Path
		cmd := exec.Command("sh", "-c", `ulimit -n 64; exec "$@"`, "sh", heaptap, "merge", "-o", out, many)
		cmd.Env = append(os.Environ(), "GOGC=50")
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		r, err := recording.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		sum, err := r.Tally()
		if err != nil || len(r.Merged().Inputs) != n || sum.Totals.Allocations != uint64(600*n) ||
			len(sum.Stacks) != 600 || r.Nodes().Len() != 600 {
			t.Errorf("%d inputs, %d allocations at %d stacks (%v)", len(r.Merged().Inputs), sum.Totals.Allocations,
				len(sum.Stacks), err)
		}
		for id, s := range r.Merged().Spreads {
			if s.Inputs != uint64(n) || s.Bytes.Min != 1 || s.Bytes.Max != ranks {
				t.Errorf("stack %d: %+v", id, s)
			}
		}
		return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	}
	few, many := merge(ranks), merge(1000)
	t.Logf("%d KiB for %d recordings, %d KiB for 1000", few, ranks, many)
	if many > few+few/2+8<<10 {
		t.Errorf("%d KiB for %d recordings, and %d KiB for 1000", few, ranks, many)
	}
}
