package recording

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// osFile is a file that can have holes.
type osFile struct{ *os.File }

func (f osFile) Punch(off, n int64) error {
	return f.control(func(fd int) error {
		return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
	})
}

func (f osFile) Used() (used int64, err error) {
	err = f.control(func(fd int) error {
		var st unix.Stat_t
		err := unix.Fstat(fd, &st)
		used = st.Blocks * 512 // whatever the file system's block is, stat(2)
		return err
	})
	return used, err
}

func (f osFile) Sync() error { return f.control(unix.Fdatasync) }

func (f osFile) control(do func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = c.Control(func(fd uintptr) {
		for failed = syscall.EINTR; errors.Is(failed, syscall.EINTR); {
			failed = do(int(fd))
		}
	})
	return errors.Join(err, failed)
}
