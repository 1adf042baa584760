package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestInAllSection compares heaptap with heaptrack in each place, and tasks with their goals.
func TestInAllSection(t *testing.T) {
	cpu := func(list ...float64) (all []used) {
		for _, v := range list {
			all = append(all, used{cpu: v, wall: v / 2})
		}
		return all
	}
	r := &inAll{
		programs: []workload{{name: "python", what: "a loop"}, {name: "cc1plus", what: "a compiler"}},
		variants: []variant{{name: bare}, {name: exact}, {name: heaptrackName}, {name: heaptrackRaw}},
		runs: map[string]map[string][]used{
			"python": {
				bare: cpu(1, 2, 1), exact: cpu(2, 4, 3), heaptrackName: cpu(5), heaptrackRaw: cpu(3, 5, 3),
				bare + ", one core": cpu(1, 1, 1), exact + ", one core": cpu(3, 3, 3),
				heaptrackName + ", one core": cpu(12), heaptrackRaw + ", one core": cpu(2, 2, 2),
			},
			"cc1plus": {bare: cpu(1), exact: cpu(2), heaptrackName: {{failed: "crashes"}}},
		},
		bytes: map[string]float64{"python": .4, "cc1plus": 1.1},
		tasks: []*task{
			{name: "loop", what: "many", repeats: 1, wall: true, goal: 1.5,
				samples: map[string][]used{bare: cpu(2, 2), exact: cpu(4, 4)}},
			{name: "status", what: "one", repeats: 10, goal: 2.5,
				samples: map[string][]used{bare: cpu(2), exact: cpu(4)}},
		},
		idle: []float64{.001, .002, .009}, prompts: map[string][]float64{"/bin/true": {.02, .03, .04}}, scale: 1,
		missing: []string{"lld (why)"}, counter: "5.0",
	}
	hasLines(t, r.section(),
		"Medians of 3 runs in turn; with",
		"| python | 1.00 s | 2.00x | 5.00x | 3.00x | 1.00 s | **3.00x** | 12.00x | 2.00x | **0.400** | 0.31 |",
		"| cc1plus | 1.00 s | 2.00x | crashes | - | 0.00 s | - | - | - | 1.100 | 1.20 |",
		"| python: CPU in all, against heaptrack with its interpreter | 0.33x | **0.40x** |",
		"| python, one core: CPU in all, against heaptrack with its interpreter | 0.33x | 0.25x |",
		"| loop: wall time, against bare (1.00 s) | 1.50x | **2.00x ± 0.00** |",
		"| status: CPU in all, against bare (200 ms) | 2.50x | 2.00x ± 0.00 |",
		"share of a core beside it, 8s to 18s after its start | 0.3 % | 0.20 % |",
		"| /bin/true: from its end until the prompt, with the summary | - | 30 ms |",
		"- Not measured here: lld (why).",
	)
}

// TestOnOne: a process that is started meanwhile may use one processor only, and later ones all again.
func TestOnOne(t *testing.T) {
	b := testBench(t)
	w := &workload{name: "affinity", args: []string{"sh", "-c", "grep Cpus_allowed_list /proc/self/status >&2; exit 1"}}
	list := func(p place) string {
		_, err := b.once(w, "", &variant{name: bare, start: direct()}, 1, p, nil)
		if err == nil {
			t.Fatal("a failure is not shown")
		}
		_, cpus, _ := strings.Cut(err.Error(), "Cpus_allowed_list:")
		return strings.TrimSpace(cpus)
	}
	before, one, after := list(places[0]), list(places[1]), list(places[0])
	if one == "" || strings.ContainsAny(one, ",-") || before != after {
		t.Errorf("processors %q, then %q, then %q", before, one, after)
	}
}

// TestTreeTime: what a child uses while it runs is counted.
func TestTreeTime(t *testing.T) {
	before := treeTime(os.Getpid())
	if before <= 0 {
		t.Fatal("no time of this process")
	}
	b := testBench(t)
	v := &variant{name: bare, start: direct()}
	// It works, says so, and stays.
	work := "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; echo worked; while :; do :; done"
	cmd, _, err := v.start(b, nil, []string{"sh", "-c", work}, b.dir)
	if err != nil {
		t.Fatal(err)
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Signal(unix.SIGKILL); _ = cmd.Wait() }()
	if _, err := said.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if used := treeTime(cmd.Process.Pid); used < 50*time.Millisecond {
		t.Fatalf("the child has used %v", used)
	}
	if after := treeTime(os.Getpid()); after < before+50*time.Millisecond {
		t.Errorf("%v, then %v", before, after)
	}
}
