package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/tests/programs"
)

// bench holds what the measurements share.
type bench struct {
	dir, heaptap, shim, cpu string
}

// sample is one run of one workload in one variant.
type sample struct {
	cpuNs    float64 // CPU of the target: of its timed loop, or of all of it
	wall     float64 // s, of the target's whole life
	complete float64 // s, until what was recorded is complete
	pairs    float64
	beside   float64 // s of CPU used outside the target: recorder, interpreter, compressor, launcher
	bytes    float64 // of what was recorded
	events   float64 // heaptap only
	file     string  // heaptap only: the target's recording
	failed   string  // why there is no result
}

// run measures once.
func (b *bench) run(w *workload, v *variant) (s sample, err error) {
	out, err := os.MkdirTemp(b.dir, "out-")
	if err != nil {
		return s, err
	}
	defer func() {
		if s.file == "" {
			os.RemoveAll(out)
		}
	}()
	part := 1
	if v.rival {
		part = 10
	}
	times := filepath.Join(out, "cpu")
	cmd, finish, err := v.start(b, []string{b.cpu, times}, w.command(part), out)
	if err != nil {
		return s, err
	}
	var stdout, stderr bytes.Buffer
	cmd.Env = append(os.Environ(), w.env...)
	cmd.Stdin = strings.NewReader(w.stdin)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	before := children()
	start := time.Now()
	runErr := cmd.Run()
	var finishErr error
	if finish != nil {
		finishErr = finish()
	}
	s.complete = time.Since(start).Seconds()
	if err := reapOrphans(30 * time.Second); err != nil {
		return s, err
	}
	all := children() - before
	if runErr != nil || finishErr != nil {
		var exit *exec.ExitError
		if runErr != nil && !errors.As(runErr, &exit) {
			return s, runErr
		}
		s.failed = "crashes"
		if !v.rival {
			s.failed = fmt.Sprintf("%v %v: %s", runErr, finishErr, stderr.String())
		}
		return s, nil
	}
	use, err := os.ReadFile(times)
	if err != nil {
		return s, err
	}
	var user, system, wall, rss float64
	if _, err := fmt.Sscan(string(use), &user, &system, &wall, &rss); err != nil {
		return s, fmt.Errorf("%s: %q: %w", times, use, err)
	}
	s.cpuNs, s.wall = user+system, wall/1e9
	s.beside = all - s.cpuNs/1e9
	if w.pairs > 0 {
		t, err := programs.ParseTruth(stdout.Bytes())
		if err != nil {
			return s, err
		}
		s.cpuNs, s.pairs = float64(t.CPU), float64(t.Pairs)
	}
	return s, b.size(&s, w, v, out)
}

// size finds what was recorded, and how many events of heaptap's that were.
func (b *bench) size(s *sample, w *workload, v *variant, out string) error {
	if v.rival {
		if st, err := os.Stat(filepath.Join(out, "data")); err == nil {
			s.bytes = float64(st.Size())
		}
		return nil
	}
	if v.name != "heaptap" {
		return nil
	}
	names, err := filepath.Glob(filepath.Join(out, filepath.Base(w.args[0])+"*.htap"))
	if err != nil || len(names) == 0 {
		names, err = filepath.Glob(filepath.Join(out, "*.htap"))
	}
	var largest int64
	for _, name := range names {
		if st, err := os.Stat(name); err == nil && st.Size() > largest {
			largest, s.file = st.Size(), name
		}
	}
	if err != nil || s.file == "" {
		return fmt.Errorf("%s: no recording in %s", w.name, out)
	}
	s.bytes = float64(largest)
	cmd := exec.Command(b.heaptap, "report", "--json", s.file)
	j, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("heaptap report --json %s: %w", s.file, err)
	}
	var r programs.Report
	if err := json.Unmarshal(j, &r); err != nil {
		return fmt.Errorf("heaptap report --json %s: %w", s.file, err)
	}
	t := r.Totals
	s.events = float64(t.Allocations + t.Deallocations + t.Failed + t.Unmatched + t.Inherited)
	if r.Lost == nil || *r.Lost != 0 {
		s.failed = "lost events"
	}
	return nil
}

// children returns the CPU seconds of all children that have been waited for, and of their children.
func children() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// reapOrphans waits for processes that outlived their parents and have become ours (main has asked for them): a recorder
// that goes on after its launcher counts too.
func reapOrphans(limit time.Duration) error {
	for end := time.Now().Add(limit); ; {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("waiting for the recorder: %w", err)
		case pid == 0 && time.Now().After(end):
			return fmt.Errorf("the recorder still runs %v after its launcher has ended", limit)
		case pid == 0:
			time.Sleep(time.Millisecond)
		}
	}
}
