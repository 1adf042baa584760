package record

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/spool"
	"github.com/heaptap/heaptap/internal/spool/spooltest"
	"github.com/heaptap/heaptap/internal/wire"
	"github.com/heaptap/heaptap/tests/need"
)

// samples takes what has been left in a queue.
func samples(q *queue) (list []event.Sample) {
	q.push(item{kind: itemNote}) // so that there is something to wait for
	for _, it := range q.take(nil) {
		if it.kind == itemSample {
			list = append(list, it.sample)
		}
	}
	return list
}

// TestSampleOfImage samples a process before and after it executes another program.
func TestSampleOfImage(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", "echo; read x; exec sleep 1000")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	random, _ := auxRandom(cmd.Process.Pid)
	l := newLife(spool.Process{PID: cmd.Process.Pid, Random: random})
	defer l.close()
	w := &worker{queue: newQueue()}
	s := newSampler(l, 0, w)
	defer s.close()
	s.due(time.Now())
	if list := samples(w.queue); len(list) != 1 || list[0].RSS <= 0 || list[0].MinorFaults <= 0 {
		t.Fatalf("samples of the first image: %+v", list)
	}
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); l.sameImage(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not execute sleep")
		}
	}
	s.due(time.Now().Add(time.Minute))
	if list := samples(w.queue); len(list) != 0 {
		t.Errorf("samples of the second image: %+v", list)
	}
}

// TestSampleStranger has a spool whose process's id is another one's here.
func TestSampleStranger(t *testing.T) {
	t.Parallel()
	dir := runDir(t)
	config, reps, _ := testConfig(t, dir)
	g := newTarget(t, dir, "prog")
	random, _ := auxRandom(g.cmd.Process.Pid)
	g.SetRandom(0, random+16)
	wait := startRun(t, config, g.cmd.Process.Pid)
	g.Stream(0, 1, 0, "").Event(nil, wire.Record{Kind: wire.KMalloc, Addr: 64, Size: 8, Stack: 1})
	time.Sleep(50 * time.Millisecond)
	g.end()
	wait()
	if list := openRecording(t, finished(t, reps, 1)[0].Path).Samples(); len(list) != 0 {
		t.Errorf("samples: %+v", list)
	}
}

// TestSettledElsewhere has a process that lives where ids mean something else: nothing is settled until it was seen to have
// ended, or to go on after the main process's end; then it goes by its id here.
func TestSettledElsewhere(t *testing.T) {
	// Not in parallel: a child that another test is just starting has our memory mapped, the spool included.
	dir := runDir(t)
	config, reps, _ := testConfig(t, dir)
	r := newRun(t.Context(), config)
	r.endedAt = time.Now()
	a := spooltest.New(t, dir, "prog", 1).Publish()
	s, err := spool.Open(a.Path, "", true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := &life{pid: os.Getppid(), fd: -1}
	o := &source{spool: s, w: &worker{}, lives: []*life{l}, inode: s.Info().Inode}
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
	r.settled()
	want()
	look := func() {
		r.census.began = time.Now()
		r.census.inodes, _ = r.census.look()
	}
	look()
	r.settled()
	want() // nobody has it mapped: its end is about to be noticed
	holder := holdSpool(t, a.Path)
	look()
	r.settled()
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
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "yes\n" {
		t.Fatalf("it says %q, %v", line, err)
	}
	return cmd.Process.Pid
}
