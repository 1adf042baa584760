package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// made returns results with known numbers: W1 takes 10 ns bare and 12 in the shim.
func made() *results {
	r := newResults([]string{"something (why)"})
	r.workloads = []workload{
		{name: "W1", what: "loop", pairs: 100, threads: 1, unit: perPair, added: true},
		{name: "W1 on 2 threads", what: "two", pairs: 50, threads: 2, unit: perPair, added: true},
		{name: "cc1plus", what: "compiler"},
	}
	r.variants = []variant{{name: bare}, {name: shim}, {name: exact, class: ours}, {name: sampled, class: ours},
		{name: heaptrackName, class: rival, tenth: true}, {name: "jemalloc"}, {name: "jemalloc, lg 19", class: rival,
			base: "jemalloc"}, {name: sketch, class: reference}}
	set := func(workload, variant string, units float64, ns ...float64) {
		if r.samples[workload] == nil {
			r.samples[workload] = map[string][]sample{}
		}
		for _, v := range ns {
			r.samples[workload][variant] = append(r.samples[workload][variant], sample{cpuNs: v * units, units: units})
		}
	}
	set("W1", bare, 100, 10, 11, 9)
	set("W1", shim, 100, 12, 12, 13)
	set("W1", exact, 100, 30, 31, 32)
	set("W1", sketch, 100, 37, 37, 38)
	set("W1", sampled, 100, 12.5, 12.5, 13.5)
	set("W1", heaptrackName, 10, 252, 252)
	set("W1", "jemalloc", 100, 20)
	set("W1", "jemalloc, lg 19", 100, 23)
	set("W1 on 2 threads", exact, 100, 36, 31, 32)
	set("cc1plus", bare, 1, 2e9, 2e9)
	set("cc1plus", shim, 1, 2e9, 2e9)
	set("cc1plus", exact, 1, 2.2e9, 2.2e9)
	r.samples["cc1plus"][heaptrackName] = []sample{{failed: "crashes"}, {failed: "crashes"}}
	return r
}

// hasLines checks that a page has some texts.
func hasLines(t *testing.T, page string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(page, line) {
			t.Errorf("the page has no %q", line)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}

func TestPage(t *testing.T) {
	r := made()
	r.script = &script{bare: []sample{{wall: 2, cpuNs: 2e9}, {wall: 2, cpuNs: 2e9}, {wall: 3, cpuNs: 3e9}},
		recorded: []sample{{wall: 3, cpuNs: 3e9}, {wall: 2.5, cpuNs: 2.5e9}, {wall: 4.5, cpuNs: 4.5e9}}}
	page := r.page("docs/performance.md", slowUnmeasured, bigUnmeasured, "")
	hasLines(t, page,
		"| W1 | 10.0 ns | 12.0 ns | +19.0 ns | +0.5 ns | +240.0 ns | 20.0 ns | +3.0 ns | +25.0 ns |",
		"| cc1plus | 2.00 s | 2.00 s | 1.10x | - | crashes 2 of 2 | - | - | - |",
		"| W1 | exact | +15.0 ns | +12.0 ns | **+19.0 ns ± 0.2 ns** |",
		"| W1 | exact | 0.75x of what the sketch adds | 0.75x of what the sketch adds | **0.76x of what the sketch "+
			"adds ± 0.01** |",
		"| W1 | sampled | +2.0 ns | +1.0 ns | +0.5 ns ± 0.0 ns |",
		"| W1 on 2 threads | exact | 1.50x of W1's CPU per pair | 1.20x of W1's CPU per pair | 1.00x of W1's CPU per "+
			"pair ± 0.05 |",
		"| cc1plus | exact | 1.25x | 1.15x | 1.10x ± 0.00 |",
		"| a script of 80 short commands: wall time | exact | 1.30x | 1.30x | **1.50x ± 0.06** |",
		"It takes 2.00 s alone, and 3.00 s with `heaptap run`",
		"W1 12.6x.",
		"| exact | 31.0 ns | 1.00x |",
		"(performance/loops.svg)",
		"Not measured here: something (why).",
		"Not measured yet: `make bench-rivals`.",
		"Not measured yet: `make bench-big`.",
	)
	if strings.Contains(page, "| W2 | exact") {
		t.Error("a goal of a workload that was not measured")
	}
}

// Each of the two runs leaves the other's part of the page unchanged.
func TestSlowSection(t *testing.T) {
	out := filepath.Join(t.TempDir(), "performance.md")
	write := func(slow bool) string {
		t.Helper()
		if _, err := made().write(out, slow); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := write(false)
	second := write(true)
	third := write(false)
	if second != third {
		t.Errorf("make bench has changed the section on slow rivals:\n%s\nit was:\n%s", third, second)
	}
	if withSection(second, slowHeading, slowUnmeasured) != first {
		t.Errorf("make bench-rivals has changed more than its section:\n%s\nit was:\n%s", second, first)
	}
	if strings.Count(second, slowHeading) != 1 || strings.Contains(second, slowUnmeasured) {
		t.Errorf("not one section on slow rivals:\n%s", second)
	}
	big := bigHeading + "\nwhat it says\n\n"
	if err := writeSection(out, bigHeading, big); err != nil {
		t.Fatal(err)
	}
	if got, want := write(false), withSection(third, bigHeading, big); got != want {
		t.Errorf("make bench has changed the section on a big recording:\n%s\nit was:\n%s", got, want)
	}
	for _, name := range []string{"loops.svg", "threads.svg", "programs.svg", "slow-loops.svg", "slow-programs.svg"} {
		if _, err := os.Stat(filepath.Join(chartFolder(out), name)); err != nil {
			t.Error(err)
		}
	}
	if got, want := withSection("# Page\n", slowHeading, slowUnmeasured),
		"# Page\n\n"+strings.TrimSuffix(slowUnmeasured, "\n"); got != want {
		t.Errorf("a page without the section becomes %q", got)
	}
}
