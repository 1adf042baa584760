package api

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/tests/programs"
)

var (
	kitOnce sync.Once
	kitDir  string
	heaptap string
	kitErr  error
)

func TestMain(m *testing.M) {
	status := m.Run()
	if kitDir != "" {
		os.RemoveAll(kitDir)
	}
	os.Exit(status)
}

// heaptapBinary builds heaptap once; HEAPTAP_BINARY names an existing one.
func heaptapBinary(t *testing.T) string {
	t.Helper()
	kitOnce.Do(func() {
		if kitDir, kitErr = os.MkdirTemp("", "heaptap-api-"); kitErr == nil {
			heaptap, kitErr = programs.BuildHeaptap(kitDir, os.Getenv("HEAPTAP_BINARY"))
		}
	})
	if kitErr != nil {
		t.Fatal(kitErr)
	}
	return heaptap
}

// library writes the agent to a file, to be preloaded without a recorder.
func library(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "libheaptap.so")
	run(t, 0, nil, heaptapBinary(t), "agent", "-o", path)
	return path
}

// need skips a test whose tool is not there, but not in continuous integration.
func need(t *testing.T, tool string) {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is needed", tool)
		}
		t.Skipf("there is no %s", tool)
	}
}

// needHeader is the same for a header.
func needHeader(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// include is the option by which compilers find the headers.
func include(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../include")
	if err != nil {
		t.Fatal(err)
	}
	return "-I" + path
}

// compile makes a program of a source by gcc or g++ and returns its path. The compilers are not to leave out allocations.
func compile(t *testing.T, source string, flags ...string) string {
	t.Helper()
	compiler, standard := "gcc", "-std=c99"
	if filepath.Ext(source) == ".cc" {
		compiler, standard = "g++", "-std=c++17"
	}
	return compileBy(t, compiler, source, append([]string{standard}, flags...)...)
}

func compileBy(t *testing.T, compiler, source string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), filepath.Ext(source)))
	args := append([]string{"-O2", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fno-builtin", "-pthread", "-D_GNU_SOURCE",
		include(t), "-o", out, source}, flags...)
	run(t, 0, nil, append([]string{compiler}, args...)...)
	return out
}

// run executes a command, whose status must be as wanted, and returns what it printed.
func run(t *testing.T, status int, env []string, args ...string) string {
	t.Helper()
	return runIn(t, "", status, env, args...)
}

func runIn(t *testing.T, dir string, status int, env []string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != status {
		t.Fatalf("%s: %v, want status %d\n%s%s", strings.Join(args, " "), err, status, &stdout, &stderr)
	}
	return stdout.String()
}

// record runs a program under heaptap, where it must succeed, and returns what it printed and its recording.
func record(t *testing.T, args ...string) (stdout string, r *recording.Reader) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.htap")
	stdout = run(t, 0, nil, append([]string{heaptapBinary(t), "run", "-q", "-o", path, "--"}, args...)...)
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if h := r.Health(); !r.Complete() || h.LostEvents != 0 || h.TableFull != 0 || h.NoThread != 0 {
		t.Errorf("complete %v, health %+v", r.Complete(), h)
	}
	return stdout, r
}
