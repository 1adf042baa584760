package api

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
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
			need.Tool(t, c.compiler)
			// Flags that say how the source is to be read come before it.
			program := compileBy(t, c.compiler, "src/state.c", c.flags...)
			kit.Run(t, program, "absent")
			kit.Record(t, program, "loaded")
		})
	}
	t.Run("static", func(t *testing.T) {
		t.Parallel()
		kit.Run(t, compile(t, "src/state.c", "-static"), "absent")
	})
}

// TestPlugin loads a library with the header into a program without.
func TestPlugin(t *testing.T) {
	t.Parallel()
	program := compile(t, "src/plugin.c", "-ldl")
	plugin := compile(t, "src/plugin.c", "-DPLUGIN", "-fPIC", "-shared")
	kit.Run(t, program, plugin, "-1")
	kit.Record(t, program, plugin, "1")
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
			kit.Record(t, append([]string{compile(t, "src/functions.cc", flags...)}, args...)...)
		})
	}
}

func needLibrary(t *testing.T, name string) {
	t.Helper()
	if path := strings.TrimSpace(kit.Run(t, "gcc", "-print-file-name="+name)); !filepath.IsAbs(path) {
		need.Lacks(t, "there is no "+name)
	}
}

// TestLibrary measures the C++ standard library.
func TestLibrary(t *testing.T) {
	t.Parallel()
	kit.Record(t, compile(t, "src/library.cc", "-fopenmp"))
}

// TestModes measures and monitors whatever is recorded.
func TestModes(t *testing.T) {
	for _, source := range []string{"src/measures.cc", "src/monitors.cc"} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			program := compile(t, source)
			kit.Record(t, program)
			for _, mode := range []string{"sampled", "count", "off"} {
				kit.Heaptap(t, "run", "-q", "--mode", mode, "-o", filepath.Join(t.TempDir(), "run.htap"), "--", program)
			}
		})
	}
}

// TestExcluded looks in the recording for what the program paused and stopped.
func TestExcluded(t *testing.T) {
	t.Parallel()
	_, r := kit.Record(t, compile(t, "src/excluded.c"))
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
		t.Errorf("sizes %v are not allocated and freed once, sizes %v are there at all\n%v\n%v", missing, extra, sizes,
			freed)
	}
}

// TestCompat runs code that was written for other tools.
func TestCompat(t *testing.T) {
	for _, source := range []string{"src/compat.cc", "src/malt.c"} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			program := compile(t, source)
			kit.Run(t, program, "absent")
			kit.Record(t, program, "loaded")
		})
	}
}

// TestProfiler runs what programs do that were written for MallocProfiler.
func TestProfiler(t *testing.T) {
	t.Parallel()
	program := compile(t, "src/profiler.cc", "-fno-optimize-sibling-calls")
	kit.Command{Status: 3}.Run(t, program, "numbers")
	for _, what := range []string{"numbers", "threads", "intervals", "final", "off"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			args := []string{kit.Binary(t), "run", "-q", "-o", filepath.Join(dir, "run.htap")}
			if what == "off" {
				args = append(args, "--start", "off")
			}
			stdout := kit.Command{Dir: dir}.Run(t, append(args, "--", program, what)...)
			var want string
			switch what {
			case "final":
				// 1,000 bytes count as 512 to 1023.
				want = `(?s)^MemStat Global Summary for \d+/1: 1 1000 1000 1000
MemTot Global Hist for \d+/1: (0,){10}1,(0,){53}
MemLive Global Hist for \d+/1: (0,){10}1,(0,){53}
_mpTrace_;.*;main(;.*)?;large_block\(\) \$1\$1000\$1000\$1000
_mpTrace_;SmallAllocations \$0\$0\$0\$0
$`
			case "off": // neither what came before, nor what came after, nor at the end
				want = `(?s)^Stat 1000 24000 24000 24000 at
#0 .* instrumented\(\) .*Stat 7 17080 8872 13200 at.* instrumented\(\) .*` +
					`_mpTrace_;.*;main(;.*)?;instrumented\(\);[^\n]*  1000 24000 24000 24000
_mpTrace_[^\n]*  7 17080 8872 13200
_mpTrace_;SmallAllocations  0 0 0 0
$`
			case "intervals":
				want = `^MemStat Global Summary for .*\n.*\n.*\n$`
			default:
				return
			}
			if !regexp.MustCompile(want).MatchString(stdout) {
				t.Errorf("%s\ndoes not match\n%s", stdout, want)
			}
		})
	}
	t.Run("without a recorder", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		stdout := kit.Command{Env: []string{"LD_PRELOAD=" + kit.Library(t), "HEAPTAP_DIR=" + dir}}.Run(t, program,
			"final")
		if !strings.HasSuffix(stdout, ",\n_mpTrace_;SmallAllocations $1$1000$1000$1000\n") {
			t.Error(stdout)
		}
	})
}

