package launch

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// spawn starts a program as a child of this process, in its process group and with its descriptors. The Go runtime gives it
// the signal mask and the limits that this process was started with, and default actions for caught signals.
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
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	for i := len(b) - 1; i > 0; i-- { // the name may contain anything, even parentheses
		if b[i] == ')' && i+2 < len(b) {
			return b[i+2]
		}
	}
	return 0
}
