package launch

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"time"

	"github.com/heaptap/heaptap/internal/procfs"
)

// spawn starts a program as a child of this process, in its process group and with its descriptors. The Go runtime
// gives it the signal mask and the limits that this process was started with, and default actions for caught signals.
func spawn(path string, argv, env []string) (pid int, err error) {
	return syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}})
}

// isErrno reports whether err is one of the given system errors.
func isErrno(err error, any ...syscall.Errno) bool {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return false
	}
	for _, e := range any {
		if errno == e {
			return true
		}
	}
	return false
}

// processState returns the state letter of a process ('R', 'S', 'T', 'Z', ...), or 0 if there is no such process.
func processState(pid int) byte {
	state, _ := processWork(pid)
	return state
}

// processWork returns a process's state letter, 0 if there is no such process, and the CPU time that it has taken.
func processWork(pid int) (state byte, cpu time.Duration) {
	f := statOf(pid)
	if len(f) == 0 {
		return 0, 0
	}
	for _, ticks := range f[min(11, len(f)):min(13, len(f))] { // fields 14 and 15 of proc(5): 100 in a second
		n, _ := strconv.ParseInt(string(ticks), 10, 64)
		cpu += time.Duration(n) * 10 * time.Millisecond
	}
	return f[0][0], cpu
}

// statOf returns what the kernel says of a process, from the third field of proc(5) on; nil if there is no such
// process.
func statOf(pid int) [][]byte {
	var buf [4096]byte
	b := procfs.ReadNow(fmt.Sprintf("/proc/%d/stat", pid), buf[:])
	if len(b) == 0 {
		return nil
	}
	return bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // the name may contain anything, even parentheses
}
