// Package source finds the text of source files that a recording names. They lie where the program was built: here, under
// another folder, or nowhere. What is found may have changed since; what the recording tells of lines does not depend on it.
package source

import (
	"errors"
	"fmt"
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
	// Recorded is when the program ran: a file that was changed later may not be what was compiled. The zero time: unknown.
	Recorded time.Time
}

// Map is a part of a path, and what stands there instead.
type Map struct{ From, To string }

// ParseMap reads FROM=TO.
func ParseMap(text string) (Map, error) {
	from, to, ok := strings.Cut(text, "=")
	if !ok || from == "" {
		return Map{}, fmt.Errorf("%q is no substitution; write FROM=TO, for example /build/src=/home/me/src", text)
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

// Find reads a file by its recorded path.
func (f *Finder) Find(recorded string) (*File, error) {
	var first error
	for _, path := range f.candidates(recorded) {
		file, err := f.read(path)
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

// candidates are the paths to try, in this order.
func (f *Finder) candidates(recorded string) []string {
	mapped := recorded
	for _, m := range f.Maps {
		// Whole folders only: /src does not begin /srcs/a.c.
		if rest, ok := strings.CutPrefix(recorded, m.From); ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(m.From, "/")) {
			mapped = m.To + rest
			break
		}
	}
	list := []string{mapped}
	if !filepath.IsAbs(mapped) {
		list = []string{filepath.Join(f.Dir, mapped)}
	}
	for _, dir := range f.Paths {
		rest := strings.TrimLeft(filepath.Clean("/"+mapped), "/") // does not lead out of the folder
		for rest != "" {
			list = append(list, filepath.Join(dir, rest))
			_, next, ok := strings.Cut(rest, "/")
			if !ok {
				break
			}
			rest = next
		}
	}
	return list
}

func (f *Finder) read(path string) (*File, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		if errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("%s cannot be read: permission denied", path)
		}
		return nil, fs.ErrNotExist
	case !st.Mode().IsRegular():
		return nil, fs.ErrNotExist
	case st.Size() > maxFile:
		return nil, fmt.Errorf("%s is too large for a source file (%d bytes)", path, st.Size())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, errors.Unwrap(err))
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

// Line returns a line of the file, counted from 1; false if it has fewer.
func (f *File) Line(n uint32) (string, bool) {
	if f == nil || n == 0 || uint64(n) > uint64(len(f.Lines)) {
		return "", false
	}
	return f.Lines[n-1], true
}
