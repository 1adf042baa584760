package symbolize

import (
	"context"

	"github.com/heaptap/heaptap/internal/elfx"
	"github.com/heaptap/heaptap/internal/event"
)

// Known says which functions of a module are known.
type Known uint8

// What is known.
const (
	NoNames      Known = iota // the file is not here, or has been replaced
	SomeNames                 // it has no symbol table: only what it exports
	WithoutLines              // it has no debug information: all but functions that were inlined everywhere
	AllNames
)

// Functions calls visit with every function of a module that the files on this machine name, inlined ones included,
// and with its source files, until visit returns false. The frames have a function and a linkage name, or a file. It
// returns what is known of the module.
func (s *Symbolizer) Functions(ctx context.Context, m event.Module, visit func(f event.Frame) bool) (known Known) {
	err := elfx.Contain(func() error {
		known = s.functions(ctx, m, visit)
		return nil
	})
	if err != nil {
		return NoNames
	}
	return known
}

func (s *Symbolizer) functions(ctx context.Context, m event.Module, visit func(f event.Frame) bool) Known {
	j := &job{module: m}
	f, debug := s.open(ctx, j)
	if f != nil {
		defer f.Close()
	}
	if debug != nil {
		defer debug.Close()
	}
	if f == nil && debug == nil {
		return NoNames
	}
	names := newDemangler()
	on, known := true, SomeNames
	one := func(linkage string) bool {
		if on && ctx.Err() == nil {
			name, linkage := names.demangle(linkage)
			on = visit(event.Frame{Function: name, Linkage: linkage})
		}
		return on && ctx.Err() == nil
	}
	for _, d := range []*elfx.File{f, debug, j.mini(f, debug)} {
		if d == nil || !on {
			continue
		}
		if d.HasSymtab() {
			known = WithoutLines
		}
		if err := d.EachFunction(one); err != nil {
			known = SomeNames
		}
	}
	for _, d := range []*elfx.File{f, debug} {
		if d == nil || !on || !d.HasDWARF() {
			continue
		}
		if s.inlined(ctx, j, d, paths(f, debug), one, visit) && known == WithoutLines {
			known = AllNames
		}
	}
	return known
}

// inlined visits the functions that the debug information names. It reports whether all of it could be read.
func (s *Symbolizer) inlined(ctx context.Context, j *job, f *elfx.File, paths []string, one func(string) bool,
	visit func(f event.Frame) bool) bool {
	split := splits{root: s.o.Root, files: paths}
	data, done := s.data(ctx, j, f, &split)
	if data == nil {
		return false
	}
	defer done()
	err := data.Functions(ctx, func(name, linkage, file string) bool {
		switch {
		case file != "":
			return visit(event.Frame{File: file})
		case linkage != "":
			return one(linkage)
		}
		return visit(event.Frame{Function: name})
	})
	return err == nil && len(j.notes) == 0
}
