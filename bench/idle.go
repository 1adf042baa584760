package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The cost of recording a program that does nothing.

const (
	idleName = "an idle target"
	idleGoal = .003 // of a processor
	// idleFrom is when a run has become quiet: the recorder waits for some seconds before it sleeps for longer.
	idleFrom = 8 * time.Second
	idleFor  = 10 * time.Second
)

// idleShare returns what share of a processor a run takes beside a program that sleeps.
func (b *bench) idleShare() (share float64, err error) {
	out, err := os.MkdirTemp(b.dir, "idle-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(out)
	cmd := exec.Command(b.heaptap, "run", "-q", "-o", out+"/", "--", "sleep", "600")
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = cmd.Process.Signal(unix.SIGTERM) // which heaptap run passes on
		_ = cmd.Wait()                       // it ended by a signal
		if reaped := reapOrphans(30 * time.Second); err == nil {
			err = reaped
		}
	}()
	time.Sleep(idleFrom)
	before, start := treeTime(cmd.Process.Pid), time.Now()
	time.Sleep(idleFor)
	after, took := treeTime(cmd.Process.Pid), time.Since(start)
	if before == 0 || after < before {
		return 0, fmt.Errorf("the processor time of heaptap run is not to be read: %v, then %v", before, after)
	}
	return float64(after-before) / float64(took), nil
}

// treeTime returns the processor time of a process and its descendants, as the scheduler counts it for each thread; 0
// if there is no such process.
func treeTime(pid int) (sum time.Duration) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(task + "/schedstat")
		if ran, _, ok := strings.Cut(string(text), " "); ok {
			ns, _ := strconv.ParseInt(ran, 10, 64)
			sum += time.Duration(ns)
		}
		text, _ = os.ReadFile(task + "/children")
		for _, child := range strings.Fields(string(text)) {
			if id, err := strconv.Atoi(child); err == nil {
				sum += treeTime(id)
			}
		}
	}
	return sum
}
