package main

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/spelling"
)

// TestMain makes commands of this test binary: heaptap itself and what the scripts and signal tests run under it.
func TestMain(m *testing.M) {
	if os.Getenv("GORACE") == "" { // with the race detector, each command would sleep for a second before it ends
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	stepFromEnvironment()
	testscript.Main(tidy{m}, map[string]func(){
		"heaptap":   main,
		"sigtarget": sigtarget,
		"torture":   torture,
	})
}

// TestScript runs the sessions in testdata/script. Each is a txtar archive that reads like a terminal.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "script"),
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
			include, err := filepath.Abs(filepath.Join("..", "..", "include"))
			env.Setenv("INCLUDE", include)
			return err
		},
		Condition: func(cond string) (bool, error) {
			if name, ok := strings.CutPrefix(cond, "exec32:"); ok {
				return exec.Command(name).Run() == nil, nil
			}
			return cond == "root" && os.Getuid() == 0, nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"cc":     buildC,
			"newer":  makeNewer,
			"plain":  usePlain,
			"status": execStatus,
		},
	})
}

// buildC is `cc ARGS`: it runs gcc in the script's folder.
func buildC(ts *testscript.TestScript, neg bool, args []string) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		ts.Fatalf("gcc is needed; `make test` installs it")
	}
	if err := ts.Exec(gcc, args...); (err != nil) != neg {
		ts.Fatalf("gcc: %v", err)
	}
}

// plain builds heaptap as users have it, and returns the folder. This test binary may have the race detector, which is
// very slow on millions of events and thousands of commands.
var plain = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "heaptap-plain-")
	if err != nil {
		return "", err
	}
	plainDir = dir
	cmd := exec.Command("go", "build", "-o", dir, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
})

var plainDir string // to be removed at the end

// tidy runs tests and tidies up.
type tidy struct{ *testing.M }

func (m tidy) Run() int {
	// Scripts wait for programs and recorders more than they compute. -parallel says otherwise.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Unsetenv("DEBUGINFOD_URLS")   // which some distributions set: tests must not wait for servers
	if signal.Ignored(unix.SIGHUP) { // as with nohup: children inherit ignored signals, but not handled ones
		signal.Notify(make(chan os.Signal, 1), unix.SIGHUP)
	}
	defer func() { os.RemoveAll(plainDir) }()
	return m.M.Run()
}

// usePlain is `plain`: from here on, heaptap is the one without the race detector.
func usePlain(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: plain")
	}
	dir, err := plain()
	ts.Check(err)
	ts.Setenv("PATH", dir+string(os.PathListSeparator)+ts.Getenv("PATH"))
}

// execStatus is `status N COMMAND ARGS`: the command must end with status N.
func execStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND [ARGS]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if e, ok := err.(*exec.ExitError); ok {
		got = strings.TrimPrefix(e.String(), "exit status ")
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != args[0] {
		ts.Fatalf("status %s, expected %s", got, args[0])
	}
}

// makeNewer is `newer FROM TO`: it copies a recording and sets a format version of the future.
func makeNewer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: newer FROM TO")
	}
	b := []byte(ts.ReadFile(args[0]))
	binary.LittleEndian.PutUint16(b[8:], 7)
	binary.LittleEndian.PutUint32(b[28:], crc32.Checksum(b[:28], crc32.MakeTable(crc32.Castagnoli)))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b, 0o644))
}

// command prepares this test binary as a command of a name.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath(name) // testscript.Main put it there
	if err != nil {
		t.Fatal(err)
	}
	return atHome(t, path, args)
}

// plainCommand prepares the plain heaptap.
func plainCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	dir, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	return atHome(t, filepath.Join(dir, "heaptap"), args)
}

func atHome(t *testing.T, path string, args []string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cmd.Dir)
	return cmd
}

func TestNearest(t *testing.T) {
	flags := []string{"output", "quiet", "spill-limit", "top"}
	for word, want := range map[string]string{
		"ouput": "output", "out": "output", "quite": "quiet", "spil-limit": "spill-limit",
		"spill-limit=5": "spill-limit",
		"tpo":           "top", "banana": "", "x": "",
	} {
		if got := spelling.Nearest(word, flags); got != want {
			t.Errorf("spelling.Nearest(%q) = %q, expected %q", word, got, want)
		}
	}
}

func TestManPages(t *testing.T) {
	dir := t.TempDir()
	if status := execute([]string{"man", "-o", dir}); status != 0 {
		t.Fatalf("status %d", status)
	}
	for _, c := range newRootCommand(allCommands).Commands() {
		page, err := os.ReadFile(filepath.Join(dir, "heaptap-"+c.Name()+".1"))
		if c.Hidden || c.Name() == "help" {
			if err == nil {
				t.Errorf("%s has a page", c.Name())
			}
			continue
		}
		if err != nil {
			t.Error(err)
		}
		if !bytes.Contains(page, []byte(".SH SYNOPSIS\n.B heaptap "+roff(c.Name()))) {
			t.Errorf("%s: no synopsis", c.Name())
		}
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, "'") {
				t.Errorf("%s: the line %q is a request to troff", c.Name(), line)
			}
		}
	}
}
