package symbolize

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/dwarfx"
	"github.com/heaptap/heaptap/internal/elfx"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/namecache"
)

// resolve fills in the frames of one job.
func (s *Symbolizer) resolve(ctx context.Context, j *job, names *demangler) {
	if j.module.ID == 0 {
		s.perfMap(ctx, j)
		return
	}
	f, debug := s.open(ctx, j)
	if f != nil {
		defer f.Close()
	}
	if debug != nil {
		defer debug.Close()
	}
	key, ok := nameKey(j.module, f, debug)
	if s.o.Names == nil || !ok {
		s.lookUp(ctx, j, f, debug, names)
		return
	}
	frames, known := s.o.Names.Find(key, j.addrs)
	missing := &job{module: j.module}
	var where []int
	for i, a := range j.addrs {
		if known[i] {
			j.frames[i] = frames[i]
		} else {
			missing.addrs, where = append(missing.addrs, a), append(where, i)
		}
	}
	if len(where) == 0 {
		return
	}
	missing.frames = make([][]event.Frame, len(where))
	s.lookUp(ctx, missing, f, debug, names)
	for k, i := range where {
		j.frames[i] = missing.frames[k]
	}
	if len(j.notes)+len(missing.notes) == 0 && !missing.split && ctx.Err() == nil {
		_ = s.o.Names.Add(key, missing.addrs, missing.frames) // on failure, names are looked up again
	}
	j.notes = append(j.notes, missing.notes...)
}

// nameFormat changes whenever this package, dwarfx or elfx gives an address another name than before, so that older
// cached names are not used.
const nameFormat = 1

// nameKey identifies the names of these files in the cache. Without a build id there is no key.
func nameKey(m event.Module, f, debug *elfx.File) (k namecache.Key, ok bool) {
	h := fnv.New64a()
	fmt.Fprint(h, nameFormat)
	for _, d := range []*elfx.File{f, debug} {
		if d == nil {
			fmt.Fprint(h, " none")
			continue
		}
		size, modified := d.Stamp()
		fmt.Fprintf(h, " %d %d", size, modified.UnixNano())
	}
	return namecache.Key{BuildID: hex.EncodeToString(m.BuildID), Source: h.Sum64()}, len(m.BuildID) > 0 &&
		(f != nil || debug != nil)
}

// lookUp reads the names from the files.
func (s *Symbolizer) lookUp(ctx context.Context, j *job, f, debug *elfx.File, names *demangler) {
	var lines [][]dwarfx.Frame
	for _, d := range []*elfx.File{f, debug} {
		if d != nil && d.HasDWARF() && lines == nil {
			lines = s.dwarf(ctx, j, d, paths(f, debug))
		}
	}
	if lines == nil {
		lines = make([][]dwarfx.Frame, len(j.addrs))
	}
	symbols := make([]elfx.Symbol, len(j.addrs))
	for _, d := range []*elfx.File{debug, j.mini(f, debug), f} { // a debug file has the full table
		if d == nil || ctx.Err() != nil {
			continue
		}
		found, err := d.Symbols(j.addrs)
		if err != nil {
			j.note("%s: symbol table: %v", j.module.Path, err)
		}
		for i := range symbols {
			if symbols[i].Name == "" {
				symbols[i] = found[i]
			}
		}
	}
	plt := make([]string, len(j.addrs))
	if f != nil {
		if names, err := f.PLT(j.addrs); err == nil {
			plt = names
		}
	}
	startup(f, j.addrs, symbols)
	for i := range j.addrs {
		j.frames[i] = frames(names, lines[i], symbols[i], plt[i])
	}
}

// startup names _start and main if no symbol table does.
func startup(f *elfx.File, addrs []uint64, symbols []elfx.Symbol) {
	if f == nil || !slices.ContainsFunc(symbols, func(s elfx.Symbol) bool { return s.Name == "" }) {
		return
	}
	for _, s := range f.Startup() {
		i, _ := slices.BinarySearch(addrs, s.Start)
		for ; i < len(addrs) && addrs[i]-s.Start < s.Size; i++ {
			if symbols[i].Name == "" {
				symbols[i] = s
			}
		}
	}
}

// paths returns the paths of the files that are open.
func paths(files ...*elfx.File) (list []string) {
	for _, f := range files {
		if f != nil {
			list = append(list, f.Path)
		}
	}
	return list
}

