package record

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/record/procs"
	"github.com/heaptap/heaptap/internal/spool/spooltest"
	"github.com/heaptap/heaptap/internal/wire"
)

// startRun runs the recorder for a target, and returns what waits for its end.
func startRun(t *testing.T, config Config, mainPID int) func() {
	t.Helper()
	pid := make(chan int, 1)
	pid <- mainPID
	config.Main = pid
	done := make(chan error, 1)
	go func() { done <- Run(t.Context(), config) }()
	return func() {
		t.Helper()
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("the run does not end")
		}
	}
}

// TestFork has a forked child that continues to write to its parent's spool after the parent's end.
func TestFork(t *testing.T) {
	dir := runDir(t)
	config, reps, _ := testConfig(t, dir)
	g := newTarget(t, dir, "prog")
	wait := startRun(t, config, g.cmd.Process.Pid)
	s := g.Stream(0, 1, 0, "parent")
	s.Event(nil, wire.Record{Kind: wire.KMalloc, Addr: 64, Size: 8, Stack: 1})
	s.Event(nil, wire.Record{Kind: wire.KMalloc, Addr: 128, Size: 8, Stack: 1})
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill() }()
	random := randomOf(t, child)
	slot := g.Proc(child.Process.Pid, 0, clock.Now())
	g.SetRandom(slot, random)
	g.Module(wire.Module{Kind: wire.ModuleUnload, ID: 1, Proc: 0, Time: clock.Now()}, "", "")
	c := g.Stream(slot, 2, 0, "child")
	c.Event(nil, wire.Record{Kind: wire.KFree, Addr: 64})
	c.Event(nil, wire.Record{Kind: wire.KMalloc, Addr: 64, Size: 100, Stack: 2})
	s.Event(nil, wire.Record{Kind: wire.KFree, Addr: 64})
	g.end()
	spooltest.Until(t, "a finished recording", func() bool { return len(reps.of(Finished)) > 0 })
	finished(t, reps, 1) // the parent's, while the child continues
	c.Event(nil, wire.Record{Kind: wire.KFree, Addr: 64})
	c.Event(nil, wire.Record{Kind: wire.KFree, Addr: 128})
	spooltest.Until(t, "one process is reported as running", func() bool {
		l := reps.of(Settled)
		return len(l) > 0 && len(l[len(l)-1].Running) == 1
	})
	_ = child.Process.Kill()
	_ = child.Wait()
	wait()
	list := finished(t, reps, 2)
	parent, kid := list[0].Totals, list[1].Totals
	if !list[0].Main || list[1].Main || parent.Allocations != 2 || parent.Deallocations != 1 || parent.LiveBlocks != 1 {
		t.Errorf("parent: %+v", list[0])
	}
	if kid.Allocations != 1 || kid.Deallocations != 1 || kid.Inherited != 2 || kid.Unmatched != 0 {
		t.Errorf("child: %+v", kid)
	}
	a, b := openRecording(t, list[0].Path), openRecording(t, list[1].Path)
	if p := b.Process(); p.PID != child.Process.Pid || p.Parent != g.cmd.Process.Pid ||
		p.Started <= a.Process().Started {
		t.Errorf("the child's process is %+v", p)
	}
	if m := b.Modules(); len(m) != 1 || m[0].Unload != -1 {
		t.Errorf("the child's modules: %+v", m)
	}
	if m := a.Modules(); len(m) != 1 || m[0].Unload <= 0 {
		t.Errorf("the parent's modules: %+v", m)
	}
}

