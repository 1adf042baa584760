// Package procfs reads the kernel's files about processes.
package procfs

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// ReadNow reads the beginning of a file of the kernel's that never waits for anything, such as /proc/PID/auxv, and
// returns what was read; nothing if it cannot be read. Go's scheduler does not know of the calls: it would watch over
// each of the first after a sleep.
func ReadNow(path string, buf []byte) []byte {
	name, err := unix.BytePtrFromString(path)
	if err != nil || len(buf) == 0 {
		return nil
	}
	at := unix.AT_FDCWD
	fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(at), uintptr(unsafe.Pointer(name)),
		unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
	if errno != 0 {
		return nil
	}
	n, _, errno := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(unsafe.SliceData(buf))),
		uintptr(len(buf)))
	_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
	if errno != 0 {
		return nil
	}
	return buf[:n]
}
