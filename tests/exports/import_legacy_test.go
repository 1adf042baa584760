package exports

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
)

// TestImportLegacy imports older forms of profiles: those among google/pprof's own test data, Go's text, and what was
// written for this test. The sums are those that google/pprof reads.
func TestImportLegacy(t *testing.T) {
	theJudges(t) // which gets the module
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/pprof")
	list.Dir = "judges"
	folder, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	theirs := func(name string) string {
		b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "profile", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for name, c := range map[string]struct {
		text     string
		function string // that holds something
		held     bool   // 20 MiB, as sampled
	}{
		"gperftools": {theirs("cppbench.heap"), "", false},
		"growth":     {theirs("cppbench.growth"), "", false},
		"go":         {goHeap(t), "github.com/heaptap/heaptap/tests/exports.holdMemory", true},
		"proc's maps": {"heap profile: 3: 300 [5: 500] @ heapprofile\n3: 300 [5: 500] @ 0x401001\n\n--- Memory map: " +
			"---\n400000-500000 r-xp 00000000 08:01 1 /none/a\n", "a+0x1001", false},
		"names": {"heap profile: 3: 300 [3: 300] @ heap_v2/1\n3: 300 [3: 300] @ 0x401001\n--- Memory map: " +
			"---\nbuild=/none\n400000-500000: $build/b (@0) abcd\n" +
			"not a mapping\n7fff63dfe000-7fff63e00000: [vdso]\n", "b+0x1001", false},
	} {
		t.Run(name, func(t *testing.T) {
			file, back := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "back.htap")
			if err := os.WriteFile(file, []byte(c.text), 0o666); err != nil {
				t.Fatal(err)
			}
			sums := judge[map[string]uint64](t, "pprof-legacy", file)[0]
			command(t, "import", "-o", back, file)
			command(t, "verify", back)
			got := totals(t, back)
			for _, one := range [][3]string{{"inuse_space", "space", "leaked"},
				{"inuse_objects", "objects", "leaked-blocks"}, {"alloc_space", "", "bytes"}, {"alloc_objects", "",
					"allocations"}} {
				want, known := sums[one[0]]
				if !known {
					want, known = sums[one[1]]
				}
				// google/pprof cuts off what heaptap rounds, for each call stack.
				if n := got[one[2]]; known && (n < want || n > want+uint64(strings.Count(c.text, "@"))) {
					t.Errorf("%s: %d, google/pprof %d", one[2], n, want)
				}
			}
			// Go names the runtime's own functions only if a sample, by chance, has nothing else.
			if self := selves(t, back, "leaked"); c.function != "" &&
				self[c.function]+self["runtime.makeslice"] < 10<<20 && c.held {
				t.Errorf("%s has not what it holds: %v", c.function, self)
			} else if c.function != "" && !c.held && self[c.function] == 0 {
				t.Errorf("%s has nothing: %v", c.function, self)
			}
		})
	}
}

var held [][]byte

//go:noinline
func holdMemory() {
	for range 20 {
		held = append(held, make([]byte, 1<<20))
	}
}

// goHeap is what /debug/pprof/heap?debug=1 answers.
func goHeap(t *testing.T) string {
	t.Helper()
	holdMemory()
	runtime.GC()
	var b bytes.Buffer
	if err := pprof.Lookup("heap").WriteTo(&b, 1); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
