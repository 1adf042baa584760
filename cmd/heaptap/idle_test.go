package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestIdle: recording a target that does nothing wakes up at most 500 times a second. It does 25 times, which takes
// 0.12 % of a core on an idle machine; beside other tests that says little, the number of times does. For a while it
// is more, several hundred: the best of three looks counts.
func TestIdle(t *testing.T) {
	t.Parallel()
	const settle, look, looks, most = 7 * time.Second, 8 * time.Second, 3, 500 * 8
	cmd := plainCommand(t, "run", "-q", "--", "sleep", fmt.Sprint((settle + (looks+1)*look).Seconds()))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(settle)
	pids := append(childrenOf(cmd.Process.Pid), cmd.Process.Pid)
	if len(pids) < 3 {
		t.Fatalf("run and its children are %v", pids)
	}
	woken := most + 1
	for n := 0; n < looks && woken > most; n++ {
		before := wakesOf(pids)
		time.Sleep(look)
		woken = min(woken, wakesOf(pids)-before)
	}
	if woken > most || woken == 0 {
		t.Errorf("with an idle target, heaptap wakes up %d times in %v", woken, look)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func childrenOf(pid int) (list []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		b, _ := os.ReadFile(f)
		for _, word := range strings.Fields(string(b)) {
			var child int
			fmt.Sscan(word, &child)
			list = append(list, child)
		}
	}
	return list
}

// wakesOf returns how often all threads of some processes have waited for something.
func wakesOf(pids []int) (sum int) {
	for _, pid := range pids {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		for _, f := range files {
			b, _ := os.ReadFile(f)
			_, count, _ := strings.Cut(string(b), "\nvoluntary_ctxt_switches:")
			var n int
			fmt.Sscan(count, &n)
			sum += n
		}
	}
	return sum
}
