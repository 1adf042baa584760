package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// again is how long tests wait for a signal that must not come a second time: there is no condition to wait for.
const again = 100 * time.Millisecond

// sigtarget is a target that prints every signal it gets. SIGUSR1 ends it with status 42.
func sigtarget() {
	signals := make(chan os.Signal, 64)
	signal.Notify(signals)
	fmt.Printf("ready %d\n", os.Getpid())
	for s := range signals {
		switch s {
		case unix.SIGURG, unix.SIGCHLD:
			continue
		case unix.SIGUSR1:
			time.Sleep(3 * again)
			for len(signals) > 0 {
				if s := <-signals; s != unix.SIGURG {
					fmt.Println(unix.SignalName(s.(syscall.Signal)))
				}
			}
			fmt.Println("end")
			os.Exit(42)
		}
		fmt.Println(unix.SignalName(s.(syscall.Signal)))
	}
}

// running is a started `heaptap run sigtarget`.
type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    *bufio.Reader
	target int
}

func startTarget(t *testing.T) *running {
	t.Helper()
	target, err := exec.LookPath("sigtarget")
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, "heaptap", "run", "-q", "--", target)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, cmd: cmd, out: bufio.NewReader(stdout)}
	t.Cleanup(func() { unix.Kill(-cmd.Process.Pid, unix.SIGKILL) })
	if _, err := fmt.Sscanf(r.line(), "ready %d", &r.target); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *running) line() string {
	r.t.Helper()
	type result struct {
		text string
		err  error
	}
	c := make(chan result, 1)
	go func() {
		text, err := r.out.ReadString('\n')
		c <- result{strings.TrimSpace(text), err}
	}()
	select {
	case l := <-c:
		if l.err != nil && l.err != io.EOF {
			r.t.Fatal(l.err)
		}
		return l.text
	case <-time.After(10 * time.Second):
		r.t.Fatal("the target says nothing")
	}
	return ""
}

func (r *running) expect(lines ...string) {
	r.t.Helper()
	for _, want := range lines {
		if got := r.line(); got != want {
			r.t.Fatalf("the target got %q, expected %q", got, want)
		}
	}
}

// end lets the target end; nothing more must have arrived but some of what may have.
func (r *running) end(may ...string) {
	r.t.Helper()
	unix.Kill(r.target, unix.SIGUSR1)
	line := r.line()
	for len(may) > 0 && line == may[0] {
		line, may = r.line(), may[1:]
	}
	if line != "end" {
		r.t.Fatalf("the target got %q, expected the end", line)
	}
	err := r.cmd.Wait()
	if e, ok := err.(*exec.ExitError); !ok || e.ExitCode() != 42 {
		r.t.Fatalf("run ended with %v, expected status 42", err)
	}
}

func TestSignalToRunReachesTargetOnce(t *testing.T) {
	r := startTarget(t)
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR2, unix.SIGTERM,
		unix.SIGWINCH} {
		unix.Kill(r.cmd.Process.Pid, sig)
		r.expect(unix.SignalName(sig))
	}
	r.end()
}

func TestSignalToGroupReachesTargetOnce(t *testing.T) {
	r := startTarget(t)
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGTERM} {
		unix.Kill(-r.cmd.Process.Pid, sig)
		r.expect(unix.SignalName(sig))
		time.Sleep(again)
	}
	// And the next one, to run alone, is passed on.
	unix.Kill(r.cmd.Process.Pid, unix.SIGTERM)
	r.expect("SIGTERM")
	r.end()
}

// TestSignalsToGroupAtOnce sends another signal before run has found out where the first one went.
func TestSignalsToGroupAtOnce(t *testing.T) {
	r := startTarget(t)
	for range 3 {
		unix.Kill(-r.cmd.Process.Pid, unix.SIGTERM)
		unix.Kill(-r.cmd.Process.Pid, unix.SIGINT)
		if got := []string{r.line(), r.line()}; !slices.Contains(got, "SIGTERM") || !slices.Contains(got, "SIGINT") {
			t.Fatalf("the target got %q", got)
		}
		time.Sleep(again)
	}
	r.end()
}

// TestSignalToRunAndGroup is what timeout(1) does.
func TestSignalToRunAndGroup(t *testing.T) {
	r := startTarget(t)
	twice := 0 // on a busy machine, the test may be held up between the two: then they are two signals
	for range 3 {
		began := time.Now()
		unix.Kill(r.cmd.Process.Pid, unix.SIGTERM)
		unix.Kill(-r.cmd.Process.Pid, unix.SIGTERM)
		if time.Since(began) > time.Millisecond {
			twice++
		}
		r.expect("SIGTERM")
		time.Sleep(again)
	}
	r.end(slices.Repeat([]string{"SIGTERM"}, twice)...)
}

// state waits until a process is in one of the given states.
func state(t *testing.T, pid int, want string) {
	t.Helper()
	var got byte
	for range 400 {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if i := strings.LastIndexByte(string(b), ')'); i > 0 {
			got = b[i+2]
		} else {
			got = '-'
		}
		if strings.IndexByte(want, got) >= 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("process %d is in state %c, expected one of %q", pid, got, want)
}

func TestRunStopsWithTarget(t *testing.T) {
	r := startTarget(t)
	run := r.cmd.Process.Pid
	unix.Kill(r.target, unix.SIGSTOP)
	state(t, r.target, "T")
	state(t, run, "T")
	var status unix.WaitStatus
	if pid, err := unix.Wait4(run, &status, unix.WUNTRACED, nil); err != nil || pid != run ||
		status.StopSignal() != unix.SIGSTOP {
		t.Fatalf("the parent does not see that the job has stopped: %d %v %v", pid, status, err)
	}
	unix.Kill(-run, unix.SIGCONT)
	state(t, r.target, "SR")
	state(t, run, "SR")
	r.expect("SIGCONT")
	r.end()
}

func TestContinueToRunContinuesTarget(t *testing.T) {
	r := startTarget(t)
	run := r.cmd.Process.Pid
	unix.Kill(r.target, unix.SIGSTOP)
	state(t, run, "T")
	unix.Kill(run, unix.SIGCONT)
	state(t, r.target, "SR")
	r.expect("SIGCONT")
	r.end()
}

func TestContinueToTargetContinuesRun(t *testing.T) {
	r := startTarget(t)
	run := r.cmd.Process.Pid
	unix.Kill(r.target, unix.SIGSTOP)
	state(t, run, "T")
	unix.Kill(r.target, unix.SIGCONT)
	state(t, run, "SR")
	r.expect("SIGCONT")
	r.end()
}

func TestStopToRunStopsTarget(t *testing.T) {
	r := startTarget(t)
	run := r.cmd.Process.Pid
	unix.Kill(run, unix.SIGSTOP)
	state(t, r.target, "T")
	unix.Kill(run, unix.SIGCONT)
	state(t, r.target, "SR")
	r.expect("SIGCONT")
	r.end()
}

func TestKilledRunLeavesTargetAlone(t *testing.T) {
	r := startTarget(t)
	unix.Kill(r.cmd.Process.Pid, unix.SIGKILL)
	state(t, r.cmd.Process.Pid, "Z")
	unix.Kill(r.target, unix.SIGUSR1)
	r.expect("end")
	r.cmd.Wait()
}
