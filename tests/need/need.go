// Package need says what a test needs of the machine it runs on: programs, libraries, headers. Without them a test is
// skipped, but in continuous integration, where CI is set, it fails: there nothing may be left out unnoticed.
package need

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Tool returns the path of a program.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Lacks(t, err)
	}
	return path
}

// File returns the first file that matches the pattern.
func File(t testing.TB, pattern string) string {
	t.Helper()
	found, _ := filepath.Glob(pattern)
	if len(found) == 0 {
		Lacks(t, "there is no "+pattern)
	}
	return found[0]
}

// Lacks ends a test: something that it needs is missing.
func Lacks(t testing.TB, what any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%v (tools/setup.sh test installs what tests need)", what)
	}
	t.Skip(what)
}
