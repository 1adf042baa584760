package symbolize

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/dwarfx"
	"github.com/heaptap/heaptap/internal/elfx"
)

// splits opens the debug information that -gsplit-dwarf split off a program: .dwo files, or a .dwp file of them.
type splits struct {
	root  string   // put before paths, as Options.Root
	files []string // paths of the program, and of the file with its debug information

	asked atomic.Bool // debug information of any unit was requested

	mu     sync.Mutex // protects the following fields
	looked bool       // for the .dwp file
	packed *elfx.File
	index  *dwarfx.Package
	err    error // why an existing .dwp file is not used
}

// open is a dwarfx.Options.Split. As in debuggers, the package comes first: whoever makes one may delete the others.
func (s *splits) open(name, dir string, id uint64) (dwarfx.Sections, func(), error) {
	s.asked.Store(true)
	sections, err := s.unpack(id)
	if sections.Info != nil {
		return sections, func() {}, nil
	}
	for _, path := range s.candidates(name, dir) {
		f, openErr := elfx.OpenExisting(path)
		if f == nil {
			if openErr != nil {
				err = openErr
			}
			continue
		}
		if sections, err = loadSplit(f); err != nil {
			f.Close()
			return sections, nil, err
		}
		return sections, func() { f.Close() }, nil
	}
	if err == nil {
		err = fmt.Errorf("%s is not there, and no .dwp file beside %s", rooted(dir, name), s.files[0])
	}
	return dwarfx.Sections{}, nil, err
}

// used reports whether any split debug information was requested.
func (s *splits) used() bool { return s.asked.Load() }

// candidates returns where a .dwo file may be: where the compiler put it, or beside the program.
func (s *splits) candidates(name, dir string) []string {
	var list []string
	add := func(path string) {
		if s.root != "" {
			list = append(list, filepath.Join(s.root, path))
		}
		list = append(list, path)
	}
	add(rooted(dir, name))
	for _, f := range s.files {
		if !filepath.IsAbs(name) {
			list = append(list, filepath.Join(filepath.Dir(f), name))
		}
		list = append(list, filepath.Join(filepath.Dir(f), filepath.Base(name)))
	}
	return list
}

// rooted returns a file's path as the compiler saw it.
func rooted(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// unpack returns the sections of a unit in the package; none, and no error, if there is no package.
func (s *splits) unpack(id uint64) (sections dwarfx.Sections, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.looked {
		s.looked = true
		s.openPackage()
	}
	if s.index == nil {
		return sections, s.err
	}
	if sections, err = s.index.Unit(id); err != nil {
		err = fmt.Errorf("%s: %w", s.packed.Path, err)
	}
	return sections, err
}

func (s *splits) openPackage() {
	for _, path := range s.files {
		f, err := elfx.OpenExisting(path + ".dwp")
		if f == nil && strings.HasSuffix(path, ".debug") {
			f, err = elfx.OpenExisting(strings.TrimSuffix(path, ".debug") + ".dwp")
		}
		if err != nil {
			s.err = err
		}
		if f == nil {
			continue
		}
		s.packed = f
		var sections dwarfx.Sections
		var index []byte
		if sections, err = loadSplit(f); err == nil {
			index, err = f.Section(".debug_cu_index")
		}
		if err == nil {
			s.index, err = dwarfx.NewPackage(sections, index)
		}
		if s.err = err; err != nil {
			s.err = fmt.Errorf("%s: %w", f.Path, err)
		}
		return
	}
}

func (s *splits) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.packed != nil {
		s.packed.Release()
	}
}

func (s *splits) close() {
	if s.packed != nil {
		s.packed.Close()
	}
}

// loadSplit reads the sections of a .dwo or .dwp file. Big-endian files are an error.
func loadSplit(f *elfx.File) (dwarfx.Sections, error) {
	if !f.Little() {
		return dwarfx.Sections{}, fmt.Errorf("%s: big-endian files are not supported", f.Path)
	}
	return loadSections(f, ".dwo")
}
