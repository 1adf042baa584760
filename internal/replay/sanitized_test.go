package replay

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/tests/need"
)

// sanitize puts a player with gcc's sanitizers in the place of p's.
func sanitize(t testing.TB, p *Player, sanitizers string) {
	t.Helper()
	gcc := need.Tool(t, "gcc")
	const from = "../../agent/player/"
	out, err := exec.Command(gcc, "-O1", "-g", "-std=gnu11", "-D_GNU_SOURCE", "-Dplayer_main=main",
		"-fsanitize="+sanitizers, "-fno-sanitize-recover=undefined", from+"player.c", from+"calls.c", "-o",
		filepath.Join(p.dir, "heaptap-player"), "-pthread").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func sanitizerOptions(t *testing.T) {
	t.Setenv("ASAN_OPTIONS", "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=1024")
	t.Setenv("TSAN_OPTIONS", "allocator_may_return_null=1")
}

// findsNothing: the sanitizers report nothing, but that a plan has a block freed twice.
func findsNothing(t *testing.T, cmd *exec.Cmd, _ error) {
	t.Helper()
	said := cmd.Stderr.(*bytes.Buffer).String()
	if strings.Contains(said, "attempting double-free") {
		return
	}
	for _, sign := range []string{"ERROR: AddressSanitizer", "runtime error:"} {
		if strings.Contains(said, sign) {
			t.Error(said[:min(len(said), 4000)])
			return
		}
	}
}

// TestSanitized plays good plans and damaged ones under AddressSanitizer and UndefinedBehaviorSanitizer.
func TestSanitized(t *testing.T) {
	sanitizerOptions(t)
	const threads, n = 4, 3000
	for name, changes := range map[string][]Change{"recorded": nil, "pools": everywhere(InPool)} {
		plan, p := prepareThreads(t, program(9, threads, n), exiting(threads, n),
			Options{Order: Window, To: math.MaxUint64, Changes: changes})
		sanitize(t, p, "address,undefined")
		good(t, name, plan, p)
		damagePlans(t, plan, p, TouchNone, 30, findsNothing)
	}
	plan, p, _ := withPages(t)
	sanitize(t, p, "address,undefined")
	good(t, "pages", plan, p)
	damagePlans(t, plan, p, TouchRecorded, 30, findsNothing)
}

// TestRaces plays plans of several threads under ThreadSanitizer.
func TestRaces(t *testing.T) {
	sanitizerOptions(t)
	const threads, n = 6, 4000
	for _, order := range []Order{Window, Total, Free} {
		plan, p := prepareThreads(t, program(5, threads, n), exiting(threads, n),
			Options{Order: order, To: math.MaxUint64})
		sanitize(t, p, "thread")
		good(t, string(order), plan, p)
	}
}

// good plays a plan, and expects that it ends well, and that the sanitizers report nothing.
func good(t *testing.T, name string, plan *Plan, p *Player) {
	t.Helper()
	for _, m := range []mode{modeTime, modeLatency, modeMemory} {
		words, err := p.Once(plan)
		if err != nil {
			t.Fatal(err)
		}
		words[3] = string(m)
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v: %s", name, m, err, out)
		}
	}
}

// FuzzPlan plays anything as a plan, under sanitizers.
func FuzzPlan(f *testing.F) {
	dir := f.TempDir()
	p, err := NewPlayer(dir)
	if err != nil {
		f.Fatal(err)
	}
	sanitize(f, p, "address,undefined")
	for i, changes := range [][]Change{nil, everywhere(InPool)} {
		for _, order := range []Order{Window, Total} {
			r := recordThreads(f, program(uint64(i), 3, 300), exiting(3, 300), event.Process{PID: 100})
			plan, err := Make(f.Context(), r, filepath.Join(dir, fmt.Sprintf("%s-%d", order, i)),
				Options{Order: order, To: math.MaxUint64, Changes: changes})
			if err != nil {
				f.Fatal(err)
			}
			b, err := os.ReadFile(plan.Path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		sanitizerOptions(t)
		for _, touch := range []Touch{TouchNone, TouchRecorded} {
			_, _ = playBytes(t, p, b, touch, findsNothing)
		}
	})
}
