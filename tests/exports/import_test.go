package exports

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/recording"
)

// TestImportHeaptrack exports recordings and imports what comes of that: what heaptrack's form holds is the same again.
func TestImportHeaptrack(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		want := totals(t, path)
		for _, variant := range []string{"heaptrack", "heaptrack:gz", "heaptrack:plain"} {
			back := filepath.Join(t.TempDir(), "back.htap")
			command(t, "import", "-o", back, heaptrackFile(t, variant, path))
			if name != "torture" { // which has two modules at one address; heaptrack's format does not say when
				command(t, "verify", back)
			}
			got := totals(t, back)
			for _, m := range []string{"allocations", "deallocations", "bytes", "freed", "peak", "peak-blocks",
				"leaked", "leaked-blocks"} {
				if got[m] != want[m] {
					t.Errorf("%s: %s %d, was %d", variant, m, got[m], want[m])
				}
			}
			if was, is := peakTime(t, path), peakTime(t, back); is != was/1e6*1e6 {
				t.Errorf("%s: peak after %d ns, was %d", variant, is, was)
			}
			if variant != "heaptrack" {
				continue // it is only packed otherwise
			}
			before, after := topByFunction(t, path), topByFunction(t, back)
			compared := 0
			for name, row := range after {
				if row.Total["allocations"] == 0 || before[name].Total == nil {
					continue
				}
				compared++
				// But temporary, which threads make different.
				for _, m := range callgrindMetrics[:len(callgrindMetrics)-1] {
					if row.Total[m] != before[name].Total[m] {
						t.Errorf("%s: %.200s: %s %d, was %d", variant, name, m, row.Total[m], before[name].Total[m])
					}
				}
			}
			if compared*2 < len(after) && name != "one" {
				t.Errorf("%s: only %d of %d functions compared", variant, compared, len(after))
			}
		}
	})
}

// peakTime is the time of the peak, in ns, as heaptap report has it.
func peakTime(t *testing.T, path string) uint64 {
	t.Helper()
	var report struct {
		Peak struct {
			Time uint64 `json:"time_ns"`
		}
	}
	decode(t, command(t, "report", "--json", path), &report)
	return report.Peak.Time
}

// TestImportRealHeaptrack imports what heaptrack itself recorded: heaptrack_print has the same numbers.
func TestImportRealHeaptrack(t *testing.T) {
	if _, err := recorded(); err != nil { // which compiles the program
		t.Fatal(err)
	}
	base := filepath.Join(t.TempDir(), "real")
	if out, err := exec.Command("heaptrack", "-o", base, filepath.Join(dir, "four")).CombinedOutput(); err != nil {
		t.Fatalf("heaptrack: %v\n%s", err, out)
	}
	found, err := filepath.Glob(base + "*")
	if err != nil || len(found) != 1 {
		t.Fatalf("%v %q", err, found)
	}
	back := base + ".htap"
	command(t, "import", "-o", back, found[0])
	got := totals(t, back)
	got["leaked"] = got["live"] // heaptrack does not know the runtime's blocks
	for _, kind := range []string{"leaked", "peak"} {
		for m, n := range heaptrackPrint(t, found[0], kind) {
			if n == 0 || got[m] != n {
				t.Errorf("%s: %d, heaptrack_print %d", m, got[m], n)
			}
		}
	}
}

// TestImportBroken gives import what it cannot read: it says where, and leaves nothing behind.
func TestImportBroken(t *testing.T) {
	const head = "v 10400 3\nX a b\ns 1 f\ni 10 0 1 0 0\nt 1 0\na 8 1\n"
	for text, want := range map[string]string{
		"":                           "unknown format",
		"no: format\n":               "unknown format",
		"v 10400 4\nX a\n":           "line 1: version 4",
		"v 10400 3\n+ 0\n":           "line 2",
		"v 10400 3\nX a\nm /lib 0\n": "line 3: this is raw data of heaptrack",
		head + "+ 1\n":               "line 7: allocation 1 of 1",
		head + "+ 0\n- 0\n- 0\n":     "line 9: more deallocations",
		head + "t 2 0\n":             "line 7: address 2 of 1",
		head + "t 1 2\n":             "line 7: caller's stack 2 of 1",
		head + "a 8 2\n":             "line 7: call stack 2 of 1",
		head + "s 9 f\n":             "line 7: a name of",
		head + "i 10 2\n":            "line 7: name 2 of 1",
		head + "i 10 0 1 1 1 1\n":    "line 7: a frame needs",
		head + "+ z\n":               "line 7",
		head + "? 1\n":               "line 7",
		"\x1f\x8b":                   "in:",
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "in")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(heaptap, "import", "-o", filepath.Join(dir, "out.htap"), file).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%q: %v: %s; expected %q", text, err, out, want)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("%q: left behind %v %v", text, left, err)
		}
	}
}

