// Package private makes and opens files that belong to one user, in folders that others may write to. It notices links,
// pipes and files that others have put in their place.
//
// A path can come to mean another file between two calls; a descriptor cannot. So folders are kept open, files are
// opened relative to them, and every opened file is checked by its descriptor. Nothing here waits for the other end of
// a pipe.
//
// Under sudo, files that are made for the user who called sudo are given to that user.
package private

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Folder is an open folder.
type Folder struct {
	file  *os.File
	path  string
	owner uint32
	mode  fs.FileMode
}

// OpenFolder opens a folder. It must belong to this process's user, and nobody else may write to it.
func OpenFolder(path string) (*Folder, error) {
	f, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	if f.mode&0o022 != 0 || !f.ours() {
		f.Close()
		return nil, fmt.Errorf("%s belongs to user %d and has the permissions %v: others may write to it", path,
			f.owner, f.mode)
	}
	return f, nil
}

// ours says whether the folder belongs to this process's user. A file server may give root's files another owner; then
// ours compares the folder with a new file.
func (f *Folder) ours() bool {
	if f.owner == uint32(os.Geteuid()) {
		return true
	}
	const name = ".owner"
	file, err := f.Create(name)
	if err != nil {
		return false
	}
	defer file.Close()
	defer f.Remove(name)
	return f.check(file) == nil
}

// BesideFolder opens the folder of a file that the user has named, whoever owns it.
func BesideFolder(path string) (*Folder, error) { return openFolder(filepath.Dir(path)) }

func openFolder(path string) (*Folder, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		file.Close()
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return &Folder{file: file, path: path, owner: st.Uid, mode: fs.FileMode(st.Mode & 0o777)}, nil
}

// Close closes the folder.
func (f *Folder) Close() { _ = f.file.Close() }

// Path returns the path by which the folder was opened.
func (f *Folder) Path() string { return f.path }

// FD returns the folder's descriptor.
func (f *Folder) FD() int { return int(f.file.Fd()) }

// Names lists the entries of the folder.
func (f *Folder) Names() ([]string, error) {
	fd, err := unix.Openat(f.FD(), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: f.path, Err: err}
	}
	dir := os.NewFile(uintptr(fd), f.path)
	defer dir.Close()
	return dir.Readdirnames(-1)
}

// Changed returns when what the folder contains last changed.
func (f *Folder) Changed() (time.Time, error) {
	var st unix.Stat_t
	// It does not wait, so Go's scheduler need not know of it.
	if _, _, errno := unix.RawSyscall(unix.SYS_FSTAT, uintptr(f.FD()), uintptr(unsafe.Pointer(&st)), 0); errno != 0 {
		return time.Time{}, &fs.PathError{Op: "stat", Path: f.path, Err: errno}
	}
	return time.Unix(st.Mtim.Unix()), nil
}