// TestModules: executable, libraries and plugins that all have the headers share one state, however they are linked.
func TestModules(t *testing.T) {
	t.Parallel()
	flags := []string{"-std=c++17", "-Wall", "-Wextra", "-Werror", "-fno-builtin", "-pthread", "-D_GNU_SOURCE",
		include(t)}
	gcc := func(t *testing.T, args ...string) {
		kit.Run(t, append(append([]string{"g++"}, flags...), args...)...)
	}
	dir := t.TempDir()
	var libraries []string
	for _, link := range []string{"-fvisibility=default", "-fvisibility=hidden", "-Wl,-Bsymbolic"} {
		path := filepath.Join(dir, "lib"+strings.Trim(link, "-")+".so")
		gcc(t, "-DLIBRARY", "-O1", "-fPIC", "-shared", link, "-o", path, "src/module.cc")
		libraries = append(libraries, path)
	}
	for _, e := range []struct {
		name          string
		compile, link []string
	}{
		{"plain", []string{"-O1"}, nil},
		{"exporting", []string{"-O0"}, []string{"-rdynamic"}},
		{"hidden", []string{"-O1", "-fvisibility=hidden"}, []string{"-rdynamic"}},
		{"fixed", []string{"-O1", "-fno-pie"}, []string{"-no-pie", "-rdynamic"}},
	} {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			object, program := filepath.Join(dir, "module.o"), filepath.Join(dir, "module")
			gcc(t, append(e.compile, "-c", "-o", object, "src/module.cc")...)
			gcc(t, append(e.link, "-o", program, object)...)
			for _, library := range libraries {
				with := func(env []string, args ...string) {
					kit.Command{Env: env}.Run(t, append([]string{kit.Binary(t), "run", "-q", "-o",
						filepath.Join(dir, "run.htap"), "--"}, args...)...)
				}
				with(nil, program, library)
				with([]string{"LD_PRELOAD=" + library}, program, "preloaded")
				linked := program + filepath.Base(library)
				gcc(t, append(e.link, "-o", linked, object, "-Wl,--no-as-needed", library)...)
				with(nil, linked, "linked")
			}
		})
	}
}

// TestWrapped calls what heaptap.hpp wraps.
func TestWrapped(t *testing.T) {
	t.Parallel()
	program := compile(t, "src/wrapped.cc")
	kit.Run(t, program, "absent")
	stdout, _ := kit.Record(t, program, "loaded")
	path := filepath.Join(t.TempDir(), "dump.pb.gz")
	if err := os.WriteFile(path, []byte(stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	raw := kit.Run(t, "go", "tool", "pprof", "-raw", path)
	if !regexp.MustCompile(`(?m)^ +1 +123456 +1 +123456 `).MatchString(raw) || strings.Contains(raw, "missing:") {
		t.Errorf("go tool pprof -raw:\n%.3000s", raw)
	}
}

// TestRegistry runs the C++ registry under ThreadSanitizer, with an agent that the program plays itself.
func TestRegistry(t *testing.T) {
	t.Parallel()
	program := compile(t, "src/registry.cc", "-fsanitize=thread", "-rdynamic")
	kit.Run(t, program)
	kit.Command{Env: []string{"OLD_AGENT=1"}}.Run(t, program)
}
