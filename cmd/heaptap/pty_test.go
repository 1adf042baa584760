package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/tests/need"
)

// terminal is a pseudo-terminal with an interactive shell.
type terminal struct {
	t      *testing.T
	master *os.File
	shell  *exec.Cmd
	dir    string

	mu   sync.Mutex
	text string // output that was not matched yet
}

// newTerminal starts bash with job control on a pseudo-terminal of its own.
func newTerminal(t *testing.T) *terminal {
	t.Helper()
	bash := need.Tool(t, "bash")
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 33, Col: 77}); err != nil {
		t.Fatal(err)
	}
	master := os.NewFile(uintptr(fd), "/dev/ptmx") // nonblocking: closing it ends a read that waits
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	dir := t.TempDir()
	t.Cleanup(func() { // a recorder may still write names into its cache when its command has ended
		gone := func() bool { return os.RemoveAll(filepath.Join(dir, "heaptap")) == nil }
		for end := time.Now().Add(20 * time.Second); !gone() && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
	})
	cmd := exec.Command(bash, "--norc", "--noprofile", "--noediting", "-i")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PS1=$ ", "TERM=dumb", "XDG_CACHE_HOME="+dir, "HISTFILE=", "PROMPT_COMMAND=")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, master: master, shell: cmd, dir: dir}
	go term.read()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		master.Close()
	})
	term.expect(`\$ $`)
	term.line("stty -echo")
	term.expect(`\$ $`)
	return term
}

