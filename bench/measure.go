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
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/tests/programs"
)

// hangs is the failure of a run that did not end within patience. It is not repeated.
const hangs = "hangs"

// patience is the time limit of a run.
const patience = 5 * time.Minute

// sample is a run of a workload in a variant.
type sample struct {
	cpuNs    float64 // CPU of the target: of its timed loop, or of the whole target
	wall     float64 // s, from the target's start to its end
	complete float64 // s, until the recording is complete
	units    float64 // work done in cpuNs: pairs, threads, requests, or 1
	beside   float64 // s of CPU used outside the target: recorder, interpreter, compressor, launcher
	bytes    float64 // size of the recording
	events   float64 // exact only
	file     string  // exact only: the target's recording
	failed   string  // why there is no result
}

// perUnit returns the target's CPU per unit, ns.
func (s sample) perUnit() float64 { return s.cpuNs / max(s.units, 1) }

// run runs a workload in a variant, once.
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
	if v.tenth {
		part = 10
	}
	times := filepath.Join(out, "cpu")
	cmd, finish, err := v.start(b, []string{b.cpu, times}, w.command(part), out)
	if err != nil {
		return s, err
	}
	var stdout, stderr bytes.Buffer
	cmd.Dir = out
	cmd.Env = append(os.Environ(), w.env...)
	cmd.Stdin = strings.NewReader(w.stdin)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	before := children()
	start := time.Now()
	driven, runErr := w.perform(cmd, out)
	var finishErr error
	if finish != nil {
		finishErr = finish()
	}
	s.complete = time.Since(start).Seconds()
	if err := reapOrphans(30 * time.Second); err != nil {
		return s, err
	}
	all := children() - before - driven
	if runErr != nil || finishErr != nil {
		var exit *exec.ExitError
		switch {
		case v.class == rival && time.Since(start) > patience:
			s.failed = hangs
		case v.class == rival:
			s.failed = "crashes"
			fmt.Fprintf(os.Stderr, "%s, %s: %v: %s\n", w.name, v.name, errors.Join(runErr, finishErr),
				bytes.TrimSpace(stderr.Bytes()))
		case runErr != nil && !errors.As(runErr, &exit):
			return s, runErr
		default:
			s.failed = "fails"
			fmt.Fprintf(os.Stderr, "%s, %s: %v\n%s\n", w.name, v.name, errors.Join(runErr, finishErr), stderr.String())
		}
		return s, nil
	}
	use, err := readUse(times)
	if err != nil {
		return s, err
	}
	s.cpuNs, s.wall, s.units = use.cpu*1e9, use.wall, 1
	s.beside = all - use.cpu
	switch w.unit {
	case perPair, perThread:
		t, err := programs.ParseTruth(stdout.Bytes())
		if err != nil {
			return s, err
		}
		s.cpuNs, s.units = float64(t.CPU), float64(t.Pairs)
		if w.unit == perThread {
			s.units /= pairsPerThread
		}
	case perRequest:
		s.units = float64(w.requests * len(redisKinds))
	}
	return s, b.size(&s, w, v, out)
}

// perform runs the command and its driver, and returns the driver's CPU seconds. It kills both after patience.
func (w *workload) perform(cmd *exec.Cmd, dir string) (driven float64, err error) {
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	end := func() { _ = cmd.Process.Signal(syscall.SIGTERM) } // heaptap run forwards it, and cpu.c ends with the target
	late := time.AfterFunc(patience, end)
	defer late.Stop()
	var driveErr error
	if w.drive != nil {
		if driven, driveErr = w.drive(dir, w.requests); driveErr != nil {
			end()
		}
	}
	return driven, errors.Join(driveErr, cmd.Wait())
}

// use is the usage of a command, as cpu.c reports it.
type use struct {
	cpu, wall float64 // s
	memory    float64 // bytes: the largest resident set
	end       float64 // s: when it ended, by CLOCK_MONOTONIC
}

func readUse(file string) (u use, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return u, err
	}
	var user, system, wall, rss, end float64
	if _, err := fmt.Sscan(string(text), &user, &system, &wall, &rss, &end); err != nil {
		return u, fmt.Errorf("%s: %q: %w", file, text, err)
	}
	return use{cpu: (user + system) / 1e9, wall: wall / 1e9, memory: rss * 1024, end: end / 1e9},
		nil
}

// size returns the size of the recording and, for heaptap's, the number of its events.
func (b *bench) size(s *sample, w *workload, v *variant, out string) error {
	if v.class == rival {
		if st, err := os.Stat(filepath.Join(out, "data")); err == nil {
			s.bytes = float64(st.Size())
		}
		return nil
	}
	if v.name != exact {
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

// reapOrphans waits for processes that outlived their parents and became ours, because main made this process a
// subreaper. So a recorder that outlives its launcher counts, too.
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
