package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Nothing is done to what is opened, before it is known what it is: a FIFO does not make anybody wait, a device does not act.
const openFlags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY

// openBelow opens a file below a folder, from which no link leads out.
func openBelow(dir, path string) (*os.File, error) {
	root, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, missing(err)
	}
	defer unix.Close(root)
	fd, err := unix.Openat2(root, path, &unix.OpenHow{Flags: openFlags, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS})
	switch {
	case errors.Is(err, unix.EXDEV):
		// A link to an absolute path, which may be one within the folder.
		var inside string
		if inside, err = within(dir, path); err == nil {
			fd, err = unix.Openat2(root, inside, &unix.OpenHow{Flags: openFlags, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
		}
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM): // before Linux 5.6, or a sandbox that does not know the call
		var inside string
		if inside, err = within(dir, path); err == nil {
			fd, err = unix.Openat(root, inside, openFlags|unix.O_NOFOLLOW, 0)
		}
	}
	if err != nil {
		return nil, missing(err)
	}
	return os.NewFile(uintptr(fd), filepath.Join(dir, path)), nil
}

// within is the path of a file below a folder, without links.
func within(dir, path string) (string, error) {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	file, err := filepath.EvalSymlinks(filepath.Join(dir, path))
	if err != nil {
		return "", err
	}
	inside, ok := strings.CutPrefix(file, strings.TrimSuffix(root, "/")+"/")
	if !ok {
		return "", fs.ErrNotExist
	}
	return inside, nil
}

// openHere opens a file by its path.
func openHere(path string) (*os.File, error) {
	fd, err := unix.Open(path, openFlags, 0)
	if err != nil {
		return nil, missing(err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// missing makes of an error what package fs calls it: what cannot be opened is not there, but for what may not be read.
func missing(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fs.ErrPermission
	}
	return fs.ErrNotExist
}

// onDisk reports whether a file is one that somebody wrote, not one that the kernel makes up.
func onDisk(f *os.File) bool {
	var st unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &st) != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.CGROUP_SUPER_MAGIC,
		unix.CGROUP2_SUPER_MAGIC, unix.DEVPTS_SUPER_MAGIC, unix.BPF_FS_MAGIC, unix.EFIVARFS_MAGIC, unix.BINFMTFS_MAGIC:
		return false
	}
	return true
}
