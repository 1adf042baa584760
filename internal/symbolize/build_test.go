package symbolize

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/need"
)

// build compiles a source file of testdata and returns the program's path.
func build(t testing.TB, source, name string, compiler string, flags ...string) string {
	t.Helper()
	bin, err := exec.LookPath(compiler)
	if err != nil {
		home, _ := os.UserHomeDir()
		if bin = filepath.Join(home, ".cargo", "bin", compiler); !exists(bin) {
			need.Lacks(t, compiler+" is not installed")
		}
	}
	// Compiled in another directory: then the debug information has absolute paths, and the compiler's other output
	// files are in that directory, too.
	source, err = filepath.Abs(filepath.Join("testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), name)
	runIn(t, filepath.Dir(out), bin, append(flags, "-o", out, source)...)
	return out
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	return runIn(t, "", name, args...)
}

// runIn runs a command in a directory.
func runIn(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// copyOf copies a file and makes it executable.
func copyOf(t testing.TB, from, to string) string {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}