// Create creates a new file that only its owner may read.
func (f *Folder) Create(name string) (*os.File, error) {
	return f.open(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
}

// Open opens a file of the folder's owner.
func (f *Folder) Open(name string, flags int) (*os.File, error) {
	file, err := f.open(name, flags)
	if err != nil {
		return nil, err
	}
	if err := f.check(file); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// Read reads a file of the folder's owner.
func (f *Folder) Read(name string) ([]byte, error) {
	file, err := f.Open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

func (f *Folder) open(name string, flags int) (*os.File, error) {
	path := filepath.Join(f.path, name)
	if filepath.Base(name) != name || name == "." || name == ".." || name == "/" {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	fd, err := unix.Openat(f.FD(), name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// check returns an error unless only the folder's owner can have put the file there. Some file systems give all files
// the same owner and permissions, so both are compared with the folder's.
func (f *Folder) check(file *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return &fs.PathError{Op: "stat", Path: file.Name(), Err: err}
	}
	wrong := ""
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		wrong = "is not a regular file"
	case st.Uid != f.owner:
		wrong = fmt.Sprintf("belongs to user %d, and its folder to user %d", st.Uid, f.owner)
	case fs.FileMode(st.Mode)&0o022&^f.mode != 0:
		wrong = fmt.Sprintf("can be written by others (permissions %#o)", st.Mode&0o777)
	case st.Nlink > 1:
		wrong = "has another name elsewhere"
	}
	if wrong != "" {
		return fmt.Errorf("%s %s; it is left alone", file.Name(), wrong)
	}
	return nil
}

// Remove removes a file of the folder.
func (f *Folder) Remove(name string) error {
	if err := unix.Unlinkat(f.FD(), name, 0); err != nil {
		return &fs.PathError{Op: "remove", Path: filepath.Join(f.path, name), Err: err}
	}
	return nil
}

// Rename renames a file within the folder.
func (f *Folder) Rename(from, to string) error {
	if err := unix.Renameat(f.FD(), from, f.FD(), to); err != nil {
		return &fs.PathError{Op: "rename", Path: filepath.Join(f.path, from), Err: err}
	}
	return nil
}

// Owner returns the folder's owner.
func (f *Folder) Owner() uint32 { return f.owner }

// OpenOwned opens a file for reading that belongs to a user, or to the owner of its folder if nobody else may write
// there.
func OpenOwned(path string, owner uint32) (*os.File, error) {
	dir, err := openFolder(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	file, err := dir.open(filepath.Base(path), unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	if dir.mode&0o022 != 0 || dir.check(file) != nil {
		dir.owner, dir.mode = owner, 0
		if err := dir.check(file); err != nil {
			file.Close()
			return nil, err
		}
	}
	return file, nil
}

// OpenRegular opens a file that the user has named, for reading. It never waits, not even for a pipe.
func OpenRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return f, nil
}

// Create creates a file with these permissions, whatever the umask is, and replaces an existing one. It follows a
// symbolic link only if the user or root created the link. It opens a device as it is. Under sudo the file belongs to
// the user who called sudo.
func Create(path string, mode fs.FileMode) (*os.File, error) {
	if st, err := os.Lstat(path); err == nil && st.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: unix.EISDIR}
	}
	to, _ := Follow(path)
	if st, err := os.Lstat(to); err == nil && st.Mode()&fs.ModeDevice != 0 {
		// Only root can have created it.
		return os.OpenFile(to, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	}
	f, err := createNew(to)
	if err != nil {
		return nil, err
	}
	// A file system without owners or permissions is not a reason not to record.
	for _, err := range []error{GiveToCaller(f), f.Chmod(mode.Perm())} {
		if err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EINVAL) &&
			!errors.Is(err, errors.ErrUnsupported) {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

// ModeOf returns the permissions of a file that will be replaced, or otherwise if it does not exist or belongs to
// another user.
func ModeOf(path string, otherwise fs.FileMode) fs.FileMode {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || !Ours(st.Uid) {
		return otherwise
	}
	return fs.FileMode(st.Mode & 0o777)
}

func createNew(path string) (*os.File, error) {
	const flags = os.O_RDWR | os.O_CREATE | os.O_EXCL | unix.O_NOFOLLOW
	for try := 0; ; try++ {
		f, err := os.OpenFile(path, flags, 0o600)
		if !errors.Is(err, fs.ErrExist) || try == 3 {
			return f, err
		}
		if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() && st.Mode()&fs.ModeSymlink == 0 {
			return nil, fmt.Errorf("%s exists and is not a regular file", path)
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// linkIsTrusted says whether a symbolic link was created by this process's user, by root, or by the user who called
// sudo.
func linkIsTrusted(path string) bool {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return false
	}
	return st.Uid == 0 || Ours(st.Uid)
}

// Ours says whether a user is this process's, or the one who called sudo.
func Ours(user uint32) bool {
	uid, _, sudo := caller()
	return user == uint32(os.Geteuid()) || sudo && user == uint32(uid)
}

// Follow returns where Create creates a file. replaces says that it will replace another user's symbolic link.
func Follow(path string) (to string, replaces bool) {
	if st, err := os.Lstat(path); err != nil || st.Mode()&fs.ModeSymlink == 0 {
		return path, false
	}
	if !linkIsTrusted(path) {
		return path, true
	}
	if to, err := targetOf(path); err == nil {
		return to, false
	}
	return path, false
}

// targetOf follows links. Their target need not exist yet.
func targetOf(link string) (string, error) {
	if to, err := filepath.EvalSymlinks(link); err == nil {
		return to, nil
	}
	to, err := os.Readlink(link)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(link), to)
	}
	return to, nil
}

// caller returns the user who called sudo, if this process runs under it.
func caller() (uid, gid int, ok bool) {
	if os.Geteuid() != 0 {
		return 0, 0, false
	}
	user, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 31)
	group, wrong := strconv.ParseUint(os.Getenv("SUDO_GID"), 10, 31)
	return int(user), int(group), err == nil && wrong == nil && user != 0
}

// GiveToCaller makes the user who called sudo, if anybody did, the owner of a new file or folder.
func GiveToCaller(f *os.File) error {
	if uid, gid, ok := caller(); ok {
		return f.Chown(uid, gid)
	}
	return nil
}