// roundTrips are formats that come back, and what they carry. Numbers of blocks that a format does not contain are not
// compared. Formats made of events have all that was never freed, what the runtime keeps included: "live"; so that of
// pprof, which has what was leaked without that, counts the rest as freed.
var roundTrips = []struct {
	format  string
	flags   []string
	metrics []string // in sum
	by      []string // also function by function
}{
	{"pprof", nil, []string{"allocations", "bytes", "deallocations:not leaked", "freed:not leaked-bytes", "peak",
		"peak-blocks", "leaked", "leaked-blocks", "temporary", "temporary-bytes"},
		[]string{"allocations", "bytes", "peak", "leaked", "temporary"}},
	{"folded", []string{"--metric", "peak"}, []string{"peak"}, []string{"peak"}},
	{"folded", []string{"--metric", "leaked"}, []string{"leaked", "peak:leaked"}, []string{"leaked"}},
	{"folded", []string{"--metric", "bytes"}, []string{"bytes"}, []string{"bytes"}},
	{"folded:mallocprofiler", nil, []string{"allocations", "bytes", "live"}, []string{"allocations", "bytes"}},
	{"speedscope", nil, []string{"allocations", "bytes", "peak", "leaked", "temporary"},
		[]string{"allocations", "bytes", "peak", "leaked", "temporary"}},
	{"massif", nil, []string{"peak", "live"}, nil},
	{"dhat", nil, []string{"allocations", "bytes", "deallocations", "freed", "peak", "peak-blocks", "live",
		"live-blocks"}, []string{"allocations", "bytes", "peak"}},
}

// TestRoundTrips exports recordings and imports what comes of that: what the list of formats promises is the same
// again.
func TestRoundTrips(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		if name == "empty" {
			return // there is nothing to compare
		}
		want, before := totals(t, path), topByFunction(t, path)
		want["not leaked"] = want["deallocations"] + want["live-blocks"] - want["leaked-blocks"]
		want["not leaked-bytes"] = want["freed"] + want["live"] - want["leaked"]
		for _, r := range roundTrips {
			file := exported(t, r.format, path, r.flags...)
			if st, err := os.Stat(file); err == nil && st.Size() == 0 {
				continue // of a metric that is 0 everywhere
			}
			back := filepath.Join(t.TempDir(), "back.htap")
			command(t, "import", "-o", back, file)
			command(t, "verify", back)
			got := totals(t, back)
			for _, m := range r.metrics {
				to, from, two := strings.Cut(m, ":")
				if !two {
					from = to
				}
				if got[to] != want[from] {
					t.Errorf("%s %q: %s %d, was %s %d", r.format, r.flags, to, got[to], from, want[from])
				}
			}
			after := topByFunction(t, back)
			compared := 0
			for function, row := range after {
				was := before[function].Total
				if was == nil || strings.HasSuffix(function, " 12") { // which folded stacks write with _
					continue
				}
				compared++
				for _, m := range r.by {
					if row.Total[m] != was[m] {
						t.Errorf("%s %q: %.200s: %s %d, was %d", r.format, r.flags, function, m, row.Total[m], was[m])
					}
				}
			}
			if r.by != nil && compared*2 < len(after) && name != "one" && name != "torture" {
				t.Errorf("%s: only %d of %d functions compared", r.format, compared, len(after))
			}
			if name != "four" {
				continue
			}
			// The same without a recording in between.
			direct := totals(t, file)
			for m, n := range got {
				if direct[m] != n {
					t.Errorf("%s, directly: %s %d, imported %d", r.format, m, direct[m], n)
				}
			}
		}
	})
}

// TestImportThreads exports threads as labels and imports them: each has allocated what it had.
func TestImportThreads(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		sums := func(path string) map[string][2]uint64 {
			r, err := recording.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			sum, err := r.Tally()
			if err != nil {
				t.Fatal(err)
			}
			list := map[string][2]uint64{}
			for i, th := range sum.Threads {
				if who := r.Threads()[i]; th.Allocations > 0 {
					// Control characters are escaped.
					key := fmt.Sprint(printable(strings.ToValidUTF8(who.Name, "?")), " ", who.TID)
					list[key] = [2]uint64{list[key][0] + th.Allocations, list[key][1] + th.Bytes}
				}
			}
			return list
		}
		back := filepath.Join(t.TempDir(), "back.htap")
		command(t, "import", "-o", back, exported(t, "pprof", path, "--by", "thread"))
		command(t, "verify", back)
		if got, want := sums(back), sums(path); !maps.Equal(got, want) {
			t.Errorf("%v, was %v", got, want)
		}
	})
}
