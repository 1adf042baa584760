package exports

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// line is how flamegraph.pl takes a line apart; a stack that looks the same once more is taken for two profiles.
var line = regexp.MustCompile(`^(.*)\s+?(\d+(?:\.\d*)?)$`)

// readFolded applies flamegraph.pl's rules. It returns the sum, and the number of frames of the deepest stack.
func readFolded(t *testing.T, text string) (sum uint64, deepest int) {
	t.Helper()
	if text != "" && !strings.HasSuffix(text, "\n") {
		t.Error("the last line has no end")
	}
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		m := line.FindStringSubmatch(l)
		switch {
		case m == nil:
			t.Errorf("no stack and number: %.200q", l)
			continue
		case line.MatchString(m[1]):
			t.Errorf("two numbers: %.200q", l)
		case strings.ContainsAny(l, "\r\x00\x1b\t") || strings.ToValidUTF8(l, "") != l:
			t.Errorf("not clean: %.200q", l)
		case strings.Contains(";"+m[1]+";", ";;"):
			t.Errorf("a frame without a name: %.200q", l)
		}
		n, err := strconv.ParseUint(m[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
		deepest = max(deepest, strings.Count(m[1], ";")+1)
	}
	return sum, deepest
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// framesOfHostile is how many frames the deepest call stack of hostile names has: semicolons in names must not make
// more.
func framesOfHostile(t *testing.T, text string) (most int) {
	t.Helper()
	for l := range strings.Lines(text) {
		if !strings.Contains(l, "descend") {
			most = max(most, strings.Count(l, ";")+1)
		}
	}
	return most
}

func TestFolded(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		want := totals(t, path)
		for _, m := range []string{"peak", "bytes", "allocations", "leaked", "temporary", "freed"} {
			text := read(t, exported(t, "folded", path, "--metric", m))
			sum, deepest := readFolded(t, text)
			if n := framesOfHostile(t, text); name == "torture" && m == "bytes" && n != 1+2*len(hostile) {
				t.Errorf("%d frames, expected main and %d of hostile names", n, 2*len(hostile))
			}
			if sum != want[m] {
				t.Errorf("%s: %d, expected %d", m, sum, want[m])
			}
			if name == "torture" && m == "bytes" && deepest != 5000 {
				t.Errorf("the deepest stack has %d frames", deepest)
			}
		}
		if name == "cc1plus" || name == "redis" {
			return // as python
		}
		for _, by := range []string{"function", "line", "address", "file", "module", "thread", "size", "allocator"} {
			if sum, _ := readFolded(t, read(t, exported(t, "folded", path, "--metric", "bytes", "--by",
				by))); sum != want["bytes"] {
				t.Errorf("by %s: %d, expected %d", by, sum, want["bytes"])
			}
		}
	})
}

// TestMallocProfiler reads the columns as MallocProfiler's README does: cut -f1,3 -d'$' | tr '$' ' '.
func TestMallocProfiler(t *testing.T) {
	each(t, func(t *testing.T, _, path string) {
		want := totals(t, path)
		text := read(t, exported(t, "folded:mallocprofiler", path))
		for column, m := range map[int]string{1: "allocations", 2: "bytes", 3: "live", 4: ""} {
			var cut strings.Builder
			for l := range strings.Lines(text) {
				parts := strings.Split(strings.TrimSuffix(l, "\n"), "$")
				if len(parts) != 5 || !strings.HasPrefix(l, "_mpTrace_;") {
					t.Fatalf("%d columns: %.200q", len(parts), l)
				}
				cut.WriteString(strings.TrimSuffix(parts[0], " ") + " " + parts[column] + "\n")
			}
			if m == "" {
				continue // the most that was ever live of a stack: these do not sum up
			}
			if sum, _ := readFolded(t, cut.String()); sum != want[m] {
				t.Errorf("%s: %d, expected %d", m, sum, want[m])
			}
		}
	})
}
