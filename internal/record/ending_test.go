package record

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/childtest"
	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/record/procs"
	"github.com/heaptap/heaptap/internal/spool"
	"github.com/heaptap/heaptap/internal/spool/spooltest"
	"github.com/heaptap/heaptap/internal/wire"
	"github.com/heaptap/heaptap/tests/need"
)

// TestSampleStranger has a spool whose process's id is another one's here.
func TestSampleStranger(t *testing.T) {
	t.Parallel()
	dir := runDir(t)
	config, reps, _ := testConfig(t, dir)
	g := newTarget(t, dir, "prog")
	random, _ := procs.Random(g.cmd.Process.Pid)
	g.SetRandom(0, random+16)
	wait := startRun(t, config, g.cmd.Process.Pid)
	g.Stream(0, 1, 0, "").Event(nil, wire.Record{Kind: wire.KMalloc, Addr: 64, Size: 8, Stack: 1})
	g.attached()
	time.Sleep(50 * time.Millisecond) // no sample may be taken
	g.end()
	wait()
	if list := openRecording(t, finished(t, reps, 1)[0].Path).Samples(); len(list) != 0 {
		t.Errorf("samples: %+v", list)
	}
}

// TestSettledElsewhere has a process that lives where ids mean something else: nothing is settled until it was seen to
// have ended, or to continue after the main process's end; then its id here counts.
func TestSettledElsewhere(t *testing.T) {
	// Not in parallel: a child that another test is just starting has our memory mapped, the spool included.
	dir := runDir(t)
	config, reps, _ := testConfig(t, dir)
	r := newRun(t.Context(), config)
	folder, err := private.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	r.census = procs.NewCensus(folder, nil, func() {})
	r.main.endedAt = time.Now()
	a := spooltest.New(t, dir, "prog", 1).Publish()
	s, err := spool.Open(a.Path, "", true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	o := &source{spool: s, w: &worker{}, inode: s.Info().Inode}
	o.members = []*member{{Life: o.peers.AddUnknown(os.Getppid())}}
	r.sources = append(r.sources, o)
	want := func(running ...int) {
		t.Helper()
		list := reps.of(Settled)
		if len(list) == 0 && running == nil {
			return
		}
		if len(list) == 0 || !slices.Equal(list[len(list)-1].Running, running) {
			t.Errorf("settled: %+v, want %v running", list, running)
		}
	}
	r.reportSettled()
	want()
	r.census.Look()
	r.reportSettled()
	want() // no process maps it: its end is about to be noticed
	holder := holdSpool(t, a.Path)
	r.census.Look()
	r.reportSettled()
	want(holder)
}

// holdSpool starts a process that maps a file, and returns its id.
func holdSpool(t *testing.T, path string) int {
	t.Helper()
	prog := filepath.Join(t.TempDir(), "hold.c")
	const text = `#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	void *p = mmap(0, 4096, PROT_READ, MAP_SHARED, open(argv[argc - 1], O_RDONLY), 0);
	puts(p == MAP_FAILED ? "no" : "yes");
	fflush(stdout);
	pause();
}
`
	if err := os.WriteFile(prog, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := exec.Command(need.Tool(t, "cc"), "-o", prog+".out", prog).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, b)
	}
	cmd := exec.Command(prog+".out", path)
	childtest.Ready(t, cmd, "yes")
	return cmd.Process.Pid
}

// TestEndedUnannounced has a program that ends before the recorder knows that it is the target: its end waits for that.
func TestEndedUnannounced(t *testing.T) {
	t.Parallel()
	main := make(chan int, 1)
	r := &run{main: mainProcess{started: main}}
	o := &source{pid: 4711}
	for _, pid := range []int{4711, 4712} {
		o.members = append(o.members, &member{Life: &procs.Life{PID: pid, Replaced: true}})
	}
	now := time.Now()
	if _, known := r.statusOf(o, 0, now); known {
		t.Error("the end of a program that may be the target is not waited for")
	}
	if _, known := r.statusOf(o, 1, now); !known {
		t.Error("the end of a forked child is waited for")
	}
	if _, known := r.statusOf(o, 0, now.Add(-2*statusPatience)); !known {
		t.Error("the end of a program is waited for without limit")
	}
	close(main)
	r.checkMain()
	if _, known := r.statusOf(o, 0, now); !known {
		t.Error("the end of a program is waited for although there is no target")
	}
}

// TestOneLook ends a run after the two looks that have let its last spool be closed, and not after earlier ones.
func TestOneLook(t *testing.T) {
	// Not in parallel, as TestSettledElsewhere.
	dir := runDir(t)
	config, _, _ := testConfig(t, dir)
	r := newRun(t.Context(), config)
	folder, err := private.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	r.folder, r.census = folder, procs.NewCensus(folder, nil, func() {})
	look := func() { // again, if a process of others is being executed just then
		for began := time.Now(); !r.census.Quiet(began); {
			r.census.Look()
			r.census.Look()
		}
	}
	one, two := &source{}, &source{}
	r.sources = []*source{one, two}
	r.main.over, r.main.endedAt = true, time.Now()
	r.quietFrom = r.main.endedAt
	want := func(alone, over bool) {
		t.Helper()
		if got := r.alone(); got != alone {
			t.Errorf("alone: %t", got)
		}
		if got := r.over(time.Now()); got != over {
			t.Errorf("over: %t", got)
		}
	}
	look()
	want(false, false) // both may still be written to
	one.dead, one.deadSince = true, time.Now()
	look()
	want(false, false)
	one.closed = true
	two.dead = true
	want(false, false)
	two.deadSince = time.Now()
	want(false, false)
	look()
	want(true, false)
	two.closed = true
	want(true, true)
	r.sources = nil
	want(true, true)
}
