package exports

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// metricOf are the metrics behind pprof's names.
var metricOf = map[string]string{"alloc_objects": "allocations", "alloc_space": "bytes", "inuse_objects": "live-blocks",
	"inuse_space":  "live",
	"peak_objects": "peak-blocks", "peak_space": "peak", "leaked_objects": "leaked-blocks", "leaked_space": "leaked",
	"temporary_objects": "temporary", "temporary_space": "temporary-bytes"}

var sample = regexp.MustCompile(`^( *\d+)+: [\d ]*\n?$`)

// raw is what go tool pprof -raw prints of a profile.
type raw struct {
	types     []string
	sums      []uint64
	deepest   int
	labels    map[string]uint64 // by label: the sum of the first value
	addresses map[uint64]bool
	text      string
}

// buildPprof gives what go tool pprof starts. The go command itself takes several times as long to start.
var buildPprof = sync.OnceValues(func() (string, error) {
	_ = exec.Command("go", "tool", "pprof", "-h").Run() // builds it
	path, err := output("go", "tool", "-n", "pprof")
	return strings.TrimSpace(string(path)), err
})

func thePprof(t *testing.T) string {
	t.Helper()
	path, err := buildPprof()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func pprofRaw(t *testing.T, path string) *raw {
	t.Helper()
	text := string(tool(t, thePprof(t), "-symbolize=none", "-raw", path))
	_, rest, ok := strings.Cut(text, "\nSamples:\n")
	head, rest, ok2 := strings.Cut(rest, "\n")
	samples, rest, ok3 := strings.Cut(rest, "Locations\n")
	locations, _, _ := strings.Cut(rest, "Mappings\n")
	if !ok || !ok2 || !ok3 {
		t.Fatalf("%.2000s", text)
	}
	r := &raw{labels: map[string]uint64{}, addresses: map[uint64]bool{}, text: text}
	for _, name := range strings.Fields(head) {
		name, _, _ = strings.Cut(name, "/")
		r.types = append(r.types, name)
	}
	r.sums = make([]uint64, len(r.types))
	var first uint64
	for line := range strings.Lines(samples) {
		values, path, _ := strings.Cut(line, ": ")
		fields := strings.Fields(values)
		if !sample.MatchString(line) { // labels of the sample before
			r.labels[strings.TrimSpace(line)] += first
			continue
		}
		r.deepest = max(r.deepest, len(strings.Fields(path)))
		for i, f := range fields {
			n, err := strconv.ParseUint(f, 10, 64)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if r.sums[i] += n; i == 0 {
				first = n
			}
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^ +\d+: 0x([0-9a-f]+)`).FindAllStringSubmatch(locations, -1) {
		a, _ := strconv.ParseUint(m[1], 16, 64)
		r.addresses[a] = true
	}
	return r
}

// begin is the time at which a profile says that it begins.
func (r *raw) begin(t *testing.T) time.Time {
	t.Helper()
	m := regexp.MustCompile(`(?m)^Time: (.*)$`).FindStringSubmatch(r.text)
	if m == nil {
		t.Fatalf("no time in %.2000s", r.text)
	}
	at, err := time.Parse("2006-01-02 15:04:05.999999999 -0700 MST", m[1])
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestPprof has go tool pprof read profiles.
func TestPprof(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		want := totals(t, path)
		r := pprofRaw(t, exported(t, "pprof", path))
		if len(r.types) != len(metricOf) {
			t.Errorf("types %q", r.types)
		}
		for i, typ := range r.types {
			if m := metricOf[typ]; m == "" || r.sums[i] != want[m] {
				t.Errorf("%s: %d, expected %d", typ, r.sums[i], want[m])
			}
		}
		checkAddresses(t, path, r)
		if name == "torture" && r.deepest != 5000 {
			t.Errorf("the deepest sample has %d locations", r.deepest)
		}
		if name == "torture" && !strings.Contains(r.text, "01abcd") {
			t.Error("no build id")
		}
		if name == "four" && !strings.Contains(r.text, "produce") {
			t.Error("no function names")
		}
	})
}

// checkAddresses holds that locations are calls: one byte before where the report's frames return to.
func checkAddresses(t *testing.T, path string, r *raw) {
	t.Helper()
	var report struct {
		Stacks []struct{ Frames []int }
		Frames []struct{ Address string }
	}
	decode(t, command(t, "report", "--json", path), &report)
	calls := map[uint64]bool{}
	for _, s := range report.Stacks {
		for _, n := range s.Frames {
			a, err := strconv.ParseUint(report.Frames[n].Address, 0, 64)
			if err != nil {
				t.Fatal(err)
			}
			calls[a-1] = true
		}
	}
	for a := range r.addresses {
		if a != 0 && !calls[a] {
			t.Errorf("location %#x is no call", a)
		}
	}
	if len(r.addresses) < len(calls) {
		t.Errorf("%d locations of %d calls", len(r.addresses), len(calls))
	}
}

// TestPprofThreads asks for threads, and for a moment.
func TestPprofThreads(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		want := totals(t, path)
		r := pprofRaw(t, exported(t, "pprof", path, "--by", "thread", "--metric", "bytes,live", "--at", "peak"))
		if fmt.Sprint(r.types) != "[alloc_space inuse_space]" {
			t.Errorf("types %q", r.types)
		}
		if r.sums[0] != want["bytes"] || r.sums[1] != want["peak"] {
			t.Errorf("%d, expected %d %d", r.sums, want["bytes"], want["peak"])
		}
		all := uint64(0)
		for label, n := range r.labels {
			switch {
			case strings.HasPrefix(label, "thread:["):
				all += n
			case !strings.HasPrefix(label, "thread_id:["):
				t.Errorf("label %q", label)
			}
		}
		if all != want["bytes"] {
			t.Errorf("threads have %d of %d bytes: %v", all, want["bytes"], r.labels)
		}
		if name == "four" && len(r.labels) != 2*4 { // the fourth thread only frees
			t.Errorf("%d threads: %v", len(r.labels), r.labels)
		}
	})
}
