package elfx

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// DebugDirs are the directories into which distributions put separate debug files.
var DebugDirs = []string{"/usr/lib/debug"}

// HasDWARF reports whether the file itself has debug information.
func (f *File) HasDWARF() bool { return f.HasSection(".debug_info") && f.HasSection(".debug_abbrev") }

// HasSymtab reports whether the file has a full symbol table.
func (f *File) HasSymtab() bool { return f.HasSection(".symtab") }

// OpenDebug finds the separate debug file of a program or library by its build id, and by .gnu_debuglink if f, which
// may be nil, is given. A file is checked against the build id, or else against the checksum in the link. If there is
// none, the result is nil; notes say which files were found but not used.
func OpenDebug(f *File, path string, buildID []byte, dirs []string) (debug *File, notes []string) {
	for _, name := range buildIDPaths(buildID, dirs) {
		d, err := OpenExisting(name)
		if err != nil {
			notes = append(notes, err.Error())
		}
		if d == nil {
			continue
		}
		if bytes.Equal(d.BuildID(), buildID) {
			return d, nil
		}
		d.Close()
		notes = append(notes, fmt.Sprintf("%s: its build id is not the one in its name; not used", name))
	}
	if f == nil {
		return nil, notes
	}
	link, crc, ok := f.DebugLink()
	if !ok || link != filepath.Base(link) {
		return nil, notes
	}
	for _, name := range debugLinkPaths(path, link, dirs) {
		if same(name, path) {
			continue
		}
		d, err := OpenExisting(name)
		if err != nil {
			notes = append(notes, err.Error())
		}
		if d == nil {
			continue
		}
		if id := d.BuildID(); len(id) > 0 && len(buildID) > 0 {
			if bytes.Equal(id, buildID) {
				return d, nil
			}
		} else if d.checksum() == crc {
			return d, nil
		}
		d.Close()
		notes = append(notes, fmt.Sprintf("%s: belongs to another build of %s; not used", name, path))
	}
	return nil, notes
}

// OpenAlt opens the file to which dwz moved shared debug information of f; nil if f has no such link.
func OpenAlt(f *File, dirs []string) (*File, error) {
	link, id, ok := f.AltLink()
	if !ok {
		return nil, nil
	}
	names := buildIDPaths(id, dirs)
	if filepath.IsAbs(link) {
		names = append(names, link)
	} else {
		names = append(names, filepath.Join(filepath.Dir(f.Path), link))
		if real, err := filepath.EvalSymlinks(f.Path); err == nil {
			names = append(names, filepath.Join(filepath.Dir(real), link))
		}
	}
	for _, name := range names {
		d, err := OpenExisting(name)
		if err != nil {
			return nil, err
		}
		if d == nil {
			continue
		}
		if bytes.Equal(d.BuildID(), id) {
			return d, nil
		}
		d.Close()
	}
	return nil, fmt.Errorf("%s: its debug information refers to %s (build id %x), which does not exist",
		f.Path, link, id)
}

// OpenExisting opens a file. If the file does not exist, it returns nil without an error.
func OpenExisting(name string) (*File, error) {
	d, err := Open(name)
	if err != nil && os.IsNotExist(err) {
		return nil, nil
	}
	return d, err
}

func buildIDPaths(id []byte, dirs []string) []string {
	if len(id) < 2 {
		return nil
	}
	var names []string
	h := hex.EncodeToString(id)
	for _, d := range dirs {
		names = append(names, filepath.Join(d, ".build-id", h[:2], h[2:]+".debug"))
	}
	return names
}

// debugLinkPaths lists where debuggers look: beside the file, in .debug, in the global directories under its path.
func debugLinkPaths(path, link string, dirs []string) []string {
	var names []string
	add := func(path string) {
		dir := filepath.Dir(path)
		names = append(names, filepath.Join(dir, link), filepath.Join(dir, ".debug", link))
		for _, d := range dirs {
			names = append(names, filepath.Join(d, dir, link))
		}
	}
	add(path)
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		add(real)
	}
	return names
}

func same(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// checksum returns the checksum of .gnu_debuglink: CRC-32 of the whole file.
func (f *File) checksum() uint32 {
	var sum uint32
	if err := Contain(func() error {
		const step = 8 << 20 // release what was read: files may be huge
		for b := f.data; len(b) > 0; b = b[min(step, len(b)):] {
			sum = crc32.Update(sum, crc32.IEEETable, b[:min(step, len(b))])
			f.Release()
		}
		return nil
	}); err != nil {
		return 0
	}
	return sum
}
