package procs

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Status is how the kernel says that a process has ended, in the form of wait(2); false if it does not say. From Linux
// 6.15 on a pidfd tells, once the parent has waited for the process; until then /proc does, to its own user.
func (l *Life) Status() (status unix.WaitStatus, ok bool) {
	if !l.Verified || l.fd < 0 || !l.Exited() {
		return 0, false
	}
	for range 2 { // the parent may wait for it between the two questions
		info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
		if unix.IoctlPidfdInfo(l.fd, &info) == nil && info.Mask&unix.PIDFD_INFO_EXIT != 0 {
			return unix.WaitStatus(info.Exit_code), true
		}
		if status, ok = l.zombieStatus(); ok {
			return status, true
		}
	}
	return 0, false
}

// zombieStatus is the status of a process for which its parent has not waited yet.
func (l *Life) zombieStatus() (status unix.WaitStatus, ok bool) {
	const state, exitCode = 3, 52 // proc(5)
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", l.PID))
	i := bytes.LastIndexByte(b, ')')
	if err != nil || i < 0 {
		return 0, false
	}
	f := bytes.Fields(b[i+1:])
	if len(f) <= exitCode-state || string(f[0]) != "Z" || !l.visible() {
		return 0, false
	}
	code, err := strconv.ParseUint(string(f[exitCode-state]), 10, 32)
	return unix.WaitStatus(code), err == nil
}

// visible reports whether this process may know the statuses of the other: otherwise they read as 0. What lies behind a
// link of /proc can be read by those who may know.
func (l *Life) visible() bool {
	_, err := os.ReadDir(fmt.Sprintf("/proc/%d/map_files", l.PID))
	return err == nil || !os.IsPermission(err)
}
