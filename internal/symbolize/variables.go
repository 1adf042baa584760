package symbolize

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/heaptap/heaptap/internal/dwarfx"
	"github.com/heaptap/heaptap/internal/elfx"
	"github.com/heaptap/heaptap/internal/event"
)

// The variables of a file that are listed: those of at least 1 KiB, up to the 1000 largest; and the 20 largest of any
// size.
const (
	tellFrom = 1 << 10
	tellMost = 1000
	tellSome = 20
)

// apartFrom is the size from which on a variable's declaration is looked up in a separate debug file. These files are
// mostly compressed, and those of system libraries are large.
const apartFrom = 64 << 10

// maxVariableName limits the names of variables, in bytes.
const maxVariableName = 1 << 10

// Variables returns the largest static and thread-local variables of a module's file, largest first, and the sections
// that hold static data. It returns nothing if the file is not the one that was loaded, or cannot be read.
func (s *Symbolizer) Variables(ctx context.Context, m event.Module) (list []event.Variable, data []event.DataSection) {
	if strings.HasPrefix(m.Path, "[") || m.Path == "" {
		return nil, nil
	}
	err := elfx.Contain(func() error {
		list, data = s.variables(ctx, m)
		return nil
	})
	if err != nil {
		return nil, nil // Resolve's notes report damaged files
	}
	return list, data
}

func (s *Symbolizer) variables(ctx context.Context, m event.Module) ([]event.Variable, []event.DataSection) {
	f, debug := s.open(ctx, &job{module: m})
	if f != nil {
		defer f.Close()
	}
	if debug != nil {
		defer debug.Close()
	}
	layout, names := f, f
	if f == nil {
		layout = debug
	}
	if debug != nil && debug.HasSymtab() {
		names = debug
	}
	if layout == nil || names == nil {
		return nil, nil
	}
	sections := layout.DataSections()
	objects, counts, err := names.Objects(sections, tellFrom, tellMost, tellSome)
	if err != nil {
		return nil, nil
	}
	demangler := newDemangler()
	list := make([]event.Variable, len(objects))
	for i, o := range objects {
		v := &list[i]
		v.Module, v.Addr, v.Size, v.Kind = m.ID, o.Addr, o.Size, kindOf(sections[o.Section].Storage)
		v.Name, v.Linkage = demangler.demangle(o.Name)
		v.Name, v.Linkage = cut(v.Name), cut(v.Linkage)
	}
	data := make([]event.DataSection, len(sections))
	for i, sec := range sections {
		data[i] = event.DataSection{Module: m.ID, Kind: kindOf(sec.Storage), Start: sec.Start, End: sec.End,
			Variables: counts[i].Objects, Named: counts[i].Bytes}
	}
	s.declare(ctx, list, f, debug)
	return list, data
}

func kindOf(s elfx.Storage) event.DataKind {
	switch {
	case s.PerThread && s.Zero:
		return event.TBSS
	case s.PerThread:
		return event.TData
	case s.Zero:
		return event.BSS
	case s.Writable:
		return event.Data
	}
	return event.ROData
}

func cut(s string) string {
	if len(s) <= maxVariableName {
		return s
	}
	n := maxVariableName
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// declare fills in where the variables are declared, as far as the debug information says so.
func (s *Symbolizer) declare(ctx context.Context, list []event.Variable, f, debug *elfx.File) {
	if len(list) == 0 {
		return
	}
	from := f
	if f == nil || !f.HasDWARF() {
		if from = debug; debug == nil || !debug.HasDWARF() || list[0].Size < apartFrom {
			return
		}
	}
	sections, err := loadSections(from, "")
	if err != nil {
		return
	}
	places := make([]dwarfx.Place, len(list))
	for i := range list {
		places[i] = dwarfx.Place{Addr: list[i].Addr, Thread: list[i].Kind.PerThread()}
	}
	split := splits{root: s.o.Root, files: paths(f, debug)}
	defer split.close()
	// What was found before an error is used.
	found, _ := dwarfx.New(sections, dwarfx.Options{Split: split.open, Release: from.Release}).Variables(ctx, places)
	for i, d := range found {
		v := &list[i]
		if places[i] == (dwarfx.Place{Thread: true}) && !strings.Contains(v.Name, d.Name) {
			continue // linkers also leave offset 0 for variables that they dropped
		}
		v.File, v.Line = d.File, d.Line
		// Compilers number static variables of functions: table.0.
		if name, number, ok := strings.Cut(v.Name, "."); ok && v.Linkage == "" && name == d.Name &&
			strings.Trim(number, "0123456789") == "" {
			v.Name, v.Linkage = name, v.Name
		}
	}
}