// TestExec has a process that executes itself: a spool more, with the same process id.
func TestExec(t *testing.T) {
	dir := runDir(t)
	config, reps, out := testConfig(t, dir)
	g := newTarget(t, dir, "prog")
	pid := g.cmd.Process.Pid
	wait := startRun(t, config, pid)
	g.Stream(0, uint32(pid), 0, "main").Event(nil, wire.Record{Kind: wire.KMalloc, Addr: 64, Size: 8, Stack: 1})
	g.attached()
	b := spooltest.New(t, dir, "prog2", pid)
	b.Meta("/usr/bin/prog", []string{"prog"}, "/", "h", nil)
	random, _ := procs.Random(pid)
	b.SetRandom(0, random)
	b.Publish()
	b.Stream(0, uint32(pid), 0, "main").Event(nil, wire.Record{Kind: wire.KMalloc, Addr: 64, Size: 8})
	spooltest.Until(t, "a finished recording", func() bool { return len(reps.of(Finished)) > 0 })
	finished(t, reps, 1) // of the image that is gone
	g.end()
	wait()
	list := finished(t, reps, 2)
	base := filepath.Join(out, "prog."+itoa(pid))
	if list[0].Path != base+".htap" || list[1].Path != base+".2.htap" || !list[0].Main || !list[1].Main {
		t.Errorf("recordings %+v", list)
	}
}

// TestLimit has a recorder that may keep next to nothing.
func TestLimit(t *testing.T) {
	dir := runDir(t)
	config, reps, _ := testConfig(t, dir)
	config.memory, config.SpillLimit = 1, 1
	g := newTarget(t, dir, "prog")
	wait := startRun(t, config, g.cmd.Process.Pid)
	allocs, frees := g.work(0, 2, 30000)
	g.end()
	wait()
	rep := finished(t, reps, 1)[0]
	// A block whose deallocation is among the lost ends when its address is given out again: an event that was not
	// recorded.
	if got := rep.Totals.Events - rep.Totals.Unseen + rep.Health.LostEvents; got != allocs+frees ||
		rep.Health.LostEvents == 0 {
		t.Errorf("%d events and %d lost, want %d in all", rep.Totals.Events, rep.Health.LostEvents, allocs+frees)
	}
	if n := reps.of(Note); len(n) != 1 || !strings.Contains(n[0].Text, "lost") {
		t.Errorf("notes: %+v", n)
	}
}

// TestUnwritable has an output that cannot be written: the target's events are taken all the same.
func TestUnwritable(t *testing.T) {
	for _, output := range []string{"/dev/full", "/nonexistent/x.htap"} {
		dir := runDir(t)
		config, reps, _ := testConfig(t, dir)
		config.Output = output
		g := newTarget(t, dir, "prog")
		wait := startRun(t, config, g.cmd.Process.Pid)
		allocs, frees := g.work(0, 2, 30000)
		g.end()
		wait()
		list := reps.of(Finished)
		if len(list) != 1 || list[0].Err == nil || list[0].Health.LostEvents != allocs+frees {
			t.Errorf("%s: finished %+v", output, list)
		}
	}
}

// TestStopped ends the recorder while the target runs: what has come is kept.
func TestStopped(t *testing.T) {
	dir := runDir(t)
	config, reps, _ := testConfig(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	config.Main = make(chan int)
	go func() { done <- Run(ctx, config) }()
	g := newTarget(t, dir, "prog")
	s := g.Stream(0, 1, 0, "")
	for i := range uint64(1000) {
		s.Event(nil, wire.Record{Kind: wire.KMalloc, Addr: 64 + i*64, Size: 8, Stack: 1})
	}
	g.attached()
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	rep := finished(t, reps, 1)[0]
	if rep.Totals.Allocations != 1000 || g.Header.RecorderState != wire.RecorderNone || g.Header.SpillLimit != 0 {
		t.Errorf("%d allocations; header %d, %d", rep.Totals.Allocations, g.Header.RecorderState, g.Header.SpillLimit)
	}
}

func TestNoRunDir(t *testing.T) {
	if err := Run(t.Context(), Config{RunDir: "/nonexistent"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}

// TestConvertErrors gives Convert what is no spool.
func TestConvertErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.spool"):         "no such file",
		dir:                                      "not a regular file",
		write("empty.spool", nil):                "ended before",
		write("short.spool", []byte("HTSPOOL1")): "too short",
		write("zero.spool", make([]byte, 8192)):  "ended before",
		write("text.spool", []byte(strings.Repeat("x", 8192))): "is not a spool",
	} {
		err := Convert(t.Context(), path, filepath.Join(dir, "out.htap"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %q", path, err, want)
		}
	}
}
