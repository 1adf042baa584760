// Package kit is what the tests of whole programs share. They build heaptap once, compile programs, run them under
// heaptap and read the recordings.
//
// A package that uses it has Main as its TestMain.
package kit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/tests/programs"
)

// Main runs tests, then what is to be done after them, and removes the kit's folder.
func Main(m *testing.M, after ...func()) {
	status := m.Run()
	for _, f := range after {
		f()
	}
	if dir, err := folder(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(status)
}

// Prepare makes the kit's folder and heaptap for what is not done by one test: Dir and Binary return the same.
func Prepare() (dir, heaptap string, err error) {
	if dir, err = folder(); err == nil {
		heaptap, err = binary()
	}
	return dir, heaptap, err
}

// folder makes the kit's folder. Everyone may read it: some programs run as other users.
var folder = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "heaptap-tests-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	return dir, err
})

// binary lies in the kit's folder even if it was not built there, for those who see no other.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := folder()
	if err != nil {
		return "", err
	}
	path, err := programs.BuildHeaptap(dir, os.Getenv("HEAPTAP_BINARY"))
	if err != nil || filepath.Dir(path) == dir {
		return path, err
	}
	inside := filepath.Join(dir, "heaptap")
	return inside, exec.Command("cp", path, inside).Run()
})

var library = sync.OnceValues(func() (string, error) {
	path, err := binary()
	if err != nil {
		return "", err
	}
	lib := filepath.Join(filepath.Dir(path), "libheaptap.so")
	return lib, exec.Command(path, "agent", "-o", lib).Run()
})

// Dir is a folder that is removed after all tests of the package.
func Dir(t testing.TB) string {
	t.Helper()
	return must(folder())(t)
}

// Binary is the path of heaptap: $HEAPTAP_BINARY, or one that is built once.
func Binary(t testing.TB) string {
	t.Helper()
	return must(binary())(t)
}

// Library is the agent in a file, to be preloaded without a recorder.
func Library(t testing.TB) string {
	t.Helper()
	return must(library())(t)
}

func must(path string, err error) func(testing.TB) string {
	return func(t testing.TB) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
}

// Until waits for a condition that comes soon.
func Until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

// Recorder waits for the recorder of a `heaptap run`, a child that leads a session, and returns its process.
func Recorder(t testing.TB, run int) (pid int) {
	t.Helper()
	Until(t, "a recorder", func() bool {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", run))
		for _, task := range tasks {
			children, _ := os.ReadFile(task)
			for _, child := range numbers(string(children)) {
				if session, err := unix.Getsid(child); err == nil && session == child {
					pid = child
				}
			}
		}
		return pid != 0
	})
	return pid
}

// Same compares two values as they are printed.
func Same(t testing.TB, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
