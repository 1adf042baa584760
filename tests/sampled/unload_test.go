package sampled

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/tests/programs"
)

// TestUnload: a module that takes the place of an unloaded one is told from it, though hardly any of what the loader frees was sampled.
func TestUnload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	heaptap, err := programs.BuildHeaptap(dir, os.Getenv("HEAPTAP_BINARY"))
	if err != nil {
		t.Fatal(err)
	}
	compile := func(out string, args ...string) string {
		t.Helper()
		out = filepath.Join(dir, out)
		if msg, err := exec.Command("gcc", append([]string{"-O1", "-g", "-o", out}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("gcc (make test installs it): %v\n%s", err, msg)
		}
		return out
	}
	program := compile("unload", "src/unload.c", "-ldl")
	one := compile("one.so", "-shared", "-fPIC", "-DNAME=in_one", "-DFRAME=100", "src/module.c")
	two := compile("two.so", "-shared", "-fPIC", "-DNAME=in_two", "-DFRAME=300", "src/module.c")
	file := filepath.Join(dir, "run.htap")
	if out, err := exec.Command(heaptap, "run", "-q", "--mode", "sampled", "--sample-calls", "50", "-o", file, "--", program, one, two).CombinedOutput(); err != nil {
		t.Fatalf("heaptap run: %v\n%s", err, out)
	}
	found := estimate(t, heaptap, file)
	for _, function := range []string{"in_one", "in_two"} {
		calls := found[function].calls
		if want := 20 * 500.; math.Abs(calls.value-want) > 5*math.Sqrt(want*49) {
			t.Errorf("%s: %.0f calls, want %.0f ± %.0f", function, calls.value, want, math.Sqrt(want*49))
		}
	}
}
