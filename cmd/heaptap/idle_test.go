package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestIdle: recording a target that does nothing takes at most 3 % of a core. It takes 0.12 %, and beside other tests
// ten times that.
func TestIdle(t *testing.T) {
	t.Parallel()
	const settle, look = 7 * time.Second, 8 * time.Second
	cmd := plainCommand(t, "run", "-q", "--", "sleep", fmt.Sprint((settle + look + 2*time.Second).Seconds()))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(settle)
	pids := append(childrenOf(cmd.Process.Pid), cmd.Process.Pid)
	if len(pids) < 3 {
		t.Fatalf("run and its children are %v", pids)
	}
	before := cpuOf(pids)
	time.Sleep(look)
	if used := cpuOf(pids) - before; used > 3*look/100 {
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
