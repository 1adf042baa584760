// Package source finds the text of source files that a recording names. The program may have been built here, in
// another folder, or on another machine. A file may have changed since; the line numbers in the recording do not depend
// on it.
//
// A recording may come from anyone and can name any file as a source file; heaptap must not show such a file. It reads
// regular files below folders that the user named, below the system's folders of source text, and those that the debug
// information of a program on this machine names. Links that lead out of a folder are not followed. Which of those
// programs count is the caller's choice (annotate).
package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxFile bounds the length of a file that is read, in bytes.
const maxFile = 64 << 20

// Finder says where to look for source files.
type Finder struct {
	// Maps replace the beginning of a recorded path; the first one that matches counts.
	Maps []Map
	// Paths are folders in which to look for files: by the whole recorded path, then without its first folder, its
	// first two folders, and so on, down to the file name.
	Paths []string
	// Dir is the folder that relative recorded paths are relative to.
	Dir string
	// Named says whether a module on this machine that has the recording's build id was built from a file with that
	// recorded path; nil: no such module is known.
	Named func(recorded string) bool
	// Recorded is when the program ran: a file that was changed later may differ from what was compiled. The zero time
	// means unknown.
	Recorded time.Time
}

// Map replaces the beginning of a path.
type Map struct{ From, To string }

// ParseMap reads FROM=TO.
func ParseMap(text string) (Map, error) {
	from, to, ok := strings.Cut(text, "=")
	if !ok || from == "" {
		return Map{}, fmt.Errorf("%q is not of the form FROM=TO (for example /build/src=/home/me/src)", text)
	}
	return Map{from, to}, nil
}

// File is a source file that was found.
type File struct {
	Path  string
	Lines []string
	Newer bool // changed after the program was recorded
}

// ErrMissing is wrapped by the error for a file that was not found.
var ErrMissing = errors.New("the source file was not found")

// ErrForeign is wrapped by the error for a file that may exist, but was not read because only the recording says that
// it is source text.
var ErrForeign = errors.New("the source file was not read, since no program here with the recording's build id was " +
	"made of it")

// SystemDirs are the folders where distributions install source text.
var SystemDirs = []string{"/usr/include", "/usr/src", "/usr/lib/debug", "/usr/lib/gcc", "/usr/local/include",
	"/usr/local/src"}

// Find reads a file by its recorded path.
func (f *Finder) Find(recorded string) (*File, error) {
	var first error
	for _, c := range f.candidates(recorded) {
		file, err := f.read(c)
		switch {
		case err == nil:
			return file, nil
		case !errors.Is(err, fs.ErrNotExist) && first == nil:
			first = err
		}
	}
	if first != nil {
		return nil, first
	}
	return nil, ErrMissing
}

// candidate is a file that may be read, by its path below a folder.
type candidate struct{ dir, path string }

func (c candidate) String() string { return filepath.Join(c.dir, c.path) }

// candidates are the files to try, in this order.
func (f *Finder) candidates(recorded string) (list []candidate) {
	mapped, known := recorded, false
	for _, m := range f.Maps {
		// Whole folders only: /src does not begin /srcs/a.c.
		if rest, ok := strings.CutPrefix(recorded, m.From); ok &&
			(rest == "" || rest[0] == '/' || strings.HasSuffix(m.From, "/")) {
			mapped, known = m.To+rest, true
			list = append(list, below(m.To, rest))
			break
		}
	}
	if !known {
		list = f.here(recorded)
	}
	for _, dir := range f.Paths {
		rest := strings.TrimLeft(filepath.Clean("/"+mapped), "/") // cannot lead out of the folder
		for rest != "" {
			list = append(list, candidate{dir, rest})
			_, next, ok := strings.Cut(rest, "/")
			if !ok {
				break
			}
			rest = next
		}
	}
	return list
}

// below is a file in a folder, or the folder itself if it is one file.
func below(dir, rest string) candidate {
	if rest == "" {
		return candidate{filepath.Dir(dir), filepath.Base(dir)}
	}
	return candidate{dir, strings.TrimLeft(filepath.Clean("/"+rest), "/")}
}

// here returns the candidates for the recorded path itself.
func (f *Finder) here(recorded string) (list []candidate) {
	path := recorded
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.Dir, path)
	}
	path = filepath.Clean(path)
	if !filepath.IsAbs(path) {
		return nil
	}
	for _, dir := range SystemDirs {
		if rest, ok := strings.CutPrefix(path, dir+"/"); ok {
			return []candidate{{dir, rest}}
		}
	}
	return []candidate{{"", path}}
}

func (f *Finder) read(c candidate) (*File, error) {
	var in *os.File
	var err error
	if c.dir != "" {
		in, err = openBelow(c.dir, c.path)
	} else {
		in, err = f.openNamed(c.path)
	}
	path := c.String()
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%s cannot be read: permission denied", path)
	case err != nil:
		return nil, err
	}
	defer in.Close()
	st, err := in.Stat()
	switch {
	case err != nil || !st.Mode().IsRegular() || !onDisk(in):
		return nil, fs.ErrNotExist
	case st.Size() > maxFile:
		return nil, fmt.Errorf("%s is too large for a source file (%d bytes)", path, st.Size())
	}
	b, err := io.ReadAll(io.LimitReader(in, maxFile))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	text := strings.TrimSuffix(string(b), "\n")
	file := &File{Path: path, Lines: strings.Split(text, "\n")}
	if text == "" {
		file.Lines = nil
	}
	for i, l := range file.Lines {
		file.Lines[i] = strings.TrimSuffix(l, "\r")
	}
	file.Newer = !f.Recorded.IsZero() && st.ModTime().After(f.Recorded)
	return file, nil
}

// openNamed opens a file if a module on this machine was built from it.
func (f *Finder) openNamed(path string) (*os.File, error) {
	if _, err := os.Lstat(path); err != nil {
		return nil, fs.ErrNotExist
	}
	if f.Named == nil || !f.Named(path) {
		return nil, ErrForeign
	}
	return openHere(path)
}

// Line returns a line of the file, counted from 1; false if it has fewer.
func (f *File) Line(n uint32) (string, bool) {
	if f == nil || n == 0 || uint64(n) > uint64(len(f.Lines)) {
		return "", false
	}
	return f.Lines[n-1], true
}
