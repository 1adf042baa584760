package exports

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/heaptap/heaptap/tests/need"
)

// TestImportTools records a program with other tools and imports what they write: their numbers are those that heaptap
// has counted of the same program, as far as they count the same.
func TestImportTools(t *testing.T) {
	if _, err := recorded(); err != nil { // which makes a folder
		t.Fatal(err)
	}
	shop := filepath.Join(t.TempDir(), "shop")
	tool(t, "g++", "-g", "-O1", "-o", shop, "testdata/shop.cc")
	for _, c := range []struct {
		name    string
		tool    string
		library string // to be preloaded, if the tool is one
		run     func(dir string) *exec.Cmd
		want    map[string]uint64
		leak    uint64 // bytes of a function of that name
	}{
		{"massif", "valgrind", "", func(dir string) *exec.Cmd {
			return exec.Command("valgrind", "-q", "--tool=massif", "--peak-inaccuracy=0",
				"--massif-out-file="+dir+"/out", shop)
		}, map[string]uint64{"peak": 1_100_000}, 0}, // there need not be a tree of the end
		{"dhat", "valgrind", "", func(dir string) *exec.Cmd {
			return exec.Command("valgrind", "-q", "--tool=dhat", "--dhat-out-file="+dir+"/out", shop)
		}, map[string]uint64{"allocations": 5150, "bytes": 1_420_000, "peak": 1_100_000,
			"peak-blocks": 150, "leaked": 100_000, "leaked-blocks": 100}, 100_000},
		{"gperftools", "", "libtcmalloc.so.4", func(dir string) *exec.Cmd {
			cmd := exec.Command(shop)
			cmd.Env = append(os.Environ(), "HEAPPROFILE="+dir+"/out")
			return cmd
		}, map[string]uint64{"allocations": 5150, "bytes": 1_420_000,
			"leaked": 100_000, "leaked-blocks": 100}, 100_000},
		{"jemalloc", "", "libjemalloc.so.2", func(dir string) *exec.Cmd {
			cmd := exec.Command(shop)
			cmd.Env = append(os.Environ(),
				"MALLOC_CONF=prof:true,prof_final:true,lg_prof_sample:0,prof_prefix:"+dir+"/out")
			return cmd
		}, nil, 102_400}, // which counts usable bytes
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.library != "" {
				need.File(t, "/usr/lib/*/"+c.library)
			} else {
				need.Tool(t, c.tool)
			}
			dir := t.TempDir()
			cmd := c.run(dir)
			if c.library != "" {
				cmd.Env = append(cmd.Env, "LD_PRELOAD="+c.library)
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			found, err := filepath.Glob(dir + "/out*")
			if err != nil || len(found) != 1 {
				t.Fatalf("%v %q", err, found)
			}
			back := filepath.Join(dir, "back.htap")
			command(t, "import", "-o", back, found[0])
			command(t, "verify", back)
			got := totals(t, back)
			for m, n := range c.want {
				if got[m] != n {
					t.Errorf("%s %d, expected %d", m, got[m], n)
				}
			}
			by := topByFunction(t, back)
			if n := max(by["leak"].Total["leaked"], by["leak()"].Total["leaked"]); n != c.leak {
				t.Errorf("leak leaks %d bytes, expected %d", n, c.leak)
			}
			if c.name == "jemalloc" {
				jeprof(t, shop, found[0], got["live"])
			}
		})
	}
}

// jeprof holds live bytes to what jeprof says.
func jeprof(t *testing.T, program, file string, live uint64) {
	t.Helper()
	need.Tool(t, "jeprof")
	out, _ := exec.Command("jeprof", "--show_bytes", "--text", program, file).Output()
	total := regexp.MustCompile(`Total: (\d+) B`).FindSubmatch(out)
	if total == nil {
		t.Fatalf("jeprof: %.300s", out)
	}
	if n, err := strconv.ParseUint(string(total[1]), 10, 64); err != nil || live+10 < n || n+10 < live {
		t.Errorf("%d live bytes, jeprof %d", live, n)
	}
}
