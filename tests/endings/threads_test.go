package endings

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
)

// TestThreads records what happens at the edges of the lives of threads and of the program: destructors of thread_local
// objects and of keys, constructors before main, functions at exit, destructors after all else.
func TestThreads(t *testing.T) {
	t.Parallel()
	threads := program(t, "threads")
	recorded(t, 7, threads, "edges", "1").judge(t, 0)
	// Stacks of PTHREAD_STACK_MIN.
	recorded(t, 7, threads, "small", "2000").judge(t, 0)
}

// TestShortThreads makes 100,000 threads. The agent's memory is that of those that lived at once: private memory does
// not grow after the first 10,000 of them, and shared memory only by the chunks that wait for the recorder, 64 KiB for
// a thread that has just ended. (100,000 such chunks would be 6.4 GB.)
func TestShortThreads(t *testing.T) {
	t.Parallel()
	n := 100000
	if testing.Short() {
		n = 10000
	}
	r := prepare(t, false, nil, nil, program(t, "threads"), "short", fmt.Sprint(n))
	kit.Same(t, "exit status", r.run(t), 7)
	var all, shared int // KiB
	if _, err := fmt.Sscan(r.stderr.String(), &all, &shared); err != nil {
		t.Fatalf("%q: %v", r.stderr.String(), err)
	}
	t.Logf("the last nine tenths of the threads: %d KiB more, %d KiB of it shared", all, shared)
	if all-shared > 1<<10 || shared > 512<<10 {
		t.Errorf("memory grew by %d KiB, %d KiB of it shared", all, shared)
	}
	r.judge(t, 0)
}

// TestManyThreads lets 17,000 threads live at once, more than a gigabyte of chunks is for. All are recorded, and the
// recorder's memory is bounded. They take 2 to 4 times the CPU time that they take alone, 7 times beside other work on
// the same cores: most of it is waiting for the kernel's lock of the address space. What the test finds took 15 to 40
// times: each thread that found the spool too short populated all of it.
func TestManyThreads(t *testing.T) {
	t.Parallel()
	args := []string{program(t, "threads"), "many", "17000"}
	const limit = 12
	ratio := math.Inf(1)
	for try := 0; try < 3 && ratio >= limit; try++ {
		bare := prepare(t, true, nil, nil, args...)
		r := prepare(t, false, nil, nil, args...)
		// For the recorder's memory.
		r.cmd.Args = slices.DeleteFunc(r.cmd.Args, func(a string) bool { return a == "-q" })
		kit.Same(t, "exit status without heaptap", bare.run(t), 7)
		kit.Same(t, "exit status", r.run(t), 7)
		// Each says what it took.
		var alone, with, memory float64
		_, err := fmt.Sscan(bare.stdout.String(), &alone)
		if _, other := fmt.Sscan(r.stdout.String(), &with); err != nil || other != nil {
			t.Fatalf("%q, %q: %v, %v", bare.stdout.String(), r.stdout.String(), err, other)
		}
		r.judge(t, 0)
		m := regexp.MustCompile(`recorder .* CPU, ([0-9.]+) MB`).FindStringSubmatch(r.stderr.String())
		if m == nil {
			t.Fatalf("no word of the recorder's memory:\n%s", r.stderr.String())
		}
		memory, _ = strconv.ParseFloat(m[1], 64)
		t.Logf("CPU time %.2f s alone, %.2f s recorded; recorder %.0f MB", alone, with, memory)
		if memory > 300 {
			t.Errorf("the recorder took %.0f MB, want at most 300", memory)
		}
		ratio = min(ratio, with/alone)
	}
	if ratio >= limit {
		t.Errorf("recorded threads take %.1f times the CPU time, want less than %d", ratio, limit)
	}
}

// TestStackUse measures how much more of a signal handler's stack an allocation and a deallocation use than without
// heaptap.
func TestStackUse(t *testing.T) {
	t.Parallel()
	var used [2]int
	for i, bare := range []bool{true, false} {
		r := prepare(t, bare, nil, nil, program(t, "threads"), "handler", "1")
		kit.Same(t, "exit status", r.run(t), 7)
		if _, err := fmt.Sscan(r.stderr.String(), &used[i]); err != nil {
			t.Fatalf("%q: %v", r.stderr.String(), err)
		}
		if !bare {
			r.judge(t, 0)
		}
	}
	t.Logf("%d bytes of the stack without heaptap, %d with it", used[0], used[1])
	if used[1]-used[0] > 1024 {
		t.Errorf("the agent uses %d bytes of the target's stack, want at most 1024", used[1]-used[0])
	}
}
