package exports

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// longRun writes a recording whose first events were folded: of call stacks of which only the sums are left, and of
// others.
func longRun(path string) error {
	r, err := recording.Create(path, event.Process{PID: 9, Exe: "/bin/long", Args: []string{"long"},
		Started: 1_700_000_000_000_000_000}, recording.Options{Fold: recording.Fold{Keep: 50 * time.Millisecond}})
	if err != nil {
		return err
	}
	w := &writer{Writer: r}
	w.Thread(0, event.Thread{TID: 9, Name: "long"})
	w.Module(event.Module{ID: 1, Path: "/bin/long", Start: 1 << 30, End: 2 << 30, Bias: 1 << 30, Unload: -1})
	frames := map[uint32][]event.Frame{}
	for id, name := range []string{1: "main", 2: "early", 3: "often", 4: "late"} {
		if id == 0 {
			continue
		}
		w.PC(uint32(id), event.PC{Addr: 1<<30 + uint64(id)*16, Module: 1})
		w.Node(uint32(id), event.Node{Parent: min(uint32(id)-1, 1), PC: uint32(id)})
		frames[uint32(id)] = []event.Frame{{Function: name, File: "long.c", Line: uint32(id)}}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		w.malloc(0, 2, 500)
	}
	var live []uint64
	for i := range 4_300_000 {
		if i == 4_299_900 {
			w.malloc(0, 4, 70)
		}
		if n := len(live); n > 400 || i > 1000 && n > 0 && rng.IntN(2) == 0 {
			k := rng.IntN(n)
			w.free(0, live[k], 0)
			live = slices.Delete(live, k, k+1)
		} else {
			live = append(live, w.malloc(0, 3, rng.Uint64N(10_000)))
		}
	}
	return w.finish(frames)
}

// TestFoldedEvents exports a recording of whose first events only the sums are left. Formats of sums are exact all the
// same; those that show how it came to them show what is known, with the same sums; those that need events say which
// are missing, and write nothing.
func TestFoldedEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.htap")
	if err := longRun(path); err != nil {
		t.Fatal(err)
	}
	if text := string(command(t, "report", "--top", "0", path)); !strings.Contains(text, "were folded") {
		t.Fatalf("nothing was folded: %s", text)
	}
	want := totals(t, path)
	r := pprofRaw(t, exported(t, "pprof", path))
	for i, typ := range r.types {
		if r.sums[i] != want[metricOf[typ]] {
			t.Errorf("pprof: %s %d, expected %d", typ, r.sums[i], want[metricOf[typ]])
		}
	}
	for metric := range want {
		if n := sumOfLines(t, exported(t, "folded", path, "--metric", metric),
			func(f []uint64) uint64 { return f[len(f)-1] }); n != want[metric] {
			t.Errorf("folded: %s %d, expected %d", metric, n, want[metric])
		}
	}
	for i, n := range annotate(t, exported(t, "callgrind", path), "--inclusive=yes", "PROGRAM TOTALS") {
		if m := callgrindMetrics[i]; n != want[m] {
			t.Errorf("callgrind: %s %d, expected %d", m, n, want[m])
		}
	}
	peaks := 0
	for _, s := range readMassif(t, exported(t, "massif", path)) {
		if s.tree == "peak" {
			peaks++
			if s.bytes != want["peak"] {
				t.Errorf("massif: peak %d, expected %d", s.bytes, want["peak"])
			}
		}
	}
	if peaks != 1 {
		t.Errorf("massif: %d peaks", peaks)
	}
	var f firefoxProfile
	decode(t, []byte(read(t, exported(t, "firefox", path))), &f)
	checkIndexes(t, "firefox", &f)
	checkAllocations(t, "firefox", path, &f, want)
	p := readTrace(t, []byte(read(t, exported(t, "perfetto", path))))
	if n := len(p.profiles); n == 0 || p.profiles[n-1].bytes != want["bytes"] ||
		p.profiles[n-1].freed != want["freed"] {
		t.Errorf("perfetto: %+v, expected %v", p.profiles, want)
	}
	// Its own peaks are those of single call stacks, which the recording keeps.
	if text := read(t, exported(t, "folded:mallocprofiler", path)); !strings.Contains(text, "$") {
		t.Errorf("folded:mallocprofiler: %.200q", text)
	}
	for _, format := range []string{"dhat", "heaptrack", "csv:events", "firefox:blocks"} {
		to := filepath.Join(t.TempDir(), "out")
		out, err := exec.Command(heaptap, "export", "-f", format, "-o", to, path).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "this needs events before 4.") {
			t.Errorf("%s: %v: %s", format, err, out)
		}
		if _, err := os.Stat(to); err == nil {
			t.Errorf("%s: left a file", format)
		}
	}
}
