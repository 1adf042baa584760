package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/programs"
)

// TestStoppedRecorder stops the recorder in the middle of a run: the target finishes with its right result, and when
// the recorder continues, nothing is missing.
func TestStoppedRecorder(t *testing.T) {
	t.Parallel()
	k := built(t)
	out := t.TempDir()
	const pairs = 3_000_000
	cmd := exec.CommandContext(deadline(t, 2*time.Minute), k.Heaptap, "run", "-q", "-o", out+"/%n.%p.htap",
		"--", k.Path("w"),
		"w1", fmt.Sprint(pairs), "1000")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := kit.Recorder(t, cmd.Process.Pid)
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGCONT) })
	// The target's line and the end of its output arrive although the recorder does not drain.
	line := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(io.LimitReader(stdout, 1<<16))
		line <- b
	}()
	var truth programs.Truth
	gone := time.After(60 * time.Second)
	for done := false; !done; {
		select {
		case b := <-line:
			if err := json.Unmarshal(b, &truth); err != nil {
				t.Fatalf("the target's output %q: %v\n%s", b, err, stderr.String())
			}
			done = true
		case <-gone:
			t.Fatalf("the target does not finish while the recorder is stopped\n%s", stderr.String())
		case <-time.After(10 * time.Millisecond):
			if !running(k.Path("w")) { // run keeps the pipe's other end open until it ends itself
				_ = unix.Kill(pid, unix.SIGCONT)
			}
		}
	}
	_ = unix.Kill(pid, unix.SIGCONT)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	names, _ := filepath.Glob(filepath.Join(out, "*.htap"))
	if len(names) != 1 {
		t.Fatalf("recordings: %v, want one\n%s", names, stderr.String())
	}
	r, err := k.Report(names[0])
	if err != nil {
		t.Fatal(err)
	}
	got := r.Below("work")
	kit.Same(t, "lost", *r.Lost, 0)
	kit.Same(t, "unmatched", r.Totals.Unmatched, 0)
	kit.Same(t, "allocations, deallocations, bytes, leaked, peak",
		[]uint64{got.Allocations, got.Deallocations, got.Bytes, got.LeakedBytes, got.PeakBytes},
		[]uint64{truth.Allocations, truth.Deallocations, truth.Bytes, truth.LeakedBytes, truth.PeakBytes})
}

// running says whether a process executes the file.
func running(path string) bool {
	names, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, name := range names {
		if exe, err := os.Readlink(name); err == nil && exe == path {
			return true
		}
	}
	return false
}

// fullPipe returns a pipe that takes not one byte more.
func fullPipe() (read, write *os.File, err error) {
	var fd [2]int
	if err := unix.Pipe2(fd[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, nil, err
	}
	for block := make([]byte, 4096); ; {
		if _, err := unix.Write(fd[1], block); err == nil {
			continue
		} else if err != unix.EAGAIN {
			return nil, nil, err
		}
		if len(block) == 1 {
			break
		}
		block = block[:1]
	}
	for _, f := range fd {
		if err := unix.SetNonblock(f, false); err != nil {
			return nil, nil, err
		}
	}
	return os.NewFile(uintptr(fd[0]), "pipe"), os.NewFile(uintptr(fd[1]), "pipe"), nil
}

// TestFullStderr gives `heaptap run` a standard error that is not read, and the target one line after the other to
// write elsewhere: the target finishes with its right result all the same.
func TestFullStderr(t *testing.T) {
	t.Parallel()
	k := built(t)
	read, write, err := fullPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	out := t.TempDir()
	result := filepath.Join(out, "result")
	stdout, err := os.Create(result)
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	cmd := exec.CommandContext(deadline(t, 2*time.Minute), k.Heaptap, "run", "-o", out+"/%n.%p.htap",
		"--", k.Path("map"),
		"20000")
	cmd.Stdout, cmd.Stderr = stdout, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	var text []byte
	kit.Until(t, "the target's line, while heaptap's standard error is not read", func() bool {
		text, err = os.ReadFile(result)
		return err == nil && bytes.HasSuffix(text, []byte("\n"))
	})
	go func() { _, _ = io.Copy(io.Discard, read) }()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	truth, err := programs.ParseTruth(text)
	if err != nil {
		t.Fatal(err)
	}
	names, _ := filepath.Glob(filepath.Join(out, "map.*.htap"))
	if len(names) != 1 {
		t.Fatalf("recordings: %v, want one", names)
	}
	r, err := k.Report(names[0])
	if err != nil {
		t.Fatal(err)
	}
	got := r.Below("main")
	kit.Same(t, "allocations, deallocations, bytes", []uint64{got.Allocations, got.Deallocations, got.Bytes},
		[]uint64{truth.Allocations, truth.Deallocations, truth.Bytes})
}
