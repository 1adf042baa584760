package control

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Run is the run that a process belongs to.
type Run struct {
	Dir   string // the run's folder
	Spool string // file name of the process's spool; "" if it is not recorded itself: a recorder, or heaptap run
}

// logName is the file of the recorder's stderr in the run's folder.
const logName = "recorder.log"

// Find finds the run of a process: one that is recorded, a recorder, or a heaptap run.
func Find(pid int) (Run, error) {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	if _, err := os.Stat(proc); err != nil {
		return Run{}, fmt.Errorf("there is no process %d", pid)
	}
	run, err := look(proc)
	if err != nil || run.Dir != "" {
		return run, err
	}
	// The recorder is a child of heaptap run.
	for _, child := range children(pid) {
		dir := recorderDir(filepath.Join("/proc", strconv.Itoa(child)))
		if dir != "" {
			return Run{Dir: dir}, nil
		}
	}
	return Run{}, fmt.Errorf("process %d is not being recorded; start the program by heaptap run", pid)
}

// look finds a run by the files that a process has mapped or opened.
func look(proc string) (Run, error) {
	pid := filepath.Base(proc)
	if dir := recorderDir(proc); dir != "" {
		return Run{Dir: dir}, nil
	}
	b, err := os.ReadFile(filepath.Join(proc, "maps"))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return Run{}, fmt.Errorf("not permitted to look at process %s; call heaptap ctl as its user, or as root", pid)
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || err == nil && len(b) == 0 && zombie(proc):
		return Run{}, fmt.Errorf("process %s has ended", pid)
	case err != nil:
		return Run{}, fmt.Errorf("cannot look at process %s: %w", pid, err)
	}
	for line := range strings.Lines(string(b)) {
		path := strings.TrimSuffix(strings.TrimSpace(line), " (deleted)")
		if i := strings.IndexByte(path, '/'); i >= 0 && strings.HasSuffix(path, ".spool") {
			path = path[i:]
			return Run{Dir: filepath.Dir(path), Spool: filepath.Base(path)}, nil
		}
	}
	return Run{}, nil
}

// recorderDir returns the run's folder if the process is a recorder, else "".
func recorderDir(proc string) string {
	if log, err := os.Readlink(filepath.Join(proc, "fd", "2")); err == nil && filepath.Base(log) == logName {
		return filepath.Dir(log)
	}
	return ""
}

func zombie(proc string) bool {
	b, _ := os.ReadFile(filepath.Join(proc, "stat"))
	return strings.Contains(string(b), ") Z ")
}

// children returns the processes that a process has started and not reaped.
func children(pid int) (list []int) {
	tasks, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	for _, t := range tasks {
		b, _ := os.ReadFile(t)
		for _, f := range strings.Fields(string(b)) {
			if n, err := strconv.Atoi(f); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}

// noRecorder explains why a run's socket cannot be reached.
func noRecorder(dir string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("not permitted to reach the recorder in %s; call heaptap ctl as its user, or as root", dir)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("the recorder in %s has died; nobody can be told", dir)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the process is recorded without a recorder, into %s: only what heaptap run has started "+
			"can be told", dir)
	}
	return fmt.Errorf("cannot reach the recorder in %s: %w", dir, err)
}
