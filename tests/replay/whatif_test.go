package replay

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/replay"
	"github.com/heaptap/heaptap/tests/kit"
)

// replayed is what heaptap replay --json prints, as far as the test needs it.
type replayed struct {
	Calls    uint64
	PeakLive uint64 `json:"peak_live_bytes"`
	WhatIf   *struct {
		Calls    uint64
		PeakLive uint64 `json:"peak_live_bytes"`
	} `json:"what_if"`
	Allocators []struct {
		WhatIf   bool          `json:"what_if"`
		CPU      replay.Spread `json:"cpu_ns"`
		TouchAll struct {
			Peak replay.Spread `json:"peak_rss_bytes"`
		} `json:"touch_all"`
	}
}

// TestWhatIf: what a replay says of a change is what the program does that was changed so: its calls, and its peaks of
// live bytes and of the resident set within 10 %. Times are compared where nothing else runs: RANKING=1.
func TestWhatIf(t *testing.T) {
	program := kit.Compile(t, "g++", "-O1", "-g", "src/changes.cc")
	for _, c := range []struct{ name, change string }{
		{"temporaries", "drop-temporaries=^parse"},
		{"reserve", "reserve=^read_document"},
		{"pool", "pool=^make_node"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			before, after := filepath.Join(dir, "before.htap"), filepath.Join(dir, "after.htap")
			kit.Heaptap(t, "run", "-q", "-o", before, "--", program, c.name, "before")
			kit.Heaptap(t, "run", "-q", "-o", after, "--", program, c.name, "after")
			ask := func(words ...string) (r replayed) {
				words = append([]string{"replay", "--json", "--allocators", "glibc", "--touch", "all", "--runs", "1"},
					words...)
				if err := json.Unmarshal([]byte(kit.Heaptap(t, words...)), &r); err != nil {
					t.Fatal(err)
				}
				return r
			}
			said, is := ask("--what-if", c.change, before), ask(after)
			if said.WhatIf == nil || len(said.Allocators) != 2 || !said.Allocators[1].WhatIf {
				t.Fatalf("%+v", said)
			}
			near := func(what string, got, want, base float64) {
				t.Logf("%s: before %.0f, what if %.0f, after %.0f", what, base, got, want)
				if math.Abs(got-want) > want/10 {
					t.Errorf("%s: what if %.0f, and of the changed program %.0f", what, got, want)
				}
			}
			near("calls", float64(said.WhatIf.Calls), float64(is.Calls), float64(said.Calls))
			near("peak", said.Allocators[1].TouchAll.Peak.Median, is.Allocators[0].TouchAll.Peak.Median,
				said.Allocators[0].TouchAll.Peak.Median)
			if os.Getenv("RANKING") == "" {
				return
			}
			// A shared machine is now faster, now slower, for tenths of a second. So what counts are quotients of what
			// ran in the same round, and there are many rounds.
			usage := kit.Compile(t, "gcc", "-O1", "src/usage.c")
			// Parts of the program's time: the replay's, and the changed program's; of the replay's: the changed
			// replay's.
			var part, changed, kept []float64
			for range 45 {
				_, bare := run(t, usage, replay.Allocator{}, words(program, c.name, "before"))
				_, edited := run(t, usage, replay.Allocator{}, words(program, c.name, "after"))
				list := ask("--what-if", c.change, before).Allocators
				part = append(part, list[0].CPU.Median/bare)
				kept = append(kept, list[1].CPU.Median/list[0].CPU.Median)
				changed = append(changed, edited/bare)
			}
			would, has := 1-middle(part)*(1-middle(kept)), middle(changed)
			t.Logf("time: what if %.3f of that before, and it is %.3f: %.3f times as much", would, has, would/has)
			if math.Abs(would/has-1) > 0.1 {
				t.Errorf("time: what if %.3f of that before, and it is %.3f", would, has)
			}
		})
	}
}
