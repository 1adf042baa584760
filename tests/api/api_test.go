package api

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// TestState asks each function with the agent and without, in programs that are linked in all ways.
func TestState(t *testing.T) {
	for _, c := range []struct {
		name, compiler string
		flags          []string
	}{
		{"c99", "gcc", []string{"-std=c99"}},
		{"not position-independent", "gcc", []string{"-std=c11", "-fno-pie", "-no-pie"}},
		{"link-time optimised", "gcc", []string{"-std=c11", "-flto"}},
		{"clang", "clang", []string{"-std=c99"}},
		{"clang, not position-independent", "clang", []string{"-std=c99", "-fno-pie", "-no-pie"}},
		{"c++", "g++", []string{"-std=c++17", "-x", "c++"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			need(t, c.compiler)
			// Flags that say how the source is to be read come before it.
			program := compileBy(t, c.compiler, "src/state.c", c.flags...)
			run(t, 0, nil, program, "absent")
			record(t, program, "loaded")
		})
	}
	t.Run("static", func(t *testing.T) {
		t.Parallel()
		run(t, 0, nil, compile(t, "src/state.c", "-static"), "absent")
	})
}

// TestPlugin loads a library with the header into a program without.
func TestPlugin(t *testing.T) {
	t.Parallel()
	program := compile(t, "src/plugin.c", "-ldl")
	plugin := compile(t, "src/plugin.c", "-DPLUGIN", "-fPIC", "-shared")
	run(t, 0, nil, program, plugin, "-1")
	record(t, program, plugin, "1")
}

// TestFunctions measures each allocation function of each allocator.
func TestFunctions(t *testing.T) {
	for _, allocator := range []string{"", "libjemalloc.so.2", "libtcmalloc.so.4", "libmimalloc.so.2"} {
		t.Run("of "+allocator, func(t *testing.T) {
			t.Parallel()
			var flags, args []string
			if allocator != "" {
				flags = []string{"-Wl,--no-as-needed", "-l:" + allocator}
				needLibrary(t, allocator)
			}
			if allocator == "libmimalloc.so.2" {
				args = []string{"aborts"}
			}
			record(t, append([]string{compile(t, "src/functions.cc", flags...)}, args...)...)
		})
	}
}

func needLibrary(t *testing.T, name string) {
	t.Helper()
	out, err := exec.Command("gcc", "-print-file-name="+name).Output()
	if err == nil && filepath.IsAbs(string(out)) {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is needed", name)
	}
	t.Skipf("there is no %s", name)
}

// TestLibrary measures the C++ standard library.
func TestLibrary(t *testing.T) {
	t.Parallel()
	record(t, compile(t, "src/library.cc", "-fopenmp"))
}

// TestModes measures and monitors whatever is recorded.
func TestModes(t *testing.T) {
	for _, source := range []string{"src/measures.cc", "src/monitors.cc"} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			program := compile(t, source)
			record(t, program)
			for _, mode := range []string{"sampled", "count", "off"} {
				run(t, 0, nil, heaptapBinary(t), "run", "-q", "--mode", mode, "-o", filepath.Join(t.TempDir(), "run.htap"), "--", program)
			}
		})
	}
}

// TestExcluded looks in the recording for what the program paused and stopped.
func TestExcluded(t *testing.T) {
	t.Parallel()
	_, r := record(t, compile(t, "src/excluded.c"))
	sizes, freed := map[uint64]int{}, map[uint64]int{}
	if err := r.Events(func(e *event.Event) bool {
		switch {
		case e.Size < 1001 || e.Size > 2999:
		case e.Kind == event.Alloc:
			sizes[e.Size]++
		case e.Kind == event.Free:
			freed[e.Size]++
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	var missing, extra []uint64
	for size := uint64(1001); size <= 1007; size++ {
		if sizes[size] != 1 || freed[size] != 1 {
			missing = append(missing, size)
		}
	}
	for size := range sizes {
		if size > 1007 {
			extra = append(extra, size)
		}
	}
	slices.Sort(extra)
	if len(missing) > 0 || len(extra) > 0 {
		t.Errorf("sizes %v are not allocated and freed once, sizes %v are there at all\n%v\n%v", missing, extra, sizes, freed)
	}
}

// TestCompat runs code that was written for other tools.
func TestCompat(t *testing.T) {
	for _, source := range []string{"src/compat.cc", "src/malt.c"} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			program := compile(t, source)
			run(t, 0, nil, program, "absent")
			record(t, program, "loaded")
		})
	}
}

// TestWrapped calls what heaptap.hpp wraps.
func TestWrapped(t *testing.T) {
	t.Parallel()
	program := compile(t, "src/wrapped.cc")
	run(t, 0, nil, program, "absent")
	stdout, _ := record(t, program, "loaded")
	path := filepath.Join(t.TempDir(), "dump.pb.gz")
	if err := os.WriteFile(path, []byte(stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	raw := run(t, 0, nil, "go", "tool", "pprof", "-raw", path)
	if !regexp.MustCompile(`(?m)^ +1 +123456 +1 +123456 `).MatchString(raw) || strings.Contains(raw, "missing:") {
		t.Errorf("go tool pprof -raw:\n%.3000s", raw)
	}
}

// TestRegistry runs the C++ registry under ThreadSanitizer, with an agent that the program plays itself.
func TestRegistry(t *testing.T) {
	t.Parallel()
	program := compile(t, "src/registry.cc", "-fsanitize=thread", "-rdynamic")
	run(t, 0, nil, program)
	run(t, 0, []string{"OLD_AGENT=1"}, program)
}
