package exports

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// TestHeaptrack has heaptrack_print read the files: allocations, bytes, sizes, peak and leaks are the report's, by
// exact numbers from its flame graphs and histogram, and what it calls temporary is what docs/formats.md says that it
// does.
func TestHeaptrack(t *testing.T) {
	t.Logf("%s", tool(t, "heaptrack_print", "--version"))
	each(t, func(t *testing.T, name, path string) {
		want := totals(t, path)
		want["leaked"] = want["live"] // heaptrack does not know the runtime's blocks
		for _, variant := range []string{"heaptrack", "heaptrack:gz", "heaptrack:plain"} {
			file := heaptrackFile(t, variant, path)
			kinds := []string{"temporary", "leaked", "peak"}
			if variant != "heaptrack" {
				kinds = []string{"allocations"} // only the compression differs
			}
			for _, kind := range kinds {
				got := heaptrackPrint(t, file, kind)
				for _, m := range []string{"allocations", "bytes", "leaked", "peak"} {
					if n, asked := got[m]; asked && n != want[m] {
						t.Errorf("%s: %s %d, report %d", variant, m, got[m], want[m])
					}
				}
				if got, asked := got["temporary"]; asked {
					if n := heaptracksTemporary(t, path); got != n {
						t.Errorf("%s: temporary %d, by its definition %d", variant, got, n)
					}
					t.Logf("%s: temporary %d, heaptap's %d", variant, got, want["temporary"])
				}
			}
		}
	})
}

// heaptrackFile exports for heaptrack's tools, which know compressed files by their names.
func heaptrackFile(t *testing.T, variant, path string, flags ...string) string {
	t.Helper()
	ending := map[string]string{"heaptrack": ".zst", "heaptrack:gz": ".gz", "heaptrack:plain": ".plain"}[variant]
	file := filepath.Join(t.TempDir(), "out.heaptrack"+ending)
	if err := os.Symlink(exported(t, variant, path, flags...), file); err != nil {
		t.Fatal(err)
	}
	return file
}

var heaptrackCalls = regexp.MustCompile(`calls to allocation functions: (\d+)`)

// heaptrackPrint has heaptrack_print sum up a file: allocations and bytes, and a kind of cost by its flame graph. It
// takes long to start, so each call asks for several at once.
func heaptrackPrint(t *testing.T, file, kind string) map[string]uint64 {
	t.Helper()
	flames, sizes := file+"."+kind, file+".sizes"
	text := tool(t, "heaptrack_print", "--disable-builtin-suppressions", "-f", file, "-F", flames,
		"--flamegraph-cost-type", kind, "-H", sizes)
	calls := heaptrackCalls.FindSubmatch(text)
	if calls == nil {
		t.Fatalf("heaptrack_print: %.2000s", text)
	}
	got := map[string]uint64{}
	var err error
	if got["allocations"], err = strconv.ParseUint(string(calls[1]), 10, 64); err != nil {
		t.Fatal(err)
	}
	of := sumOfLines(t, flames, func(fields []uint64) uint64 { return fields[len(fields)-1] })
	if n := got["allocations"]; kind == "allocations" && of != n {
		t.Errorf("heaptrack_print: %d allocations in the flame graph, %d in the text", of, n)
	}
	got[kind] = of
	got["bytes"] = sumOfLines(t, sizes, func(fields []uint64) uint64 { return fields[0] * fields[1] })
	return got
}

// heaptracksTemporary counts what heaptrack's readers call temporary: see docs/formats.md.
func heaptracksTemporary(t *testing.T, path string) (n uint64) {
	t.Helper()
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	type block struct {
		stack uint32
		size  uint64
	}
	var last *block
	err = r.Events(func(e *event.Event) bool {
		switch b := (block{e.Stack, e.Size}); e.Kind {
		case event.Alloc:
			last = &b
		case event.Free:
			if last != nil && *last == b {
				n++
			}
			last = nil
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// sumOfLines adds up what of gives for the numbers at the beginning or the end of each line.
func sumOfLines(t *testing.T, file string, of func([]uint64) uint64) (sum uint64) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(bytes.TrimSpace(b))) {
		var numbers []uint64
		for _, f := range strings.Fields(line) {
			// What was freed more often than allocated is negative.
			if n, err := strconv.ParseInt(f, 10, 64); err == nil {
				numbers = append(numbers, uint64(n))
			}
		}
		if len(numbers) > 0 {
			sum += of(numbers)
		}
	}
	return sum
}
