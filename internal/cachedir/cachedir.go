// Package cachedir keeps files that can be made again, in a folder of one user. What is in them is trusted only because
// the folder belongs to this user and nobody else may write to it; any other folder is not used. Several processes may
// use a folder. When its files become too many, those that were not used for the longest time are removed.
package cachedir

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// freshFor is how long a file counts as just used, so that not every use updates its time.
const freshFor = time.Hour

// Kind says which files a folder has.
type Kind struct {
	What   string // for messages: the cache of ...
	Suffix string // of the names of its files; others are left alone
}

// Folder is an open folder of files of one kind. Its methods may be called by several goroutines.
type Folder struct {
	Kind
	dir *os.Root
}

// Path returns the path of a folder below the user's cache folder, "" if the user has none.
func Path(name string) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "heaptap", name)
}

// Open opens a folder, and makes it if it is missing. It fails if the folder belongs to another user or others may
// write to it: anybody could have put files there.
func (k Kind) Open(dir string) (*Folder, error) {
	if dir == "" {
		return nil, errors.New("there is no folder for caches: set HOME or XDG_CACHE_HOME")
	}
	if err := notAnothers(dir); err != nil {
		return nil, k.wrap(err)
	}
	// Other users may enter the folder above: the agent's library lies there, and a daemon that gives up root loads it.
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, k.wrap(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, k.wrap(err)
	}
	return k.open(dir)
}

// OpenExisting opens a folder as Open does, but does not create one: the error then wraps fs.ErrNotExist.
func (k Kind) OpenExisting(dir string) (*Folder, error) {
	if dir == "" {
		return nil, fmt.Errorf("there is no folder for caches: %w", fs.ErrNotExist)
	}
	return k.open(dir)
}

func (k Kind) open(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, k.wrap(err)
	}
	st, err := root.Stat(".")
	if err == nil {
		err = private(st)
	}
	if err != nil {
		root.Close()
		return nil, k.wrap(fmt.Errorf("%s: %w", dir, err))
	}
	return &Folder{k, root}, nil
}

func (k Kind) wrap(err error) error { return fmt.Errorf("the cache of %s: %w", k.What, err) }

// notAnothers returns an error if root is about to create folders in another user's home, as under sudo: that user
// could not use them.
func notAnothers(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	for {
		st, err := os.Stat(dir)
		if err == nil {
			if owner(st) != 0 {
				return fmt.Errorf("%s belongs to user %d", dir, owner(st))
			}
			return nil
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// owner returns the user that a file belongs to.
func owner(st fs.FileInfo) int {
	if raw, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(raw.Uid)
	}
	return -1
}

// private returns an error if a user other than this process's may write.
func private(st fs.FileInfo) error {
	if owner(st) != os.Geteuid() {
		return fmt.Errorf("it belongs to user %d", owner(st))
	}
	if st.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("its mode %#o lets others write to it", st.Mode().Perm())
	}
	return nil
}

// Of returns the same folder for files of another kind. It is closed with this one.
func (f *Folder) Of(k Kind) *Folder { return &Folder{k, f.dir} }

// Close closes the folder.
func (f *Folder) Close() { f.dir.Close() }

// OpenFile opens a regular file that only this user may write, and notes that it was used.
func (f *Folder) OpenFile(name string, flags int) (*os.File, error) {
	file, err := f.dir.OpenFile(name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	st, err := file.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err == nil {
		err = private(st)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	if age := time.Since(st.ModTime()); age > freshFor || age < -freshFor {
		now := time.Now()
		_ = f.dir.Chtimes(name, now, now) // only decides what is removed first
	}
	return file, nil
}

// Replace creates a file with these contents, or replaces it. Others see all of them or none.
func (f *Folder) Replace(name string, contents ...[]byte) error {
	temporary := rand.Text() + f.Suffix // if it is left over, it is removed like other files
	file, err := f.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return f.wrap(err)
	}
	for _, b := range contents {
		if err == nil {
			_, err = file.Write(b)
		}
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = f.dir.Rename(temporary, name)
	}
	if err != nil {
		return f.wrap(errors.Join(err, f.dir.Remove(temporary)))
	}
	return nil
}

// Usage describes the files of a folder.
type Usage struct {
	Files int
	Bytes int64 // of all of them
}

// Usage counts what the folder holds.
func (f *Folder) Usage() (Usage, error) {
	files, err := f.files()
	var u Usage
	for _, st := range files {
		u.Files++
		u.Bytes += st.Size()
	}
	return u, err
}

// Prune removes what was not used for the longest time until the files take no more than limit bytes. It spares the
// file named keep.
func (f *Folder) Prune(limit int64, keep string) error {
	files, err := f.files()
	if err != nil {
		return err
	}
	total := int64(0)
	for _, st := range files {
		total += st.Size()
	}
	if total <= limit {
		return nil
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for _, st := range files {
		if total <= limit {
			break
		}
		if st.Name() == keep {
			continue
		}
		if err := f.dir.Remove(st.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return f.wrap(err)
		}
		total -= st.Size()
	}
	return nil
}

// files lists the files of the kind.
func (f *Folder) files() ([]fs.FileInfo, error) {
	d, err := f.dir.Open(".")
	if err != nil {
		return nil, f.wrap(err)
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	var list []fs.FileInfo
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), f.Suffix) || !e.Type().IsRegular() {
			continue
		}
		if st, err := e.Info(); err == nil { // else another process has removed it
			list = append(list, st)
		}
	}
	return list, err
}
