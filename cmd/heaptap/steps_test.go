package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/launch"
)

// A process with these variables sends itself a signal when it comes to a step of the protocol for the first time,
// after it has written its process id to a file.
const (
	stepVariable     = "TEST_STEP"
	stepSignal       = "TEST_STEP_SIGNAL"
	stepFile         = "TEST_STEP_FILE"
	patienceVariable = "TEST_READY_PATIENCE"
)

func stepFromEnvironment() {
	if d, err := time.ParseDuration(os.Getenv(patienceVariable)); err == nil {
		launch.ReadyPatience = d
	}
	step := os.Getenv(stepVariable)
	if step == "" {
		return
	}
	var once sync.Once
	launch.Step = func(name string) {
		if name != step {
			return
		}
		once.Do(func() {
			sig, _ := strconv.Atoi(os.Getenv(stepSignal))
			if os.WriteFile(os.Getenv(stepFile), fmt.Append(nil, os.Getpid()), 0o600) == nil {
				// To this thread: then nothing happens after it.
				runtime.LockOSThread()
				unix.Tgkill(os.Getpid(), unix.Gettid(), unix.Signal(sig))
				runtime.UnlockOSThread()
			}
		})
	}
}

// stepped is a `heaptap run` in which one side gets a signal at a step.
type stepped struct {
	t        *testing.T
	pid      int // of the side that got the signal
	out, err bytes.Buffer
	dir      string
	over     chan error
}

func runToStep(t *testing.T, step string, sig unix.Signal, patience string, flags ...string) *stepped {
	t.Helper()
	args := append([]string{"run", "-o", "x.htap"}, flags...)
	cmd := command(t, "heaptap", append(args, "--", "sh", "-c", "sleep 0.05; echo done; exit 7")...)
	s := &stepped{t: t, dir: cmd.Dir, over: make(chan error, 1)}
	file := filepath.Join(cmd.Dir, "pid")
	cmd.Env = append(cmd.Env, stepVariable+"="+step, stepSignal+"="+strconv.Itoa(int(sig)), stepFile+"="+file,
		patienceVariable+"="+patience)
	cmd.Stdout, cmd.Stderr = &s.out, &s.err
	cmd.WaitDelay = 20 * time.Second // the target continues after run was killed, and keeps its output open
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unix.Kill(cmd.Process.Pid, unix.SIGKILL)
		s.until("nobody uses the folder", func() bool { return !inUse(cmd.Dir) }) // it is removed next
	})
	go func() { s.over <- cmd.Wait() }()
	s.until("it comes to the step", func() bool {
		b, _ := os.ReadFile(file)
		s.pid, _ = strconv.Atoi(string(b))
		return s.pid > 0
	})
	return s
}

// until waits for a condition.
func (s *stepped) until(what string, holds func() bool) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain until %s; stderr: %s", what, &s.err)
		}
	}
}

// end waits until run has ended, and returns its status; -1 if it was killed.
func (s *stepped) end() int {
	s.t.Helper()
	select {
	case err := <-s.over:
		if err == nil {
			return 0
		}
		if e, ok := err.(interface{ ExitCode() int }); ok {
			return e.ExitCode()
		}
		s.t.Fatal(err)
	case <-time.After(time.Minute):
		s.t.Fatalf("run does not end; stderr: %s", &s.err)
	}
	return 0
}

// recorded waits until the recording is complete: it may still be written.
func (s *stepped) recorded() {
	s.t.Helper()
	var report string
	s.until("the recording is complete", func() bool {
		cmd := command(s.t, "heaptap", "report", filepath.Join(s.dir, "x.htap"))
		b, err := cmd.CombinedOutput()
		report = string(b)
		return err == nil && !strings.Contains(report, "is incomplete")
	})
	if !strings.Contains(report, "allocations") {
		s.t.Errorf("the report is\n%s", report)
	}
}

// TestStopAtEveryStep stops run or the recorder between any two steps of their protocol, for longer than any of the
// steps takes, and continues it: nothing is lost, and nothing hangs.
func TestStopAtEveryStep(t *testing.T) {
	for _, step := range launch.Steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := runToStep(t, step, unix.SIGSTOP, "")
			s.until("it has stopped", func() bool { return stateOf(s.pid) == 'T' })
			time.Sleep(300 * time.Millisecond)
			unix.Kill(s.pid, unix.SIGCONT)
			if status := s.end(); status != 7 || s.out.String() != "done\n" {
				t.Errorf("status %d, stdout %q, stderr %s", status, &s.out, &s.err)
			}
			if text := s.err.String(); strings.Contains(text, "recorder died") ||
				!strings.Contains(text, "recording complete") {
				t.Errorf("stderr: %s", text)
			}
			s.recorded()
		})
	}
}

// TestKillAtEveryStep kills run or the recorder there. If the target has been started, it runs and is recorded; if run
// lives, the target runs in any case.
func TestKillAtEveryStep(t *testing.T) {
	for i, step := range launch.Steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := runToStep(t, step, unix.SIGKILL, "")
			status := s.end()
			run := strings.HasPrefix(step, "run ")
			started := i >= slices.Index(launch.Steps, launch.StepRunTarget)
			ready := !run && i > slices.Index(launch.Steps, launch.StepRecorderReady)
			switch {
			case run && status != -1:
				t.Errorf("status %d", status)
			case run && !started:
				if s.out.Len() > 0 {
					t.Errorf("stdout %q", &s.out)
				}
			case run:
				s.until("the target has ended", func() bool { return s.out.String() == "done\n" })
				s.recorded()
			case status != 7 || s.out.String() != "done\n":
				t.Errorf("status %d, stdout %q, stderr %s", status, &s.out, &s.err)
			case ready:
				s.recorded()
			case strings.Count(s.err.String(), "\n") != 1 ||
				!strings.HasSuffix(s.err.String(), "; the program runs unrecorded\n"):
				t.Errorf("stderr: %s", &s.err)
			}
		})
	}
}

// TestRecorderNotReady: the recorder is not ready in time.
func TestRecorderNotReady(t *testing.T) {
	t.Parallel()
	s := runToStep(t, launch.StepRecorderConfig, unix.SIGSTOP, "4s")
	if status := s.end(); status != 7 || s.out.String() != "done\n" {
		t.Errorf("status %d, stdout %q", status, &s.out)
	}
	if text := s.err.String(); strings.Count(text, "\n") != 1 ||
		!strings.HasSuffix(text, "did not get ready within 4s; the program runs unrecorded\n") {
		t.Errorf("stderr: %s", text)
	}
	if stateOf(s.pid) != 0 {
		t.Error("the recorder is still there")
	}

	s = runToStep(t, launch.StepRecorderConfig, unix.SIGSTOP, "4s", "--require")
	if status := s.end(); status != 125 || s.out.Len() > 0 || !strings.Contains(s.err.String(), "did not get ready") {
		t.Errorf("with --require: status %d, stdout %q, stderr %s", status, &s.out, &s.err)
	}
}

// inUse reports whether a process has a folder as its working directory, or a file in it open.
func inUse(dir string) bool {
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	folders, _ := filepath.Glob("/proc/[0-9]*/cwd")
	return slices.ContainsFunc(append(links, folders...), func(link string) bool {
		to, _ := os.Readlink(link)
		return to == dir || strings.HasPrefix(to, dir+"/")
	})
}

// stateOf returns a process's state; 0 if there is no such process.
func stateOf(pid int) byte {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if i := bytes.LastIndexByte(b, ')'); i > 0 {
		return b[i+2]
	}
	return 0
}
