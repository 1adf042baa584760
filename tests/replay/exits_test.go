package replay

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/replay"
	"github.com/heaptap/heaptap/tests/kit"
)

// lives is when the threads of src/turns.c returned from their functions, and when they had been joined.
type lives struct {
	returned, joined []int64
	peak             float64 // of the resident set, above what it was before
}

func livesOf(t *testing.T, out string) (l lives) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, line := range lines[:len(lines)-1] {
		var a, b int64
		if _, err := fmt.Sscan(line, &a, &b); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		l.returned, l.joined = append(l.returned, a), append(l.joined, b)
	}
	if _, err := fmt.Sscan(lines[len(lines)-1], &l.peak); err != nil {
		t.Fatal(err)
	}
	return l
}

// alive is the largest number of threads besides the main one that a recording says lived at once.
func alive(r *recording.Reader) int {
	type change struct {
		time int64
		by   int
	}
	var list []change
	for _, th := range r.Threads() {
		if th.TID == uint32(r.Process().PID) {
			continue
		}
		list = append(list, change{th.Start, 1})
		if at := th.Ended(); at != nil {
			list = append(list, change{*at, -1})
		}
	}
	slices.SortFunc(list, func(a, b change) int { return int(a.time - b.time) })
	n, most := 0, 0
	for _, c := range list {
		n += c.by
		most = max(most, n)
	}
	return most
}

// TestExits: threads end in the recording when the program says that they did, and in a replay where they ended in the
// recorded order: so as many live at once, and the allocator's memory is as large as the program's.
func TestExits(t *testing.T) {
	program := kit.Compile(t, "gcc", "-O1", "-g", "src/turns.c", "-pthread")
	for _, c := range []struct {
		name   string
		args   []string
		atOnce int
	}{
		// So many blocks that the kernel's counters, which are hundreds of KB off for each processor, do not matter.
		{"one after another", []string{"200", "1", "0", "12000"}, 1},
		{"all at once", []string{"24", "24", "100000", "1500"}, 24},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, r := kit.Record(t, append([]string{program}, c.args...)...)
			said := livesOf(t, out)
			var ended []event.Thread
			for _, th := range r.Threads() {
				if th.Ended() != nil {
					ended = append(ended, th)
				} else if th.TID != uint32(r.Process().PID) {
					t.Errorf("thread %d has no end", th.TID)
				}
			}
			if len(ended) != len(said.returned) {
				t.Fatalf("%d threads ended, want %d", len(ended), len(said.returned))
			}
			// The two clocks begin at different moments: the earliest sign of the difference is about right.
			slices.SortFunc(ended, func(a, b event.Thread) int { return int(a.End - b.End) })
			slices.Sort(said.returned)
			slices.Sort(said.joined)
			begin := int64(math.MaxInt64)
			for i := range ended {
				begin = min(begin, ended[i].End-said.returned[i])
			}
			const slack = 200_000 // the clocks run up to 0.02 % apart
			latest := int64(0)
			for i := range ended {
				at := ended[i].End - begin
				latest = max(latest, at-said.returned[i])
				if at > said.joined[i]+slack {
					t.Errorf("exit %d: recorded %d ns after the thread returned, and it was joined after %d ns", i,
						at-said.returned[i], said.joined[i]-said.returned[i])
				}
			}
			t.Logf("recorded up to %d ns after the threads returned", latest)

			again := played(t, r, replay.Options{Order: replay.Window})
			most, want := alive(again), alive(r)
			t.Logf("%d threads at once in the recording, %d in the replay", want, most)
			if c.atOnce == 1 && (want != 1 || most != 1) || most > want || want > c.atOnce {
				t.Errorf("%d threads lived at once in the replay, %d in the recording, %d in the program", most, want,
					c.atOnce)
			}

			// The resident set of the program itself, without the agent's.
			var peaks []float64
			for range 3 {
				peaks = append(peaks, livesOf(t, kit.Run(t, append([]string{program}, c.args...)...)).peak)
			}
			bare := middle(peaks)
			path := filepath.Join(t.TempDir(), "turns.htap")
			kit.Heaptap(t, append([]string{"run", "-q", "-o", path, "--", program}, c.args...)...)
			var got replayed
			if err := json.Unmarshal([]byte(kit.Heaptap(t, "replay", "--json", "--allocators", "glibc", "--touch",
				"all", "--runs", "3", path)), &got); err != nil {
				t.Fatal(err)
			}
			peak := got.Allocators[0].TouchAll.Peak.Median
			t.Logf("peak: program %.0f, replay %.0f", bare, peak)
			if math.Abs(peak-bare) > max(0.15*bare, 600<<10) {
				t.Errorf("the replay's peak is %.0f bytes, the program's %.0f", peak, bare)
			}
		})
	}
}