func (term *terminal) read() {
	b := make([]byte, 4096)
	for {
		n, err := term.master.Read(b)
		term.mu.Lock()
		term.text += strings.ReplaceAll(string(b[:n]), "\r", "")
		term.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (term *terminal) line(text string) { term.keys(text + "\n") }

func (term *terminal) keys(text string) {
	term.t.Helper()
	if _, err := term.master.WriteString(text); err != nil {
		term.t.Fatal(err)
	}
}

// expect waits until the output matches, removes everything up to the match, and returns the match.
func (term *terminal) expect(pattern string) []string {
	term.t.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	deadline := time.Now().Add(20 * time.Second)
	for {
		term.mu.Lock()
		at := re.FindStringSubmatchIndex(term.text)
		if at != nil {
			match := re.FindStringSubmatch(term.text)
			term.text = term.text[at[1]:]
			term.mu.Unlock()
			return match
		}
		text := term.text
		term.mu.Unlock()
		if time.Now().After(deadline) {
			term.t.Fatalf("the terminal shows %q, expected %q", text, pattern)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// awaitProgram waits until a process executes a program.
func awaitProgram(t *testing.T, pid, name string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if comm, err := os.ReadFile("/proc/" + pid + "/comm"); err != nil || time.Now().After(end) {
			t.Fatalf("process %s does not become %s: %v", pid, name, err)
		} else if string(comm) == name+"\n" {
			return
		}
	}
}

func TestTerminalCtrlC(t *testing.T) {
	term := newTerminal(t)
	term.line("heaptap run -q -o c.htap sigtarget")
	target := term.expect(`ready (\d+)`)
	term.keys("\x03")
	term.expect(`SIGINT\n`)
	time.Sleep(again)
	term.keys("\x1c")
	term.expect(`SIGQUIT\n`)
	time.Sleep(again)
	pid := 0
	fmt.Sscan(target[1], &pid)
	unix.Kill(pid, unix.SIGUSR1)
	term.expect(`^end\n\$ $`) // and no second one in between
	term.line("echo status $?")
	term.expect(`status 42\n`)
}

// TestTerminalCtrlCEnds: Ctrl-C kills a target that does not handle it, and the shell sees that.
func TestTerminalCtrlCEnds(t *testing.T) {
	term := newTerminal(t)
	for _, c := range []struct{ key, status string }{{"\x03", "130"}, {"\x1c", "131"}} {
		term.line("heaptap run -o dies.htap -- sh -c 'echo started $$; exec sleep 100'")
		awaitProgram(t, term.expect(`started (\d+)\n`)[1], "sleep")
		term.keys(c.key)
		term.expect(`recording`) // what was recorded is kept
		term.expect(`\$ $`)
		term.line("echo status $?")
		term.expect(`status ` + c.status + `\n`)
		term.expect(`\$ $`)
	}
	if _, err := os.Stat(term.dir + "/dies.htap"); err != nil {
		t.Error(err)
	}
}

func TestTerminalCtrlZ(t *testing.T) {
	term := newTerminal(t)
	// This target says when it continues. It reads lines from the terminal.
	term.line(`heaptap run -q -o z.htap -- bash -c 'trap "echo goes on" CONT; echo started; ` +
		`while read -r line; do echo "read $line"; done'`)
	term.expect(`started\n`)
	term.line("one")
	term.expect(`read one\n`)
	term.keys("\x1a")
	term.expect(`Stopped`)
	term.expect(`\$ $`)
	term.line("jobs -s | wc -l; fg")
	term.expect(`^1\n`)
	term.line("two")
	term.expect(`read two\n`)
	term.keys("\x1a")
	term.expect(`Stopped`)
	term.expect(`\$ $`)
	term.line("bg")
	term.expect(`(?s:\$ .*goes on\n|goes on\n\$ )`) // the shell and the target, in any order
	// It reads from the terminal in the background, which stops it.
	term.line("until jobs -s | grep -q .; do sleep 0.02; done; jobs -s | wc -l; fg")
	term.expect(`^1\n`)
	term.line("three")
	if shown := term.expect(`((?s:.*))read three\n`)[1]; strings.Count(shown, "\ngoes on\n") > 1 {
		t.Errorf("the target was continued more than once: %q", shown)
	}
	term.keys("\x04") // end of file
	term.expect(`\$ $`)
	term.line("echo status $?")
	term.expect(`status 0\n`)
}

// TestTerminalKill: the shell's kill %1 goes to the whole group, and still counts once.
func TestTerminalKill(t *testing.T) {
	term := newTerminal(t)
	term.line("heaptap run -q -o k.htap sigtarget &")
	target := term.expect(`ready (\d+)`)
	term.line("kill -TERM %1")
	term.expect(`SIGTERM\n`)
	time.Sleep(again)
	term.line("kill -USR1 " + target[1])
	term.expect(`end\n`)
	term.line("wait %1; echo status $?")
	term.expect(`status 42\n`)
	term.mu.Lock()
	defer term.mu.Unlock()
	if strings.Contains(term.text, "SIGTERM") {
		t.Error("the target got SIGTERM twice")
	}
}

// TestTerminalClosed: the shell and its terminal end; the target gets SIGHUP, and its recording is kept.
func TestTerminalClosed(t *testing.T) {
	term := newTerminal(t)
	term.line("heaptap run -q -o h.htap -- sh -c 'echo started $$; exec sleep 100'")
	awaitProgram(t, term.expect(`started (\d+)\n`)[1], "sleep")
	until := func(what string, holds func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("waited in vain until %s", what)
			}
		}
	}
	// Before that, sleep would end without an agent.
	until("sleep is recorded, after the shell", func() bool {
		b, _ := exec.Command("heaptap", "ps", "--json", term.dir+"/h.htap").Output()
		return strings.Contains(string(b), `"sleep"`)
	})
	term.master.Close()
	until("a recording says how the target ended", func() bool {
		b, _ := exec.Command("sh", "-c", "heaptap report "+term.dir+"/h.htap").Output()
		return strings.Contains(string(b), "killed by signal 1\n")
	})
}

// TestTerminalProgram: a full-screen program has the same terminal settings and window size as without heaptap.
func TestTerminalProgram(t *testing.T) {
	term := newTerminal(t)
	term.line("heaptap run -q -o p.htap -- sh -c 'stty size; test -t 0 && test -t 1 && test -t 2 && echo all; stty " +
		"-a > in'; stty -a >out; cmp in out && echo same")
	term.expect(`33 77\nall\nsame\n`)
}

// TestTerminalExport: if stdout is a terminal, exports go to files.
func TestTerminalExport(t *testing.T) {
	term := newTerminal(t)
	term.line("heaptap run -q -o a.htap -- true; heaptap export -f pprof -o - a.htap; echo status $?; heaptap " +
		"export -f pprof a.htap; ls -A")
	term.expect(`heaptap: export: pprof is binary and stdout a terminal; -o names a file ` +
		`[^\n]*\nstatus 125\na\.pb\.gz\n(?s:.*)a\.htap\s+a\.pb\.gz`)
}
