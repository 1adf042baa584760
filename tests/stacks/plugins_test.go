package stacks

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/programs"
)

// TestPlugins loads two plugins in turn, 1,000 times, for several threads that allocate through them.
// STACKS_ROUNDS: how often.
func TestPlugins(t *testing.T) {
	rounds := number(t, "STACKS_ROUNDS", 1000)
	t.Run("shared", func(t *testing.T) { testPlugins(t, "shared", rounds, 4, 2) })
	t.Run("apart", func(t *testing.T) { testPlugins(t, "apart", rounds/4, 4, 8) })
}

// key is a function of one file.
type key struct{ file, function string }

type amount struct{ allocations, bytes uint64 }

func testPlugins(t *testing.T, mode string, rounds, threads, plugins int) {
	dir := t.TempDir()
	program := filepath.Join(dir, "plugins")
	kit.Run(t, "gcc", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "src/plugins.c", "-o", program, "-pthread", "-ldl")
	args := []string{program, mode, fmt.Sprint(rounds), fmt.Sprint(threads)}
	for i := range plugins {
		name := string(rune('a' + i))
		file := filepath.Join(dir, "plugin_"+name+".so")
		kit.Run(t, "gcc", "-O2", "-g", "-fPIC", "-shared", "-Wl,--build-id", "-DFUNCTION=make_"+name,
			`-DNAME="`+name+`"`, "src/plugin.c", "-o", file)
		args = append(args, file, "make_"+name, fmt.Sprint(3+2*i))
	}
	stdout, r := record(t, dir, nil, args...)
	truth := make(map[key]amount)
	var same, loads int
	for line := range strings.Lines(string(stdout)) {
		var k key
		var a amount
		if _, err := fmt.Sscanf(line, "same %d of %d", &same, &loads); err == nil {
			continue
		}
		if _, err := fmt.Sscan(line, &k.file, &k.function, &a.allocations, &a.bytes); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		truth[k] = a
	}
	if len(truth) != plugins || loads == 0 || !bytes.Contains(stdout, []byte("same ")) {
		t.Fatalf("the program said %q", stdout)
	}
	t.Logf("%d loadings, %d of them at the address of the one before", loads, same)
	if same < loads/2 {
		t.Errorf("only %d of %d plugins took the place of the one before", same, loads)
	}

	report, err := (&programs.Kit{Heaptap: kit.Binary(t)}).Report(filepath.Join(dir, "run.htap"))
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[key]amount)
	for _, s := range report.Stacks {
		for _, f := range s.Frames {
			if strings.HasPrefix(f.Function, "make_") || strings.Contains(f.Module, "plugin_") {
				k := key{f.Module, f.Function}
				got[k] = amount{got[k].allocations + s.Allocations, got[k].bytes + s.Bytes}
			}
		}
	}
	for k, want := range truth {
		if got[k] != want {
			t.Errorf("%s in %s: %+v reported, want %+v", k.function, filepath.Base(k.file), got[k], want)
		}
		delete(got, k)
		t.Logf("%s: %d allocations, %d bytes", k.function, want.allocations, want.bytes)
	}
	for k, a := range got {
		t.Errorf("%+v reported of %s in %s", a, k.function, k.file)
	}
	checkModules(t, r)
	checkTimes(t, r, loads)
}

// checkTimes holds every allocation through a plugin to the time that this loading of the plugin lasted, and loadings
// at one place to lasting one after another.
func checkTimes(t *testing.T, r *recording.Reader, loads int) {
	modules := make(map[uint32]event.Module)
	seen := 0
	for _, m := range r.Modules() {
		if !strings.Contains(m.Path, "plugin_") {
			continue
		}
		again := false
		if m.Unload < 0 {
			t.Errorf("%s, loaded at %d, was never unloaded", m.Path, m.Loaded)
		}
		for _, o := range modules {
			if m.Start >= o.End || o.Start >= m.End || m.Loaded >= o.Unload || o.Loaded >= m.Unload {
				continue
			}
			if m.Path == o.Path && m.Start == o.Start {
				again = true // threads met this loading at the same moment; all ids that it got are right
				continue
			}
			t.Errorf("%s at %#x (%d to %d ns) and %s at %#x (%d to %d ns) lie in the same place at once", m.Path,
				m.Start, m.Loaded, m.Unload, o.Path, o.Start, o.Loaded, o.Unload)
		}
		if !again {
			seen++
		}
		modules[m.ID] = m
	}
	if seen != loads {
		t.Errorf("%d loadings of plugins recorded, want %d", seen, loads)
	}
	wrong, events := 0, 0
	err := r.Events(func(e *event.Event) bool {
		if e.Kind != event.Alloc || e.Stack == 0 {
			return true
		}
		node, _ := r.Nodes().Get(e.Stack)
		pc, _ := r.PCs().Get(node.PC)
		m, ok := modules[pc.Module]
		if !ok {
			return true
		}
		events++
		// Events are kept in units of 100 ns.
		if e.Time+100 < m.Loaded || e.Time > m.Unload {
			if wrong++; wrong < 4 {
				t.Errorf("an allocation at %d ns through %s, which was loaded from %d to %d ns", e.Time, m.Path,
					m.Loaded, m.Unload)
			}
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if events == 0 || wrong > 0 {
		t.Errorf("%d of %d allocations through plugins lie outside of their plugin's time", wrong, events)
	}
}
