// Package source finds the text of source files that a recording names. They lie where the program was built: here, under
// another folder, or nowhere. What is found may have changed since; what the recording tells of lines does not depend on it.
//
// A recording may come from anyone, and name any file as a source file: that shall not make heaptap show it. Read are regular files below
// folders that the user named, those below the system's folders of source text, and those of which a program on this machine says that it
// was made of them. Links do not lead out of a folder.
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

// Finder says where to look.
type Finder struct {
	// Maps replace the beginning of a recorded path by another one; the first that fits counts.
	Maps []Map
	// Paths are folders below which files are looked for: with the whole recorded path, then without its first folders, one
	// after the other, until only the name is left.
	Paths []string
	// Dir is the folder that recorded paths are relative to if they are relative.
	Dir string
	// Named says whether a program or a library on this machine, the very one that was recorded, says that it was made of a file of that
	// recorded path; nil: that is known of none.
	Named func(recorded string) bool
	// Recorded is when the program ran: a file that was changed later may not be what was compiled. The zero time: unknown.
	Recorded time.Time
}

// Map is a part of a path, and what stands there instead.
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
	Newer bool // it was changed after the program was recorded
}

// ErrMissing is the error, in a chain, for a file that was not found.
var ErrMissing = errors.New("the source file was not found")

// ErrForeign is the error, in a chain, for a file that may be there, and is not read because nobody but the recording says that it is source
// text.
var ErrForeign = errors.New("the source file was not read, since no program here with the recording's build id was made of it")

// SystemDirs are the folders in which systems keep source text that anybody may read.
var SystemDirs = []string{"/usr/include", "/usr/src", "/usr/lib/debug", "/usr/lib/gcc", "/usr/local/include", "/usr/local/src"}

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

// candidate is a file that may be read: the one of that path below a folder.
type candidate struct{ dir, path string }

func (c candidate) String() string { return filepath.Join(c.dir, c.path) }

// candidates are the files to try, in this order.
func (f *Finder) candidates(recorded string) (list []candidate) {
	mapped, known := recorded, false
	for _, m := range f.Maps {
		// Whole folders only: /src does not begin /srcs/a.c.
		if rest, ok := strings.CutPrefix(recorded, m.From); ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(m.From, "/")) {
			mapped, known = m.To+rest, true
			list = append(list, below(m.To, rest))
			break
		}
	}
	if !known {
		list = f.here(recorded)
	}
	for _, dir := range f.Paths {
		rest := strings.TrimLeft(filepath.Clean("/"+mapped), "/") // does not lead out of the folder
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

// here are the files that the recorded path itself means.
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

// openNamed opens a file if a program here was made of it.
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