// mini opens the small symbol table within a stripped file; nil if there is none or none is needed.
func (j *job) mini(f, debug *elfx.File) *elfx.File {
	if f == nil || f.HasSymtab() || debug != nil && debug.HasSymtab() {
		return nil
	}
	m, err := f.MiniDebug()
	switch {
	case err != nil:
		j.note("%v", err)
	case m != nil && m.Little():
		return m
	}
	return nil
}

// frames combines what DWARF and the symbol table say about one address.
func frames(names *demangler, lines []dwarfx.Frame, symbol elfx.Symbol, plt string) []event.Frame {
	var list []event.Frame
	for _, l := range lines {
		f := event.Frame{File: l.File, Line: l.Line, Inlined: l.Inlined}
		switch {
		case l.Linkage != "":
			f.Function, f.Linkage = names.demangle(l.Linkage)
		case !l.Inlined && symbol.Name != "" && (l.Name == "" || l.Scoped):
			f.Function, f.Linkage = names.demangle(symbol.Name)
		default:
			f.Function = l.Name
			if name, linkage := names.demangle(symbol.Name); !l.Inlined && name == l.Name {
				f.Linkage = linkage // a part or a clone of the function
			}
		}
		list = append(list, f)
	}
	if len(list) > 0 {
		return list
	}
	switch {
	case symbol.Name != "":
		name, linkage := names.demangle(symbol.Name)
		return []event.Frame{{Function: name, Linkage: linkage}}
	case plt != "":
		name, linkage := names.demangle(plt)
		if linkage != "" {
			linkage += "@plt"
		}
		return []event.Frame{{Function: name + "@plt", Linkage: linkage}}
	}
	return nil
}

// loaded opens the file that a module was loaded from: the one at path. If it cannot be used, f is nil and why says why
// not; it is empty if there is no file to look for.
func (s *Symbolizer) loaded(m event.Module) (f *elfx.File, path, why string) {
	if m.Path == "" {
		return nil, "", ""
	}
	path, err := m.Path, error(nil)
	if s.o.Root != "" {
		path = filepath.Join(s.o.Root, m.Path)
		if f, err = elfx.Open(path); errors.Is(err, os.ErrNotExist) {
			path = m.Path
		}
	}
	if f == nil && (err == nil || path == m.Path) {
		f, err = elfx.Open(path)
	}
	switch {
	case err != nil:
		return nil, path, reason(err, path)
	case len(m.BuildID) > 0 && !bytes.Equal(f.BuildID(), m.BuildID):
		why = fmt.Sprintf("the file has been replaced since it was loaded (its build id is %s, that of the loaded one "+
			"was %x)", id(f.BuildID()), m.BuildID)
	case !f.Little():
		why = "big-endian files are not supported"
	default:
		return f, path, ""
	}
	f.Close()
	return nil, path, why
}

// vdso opens the kernel's module if m is one. f is nil if it is not the one of this kernel.
func vdso(m event.Module) (f *elfx.File, ok bool) {
	if !strings.HasPrefix(m.Path, "[vdso]") && !strings.HasPrefix(m.Path, "linux-vdso") &&
		!strings.HasPrefix(m.Path, "linux-gate") {
		return nil, false
	}
	f, err := elfx.VDSO()
	if err != nil || !bytes.Equal(f.BuildID(), m.BuildID) {
		return nil, true
	}
	return f, true
}

// open opens the module's file and its separate debug file, if they exist or Fetch finds them. Each is of the build
// that was loaded, or nil.
func (s *Symbolizer) open(ctx context.Context, j *job) (f, debug *elfx.File) {
	m := j.module
	if v, ok := vdso(m); ok {
		return v, nil
	}
	f, path, why := s.loaded(m)
	if path == "" {
		return nil, nil
	}
	if why != "" {
		j.note("%s: no names: %s", m.Path, why)
	}
	if f != nil && f.HasDWARF() && f.HasSymtab() {
		return f, nil
	}
	buildID := m.BuildID
	if f != nil && len(buildID) == 0 {
		buildID = f.BuildID()
	}
	debug, notes := elfx.OpenDebug(f, path, buildID, s.o.DebugDirs)
	if debug == nil && (f == nil || !f.HasDWARF()) {
		var err error
		if debug, err = s.fetch(ctx, buildID); err != nil {
			notes = append(notes, fmt.Sprintf("%s: its debug information could not be downloaded: %v", m.Path, err))
		}
	}
	for _, n := range notes {
		j.note("%s", n)
	}
	if debug != nil && !debug.Little() {
		debug.Close()
		debug = nil
	}
	if debug != nil && f == nil && len(j.notes) > 0 {
		j.notes = nil // the debug file has everything
	}
	return f, debug
}

