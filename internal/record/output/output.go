// Package output makes the files of recordings, and keeps them: users may remove or replace a recording, or the folder
// that it is in, while it is being written.
//
// The rule: what was recorded is not lost. The recorder has the file open, and in the end rewrites it where its name
// leads elsewhere.
package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"golang.org/x/sys/unix"
)

// File is a recording's file.
type File struct {
	Path string

	kept *os.File // the recording, to have it when its name leads elsewhere; or nil
	note func(path, text string)
}

// New returns a file that is not there yet. note is called when the recording is elsewhere than it should be.
func New(path string, note func(path, text string)) *File { return &File{Path: path, note: note} }

// Create makes the recording. If its folder is gone and again is true, it makes the folder again, or takes another one.
func (f *File) Create(again bool, desc event.Process, opts recording.Options) (out *recording.Writer, err error) {
	out, err = recording.Create(f.Path, desc, opts)
	if errors.Is(err, os.ErrNotExist) && again {
		path, failed := f.elsewhere(func(path string) error {
			out, err = recording.Create(path, desc, opts)
			return err
		})
		if failed == nil {
			f.note(path, fmt.Sprintf(
				"the folder %s was removed while programs were being recorded; the recording is %s",
				filepath.Dir(f.Path), path))
			f.Path = path
		}
	}
	if err == nil {
		f.kept, _ = out.Reopen() // without it, nothing can be done
	}
	return out, err
}

// PutBack makes sure that the recording, which is complete, is where its name says.
func (f *File) PutBack() error {
	if f.kept == nil {
		return nil
	}
	defer f.kept.Close()
	is, err := f.kept.Stat()
	if err != nil {
		return nil
	}
	if st, err := os.Stat(f.Path); err == nil && os.SameFile(st, is) {
		return nil
	}
	path, err := f.elsewhere(func(path string) error { return copyTo(f.kept, path, is) })
	if err != nil {
		return fmt.Errorf("%s was removed while it was being written, and cannot be rewritten: %w", f.Path, err)
	}
	f.note(path, fmt.Sprintf(
		"%s was removed or replaced while it was being written; all that was recorded is in %s", f.Path, path))
	f.Path = path
	return nil
}

// Remove removes the recording.
func (f *File) Remove() {
	f.kept.Close()
	_ = os.Remove(f.Path)
}

// elsewhere has a file made where the recording should be, in a folder that is made again if need be, or in another
// one.
func (f *File) elsewhere(create func(path string) error) (string, error) {
	dir, name := filepath.Split(f.Path)
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		var path string
		if path, err = freeName(filepath.Join(dir, name)); err == nil {
			if err = create(path); err == nil {
				return path, nil
			}
		}
	}
	dir, err2 := os.MkdirTemp("", "heaptap-recordings-")
	if err2 == nil {
		path := filepath.Join(dir, name)
		if err2 = create(path); err2 == nil {
			return path, nil
		}
		_ = os.Remove(dir)
	}
	return "", errors.Join(err, err2)
}

// freeName returns a path, or that with a number before its ending, at which there is nothing.
func freeName(path string) (string, error) {
	stem, ending := strings.TrimSuffix(path, ".htap"), ""
	if stem != path {
		ending = ".htap"
	}
	for i := 2; i < 10000; i++ {
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			return path, nil
		} else if err != nil {
			return "", err
		}
		path = stem + "." + strconv.Itoa(i) + ending
	}
	return "", fmt.Errorf("all names up to %s are taken", path)
}

// copyTo copies a file, its holes as such.
func copyTo(from *os.File, path string, is os.FileInfo) (err error) {
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, is.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() {
		if e := to.Close(); err == nil {
			err = e
		}
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	for at := int64(0); at < is.Size(); {
		data, hole := at, is.Size()
		if d, err := unix.Seek(int(from.Fd()), at, unix.SEEK_DATA); err == nil {
			data = d
			if h, err := unix.Seek(int(from.Fd()), data, unix.SEEK_HOLE); err == nil {
				hole = h
			}
		} else if err == unix.ENXIO {
			break // a hole up to the end
		}
		if _, err := to.Seek(data, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.Copy(to, io.NewSectionReader(from, data, hole-data)); err != nil {
			return err
		}
		at = hole
	}
	return to.Truncate(is.Size())
}
