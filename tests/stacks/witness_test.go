package stacks

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
)

// What is left out: events at any instruction (timers, steps), since there the target's own malloc may be at work; and
// handlers that leave by longjmp from there (escapes).
var scenarios = []string{"exceptions", "qsort", "alloca", "realigned", "signal-stack", "signals", "longjmp",
	"coroutines", "threads", "generated", "generated-nofp", "generated-mixed", "mixed"}

var builds = [][]string{{"g++", "-O2"}, {"clang++", "-O1"}, {"g++", "-O3", "-fno-omit-frame-pointer"}}

// TestWitness records every scenario and compares each stack with what libgcc saw in place.
// STACKS_EVENTS: events of each scenario, in each build.
func TestWitness(t *testing.T) {
	events := number(t, "STACKS_EVENTS", 6000)
	compared := make(map[string]int)
	t.Run("builds", func(t *testing.T) {
		for _, build := range builds {
			t.Run(fmt.Sprint(build), func(t *testing.T) {
				need.Tool(t, build[0])
				program := witness(t, build)
				for _, s := range scenarios {
					n := compareWith(t, program, s, events)
					if n < events {
						t.Errorf("%s: %d stacks compared, want %d", s, n, events)
					}
					compared[s] += n
				}
			})
		}
	})
	for _, s := range scenarios {
		t.Logf("%-16s %8d stacks equal libgcc's", s, compared[s])
	}
}

func witness(t *testing.T, build []string) string {
	t.Helper()
	dir := t.TempDir()
	program, object, test := filepath.Join(dir, "witness"), filepath.Join(dir, "witness.o"), "../../agent/test/"
	kit.Run(t, "gcc", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-I", test, "-c", "src/witness.c", "-o", object)
	args := append(slices.Clone(build), "-Wall", "-Wextra", object, "-o", program, "-pthread")
	for _, source := range []string{"scenarios.cc", "tree.cc", "nonlocal_exits.cc", "generated.cc", "stepping.cc"} {
		args = append(args, test+source)
	}
	kit.Run(t, args...)
	return program
}

// testimony is what libgcc saw.
type testimony struct {
	addresses []uint64
	exact     bool // else more frames follow that it could not see
}

// compareWith returns the number of stacks that were found to be equal.
func compareWith(t *testing.T, program, scenario string, events int) int {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "stacks")
	_, r := record(t, dir, []string{"WITNESS=" + file}, program, scenario, fmt.Sprint(events))
	said, err := readTestimonies(file)
	if err != nil {
		t.Fatal(err)
	}
	leaf := said[1].addresses[0] // the same for all
	equal, wrong := 0, 0
	known := make(map[uint32][]uint64)
	err = r.Events(func(e *event.Event) bool {
		if e.Kind != event.Alloc || e.Func != event.Malloc || e.Stack == 0 {
			return true
		}
		got, ok := known[e.Stack]
		truncated := false
		if !ok {
			if got, truncated, err = pathOf(r, e.Stack); err != nil {
				t.Fatal(err)
			}
			if !truncated {
				known[e.Stack] = got
			}
		}
		if got[0] != leaf {
			return true
		}
		want, ok := said[uint32(e.Size)]
		delete(said, uint32(e.Size))
		same := ok && len(got) >= len(want.addresses) && slices.Equal(got[:len(want.addresses)], want.addresses)
		if same && want.exact {
			same = len(got) == len(want.addresses) && !truncated
		}
		if same {
			equal++
		} else if wrong++; wrong < 4 {
			t.Errorf("%s: the stack of event %d, known %v, truncated %v:\n%x\nlibgcc (all of it: %v):\n%x", scenario,
				e.Size, ok, truncated, got, want.exact, want.addresses)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if wrong > 0 || len(said) > 0 {
		t.Errorf("%s: %d stacks differ, %d were not recorded", scenario, wrong, len(said))
	}
	checkModules(t, r)
	return equal
}

// readTestimonies reads the witness's file: stacks by the size that was allocated there.
func readTestimonies(file string) (map[uint32]testimony, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	said := make(map[uint32]testimony)
	for len(b) >= 8 {
		size, count := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		w := testimony{exact: count>>31 == 0}
		count &^= 1 << 31
		b = b[8:]
		if uint64(len(b)) < uint64(count)*8 {
			break
		}
		for ; count > 0; count-- {
			w.addresses = append(w.addresses, binary.LittleEndian.Uint64(b))
			b = b[8:]
		}
		said[size] = w
	}
	if len(b) > 0 || len(said) == 0 {
		return nil, fmt.Errorf("%s: %d stacks, %d bytes are left over", file, len(said), len(b))
	}
	return said, nil
}

// checkModules holds the addresses that lie in a module to the place of that module.
func checkModules(t *testing.T, r *recording.Reader) {
	t.Helper()
	modules := make(map[uint32]event.Module)
	for _, m := range r.Modules() {
		modules[m.ID] = m
	}
	for id, pc := range r.PCs().All {
		if m := modules[pc.Module]; pc.Module != 0 && (pc.Addr < m.Start || pc.Addr > m.End) {
			t.Errorf("pc %d, %#x, is said to lie in %q, which is from %#x to %#x", id, pc.Addr, m.Path, m.Start, m.End)
		}
	}
}