// fetch gets and opens a debug file; nil if nobody has it.
func (s *Symbolizer) fetch(ctx context.Context, id []byte) (*elfx.File, error) {
	if s.o.Fetch == nil || len(id) == 0 {
		return nil, nil
	}
	path, err := s.o.Fetch(ctx, id)
	if path == "" || err != nil {
		return nil, err
	}
	f, err := elfx.Open(path)
	if err == nil && !bytes.Equal(f.BuildID(), id) {
		f.Close()
		return nil, fmt.Errorf("%s does not have this build id", path)
	}
	return f, err
}

// reason returns the text of an error of opening a file, without the path if the note has it already.
func reason(err error, path string) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return strings.TrimPrefix(err.Error(), path+": ")
}

func id(b []byte) string {
	if len(b) == 0 {
		return "missing"
	}
	return fmt.Sprintf("%x", b)
}

// dwarf looks all addresses up in a file's DWARF. Split debug information is also searched for beside paths.
func (s *Symbolizer) dwarf(ctx context.Context, j *job, f *elfx.File, paths []string) [][]dwarfx.Frame {
	split := splits{root: s.o.Root, files: paths}
	data, done := s.data(ctx, j, f, &split)
	if data == nil {
		return nil
	}
	defer done()
	found, err := data.Lookup(ctx, j.addrs)
	j.split = j.split || split.used()
	if err != nil && ctx.Err() == nil {
		j.note("%s: some names or lines are unknown: %s", f.Path, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return found
}

// data opens a file's DWARF; nil if it cannot be read. It is used until done is called.
func (s *Symbolizer) data(ctx context.Context, j *job, f *elfx.File, split *splits) (data *dwarfx.Data, done func()) {
	sections, err := loadSections(f, "")
	if err != nil {
		j.note("%v; its lines are unknown", err)
		return nil, nil
	}
	o := dwarfx.Options{Workers: s.o.Workers, Split: split.open, Release: func() {
		f.Release()
		split.release()
	}}
	for _, c := range f.Code() {
		o.Code = append(o.Code, dwarfx.Span(c))
	}
	alt, err := elfx.OpenAlt(f, s.o.DebugDirs)
	if _, id, ok := f.AltLink(); err != nil && ok {
		if fetched, fetchErr := s.fetch(ctx, id); fetched != nil {
			alt, err = fetched, nil
		} else if fetchErr != nil {
			err = fmt.Errorf("%w; it could not be downloaded: %w", err, fetchErr)
		}
	}
	if err != nil {
		j.note("%v; some names and lines are missing", err)
	}
	if alt != nil {
		if a, err := loadSections(alt, ""); err != nil {
			j.note("%v; some names and lines are missing", err)
		} else {
			o.Alt = dwarfx.New(a, dwarfx.Options{})
		}
	}
	return dwarfx.New(sections, o), func() {
		split.close()
		if alt != nil {
			alt.Close()
		}
	}
}

// loadSections reads the sections that dwarfx uses, whose names have a suffix. Only the first two are indispensable.
func loadSections(f *elfx.File, suffix string) (dwarfx.Sections, error) {
	var s dwarfx.Sections
	for _, p := range []struct {
		name string
		data *[]byte
		must bool
	}{
		{".debug_info", &s.Info, true}, {".debug_abbrev", &s.Abbrev, true}, {".debug_line", &s.Line, false},
		{".debug_line_str", &s.LineStr, false}, {".debug_str", &s.Str, false}, {".debug_str_offsets", &s.StrOffsets,
			false},
		{".debug_addr", &s.Addr, false}, {".debug_ranges", &s.Ranges, false}, {".debug_rnglists", &s.Rnglists, false},
	} {
		var err error
		if *p.data, err = f.Section(p.name + suffix); err != nil && p.must {
			return s, err
		}
	}
	return s, nil
}
