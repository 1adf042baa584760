package private

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Lock marks an open file as being written, until the file is closed or the process ends, however it does. It hinders
// nobody from reading or writing; Locked tells. held is true if somebody else has marked the file.
func Lock(f *os.File) (held bool, err error) {
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	err = control(f, func(fd uintptr) error { return unix.FcntlFlock(fd, unix.F_OFD_SETLK, &l) })
	return err == unix.EAGAIN || err == unix.EACCES, err
}

// Locked reports whether somebody has marked the file as being written. known is false if the file system cannot tell.
func Locked(f *os.File) (locked, known bool) {
	l := unix.Flock_t{Type: unix.F_RDLCK, Whence: io.SeekStart}
	err := control(f, func(fd uintptr) error { return unix.FcntlFlock(fd, unix.F_OFD_GETLK, &l) })
	return err == nil && l.Type != unix.F_UNLCK, err == nil
}

func control(f *os.File, do func(fd uintptr) error) (err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if failed := raw.Control(func(fd uintptr) { err = do(fd) }); failed != nil {
		return failed
	}
	return err
}
