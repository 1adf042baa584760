package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestIdle: recording a target that does nothing takes at most 1 % of a core. It takes 0.12 %; beside other tests it
// may take more for a while, so the best of three looks counts.
func TestIdle(t *testing.T) {
	t.Parallel()
	const settle, look, looks = 7 * time.Second, 8 * time.Second, 3
	cmd := plainCommand(t, "run", "-q", "--", "sleep", fmt.Sprint((settle + (looks+1)*look).Seconds()))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(settle)
	pids := append(childrenOf(cmd.Process.Pid), cmd.Process.Pid)
	if len(pids) < 3 {
		t.Fatalf("run and its children are %v", pids)
	}
	used := look
	for n := 0; n < looks && used > look/100; n++ {
		before := cpuOf(pids)
		time.Sleep(look)
		used = min(used, cpuOf(pids)-before)
	}
	if used > look/100 {
		t.Errorf("an idle target takes %v of CPU time in %v", used, look)
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

// cpuOf returns the CPU time of all threads of some processes.
func cpuOf(pids []int) (sum time.Duration) {
	for _, pid := range pids {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		for _, f := range files {
			b, _ := os.ReadFile(f)
			var ns time.Duration
			fmt.Sscan(string(b), &ns)
			sum += ns
		}
	}
	return sum
}
