package sampled

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
)

// TestUnload: a module that takes the place of an unloaded one is distinguished from it, though hardly any of what the
// loader frees was sampled.
func TestUnload(t *testing.T) {
	t.Parallel()
	program := kit.Compile(t, "gcc", "-O1", "src/unload.c", "-ldl")
	one := kit.Compile(t, "gcc", "-O1", "-shared", "-fPIC", "-DNAME=in_one", "-DFRAME=100", "src/module.c")
	two := kit.Compile(t, "gcc", "-O1", "-shared", "-fPIC", "-DNAME=in_two", "-DFRAME=300", "src/module.c")
	file := filepath.Join(t.TempDir(), "run.htap")
	kit.Heaptap(t, "run", "-q", "--mode", "sampled", "--sample-calls", "50", "-o", file, "--", program, one, two)
	found := estimate(t, file)
	for _, function := range []string{"in_one", "in_two"} {
		calls := found[function].calls
		if want := 20 * 500.; math.Abs(calls.value-want) > 5*math.Sqrt(want*49) {
			t.Errorf("%s: %.0f calls, want %.0f ± %.0f", function, calls.value, want, math.Sqrt(want*49))
		}
	}
}
