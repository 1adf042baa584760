package diff

import (
	"cmp"
	"math"
	"path"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/query"
)

// Static is the difference between the static and thread-local variables of two recordings. Variables are the same if
// their files and their own names are, and so are the names of the source files that define them, without folders.
// Files are paired as for call stacks.
type Static struct {
	Before, After *query.Globals
	Rows          []StaticRow // variables that recordings name; the largest change first, and unchanged ones last
	Files         []StaticSum // by file, with all that has no name, in the same order
	Kinds         []StaticSum // by section, in order
}

// StaticRow is a variable, or several of one name and file, in all threads.
type StaticRow struct {
	Variable      *query.Global  // as the second recording has it, if it names it
	Before, After *StaticExtents // nil: the recording does not name it, since it is small or is not there
}

// StaticExtents are the sizes of the variables of a row in one recording.
type StaticExtents struct{ Bytes, Count uint64 }

// StaticSum is the static data of a file or a section on both sides.
type StaticSum struct {
	Name          string
	Before, After uint64
}

// Status says how a variable has changed.
func (r *StaticRow) Status() Status {
	switch {
	case r.Before == nil:
		return New
	case r.After == nil:
		return Gone
	}
	return statusOf(r.Before.Bytes, r.After.Bytes)
}

// Change returns by how many bytes a variable has changed.
func (r *StaticRow) Change() int64 { return by(r.Before.bytes(), r.After.bytes()) }

func (e *StaticExtents) bytes() uint64 {
	if e == nil {
		return 0
	}
	return e.Bytes
}

// Status says how the data of a file or a section have changed.
func (s *StaticSum) Status() Status { return statusOf(s.Before, s.After) }

// Change returns by how many bytes they have changed.
func (s *StaticSum) Change() int64 { return by(s.Before, s.After) }

func statusOf(before, after uint64) Status {
	switch {
	case before == after:
		return Unchanged
	case before == 0:
		return New
	case after == 0:
		return Gone
	case after > before:
		return Grown
	}
	return Shrunk
}

// by returns after less before, or as near to it as an int64 can be: recordings may be forged.
func by(before, after uint64) int64 {
	if after >= before {
		return int64(min(after-before, math.MaxInt64))
	}
	return -int64(min(before-after, math.MaxInt64))
}

// Changed returns the variables that have changed.
func (s *Static) Changed() []StaticRow {
	n := slices.IndexFunc(s.Rows, func(r StaticRow) bool { return r.Status() == Unchanged })
	if n < 0 {
		n = len(s.Rows)
	}
	return s.Rows[:n]
}

// staticKey identifies a variable on both sides.
type staticKey struct{ module, name, file string }

// CompareStatic compares the variables of the files that match one of the patterns (see query.Query.Modules); nil: all
// files.
func CompareStatic(before, after *query.Source, modules []string) *Static {
	s := &Static{Before: before.Globals(modules), After: after.Globals(modules)}
	pairs, _ := pairModules(before, after)
	names := [2]func(string) string{func(file string) string { return cmp.Or(pairs[file], file) },
		func(file string) string { return file }}
	rows := make(map[staticKey]*StaticRow)
	for side, g := range []*query.Globals{s.Before, s.After} {
		for i := range g.Variables {
			v := &g.Variables[i]
			key := staticKey{names[side](v.Path), v.Name, path.Base(v.File)}
			if v.Name == "" { // known by nothing that another build has, too
				continue
			}
			r := rows[key]
			if r == nil {
				r = &StaticRow{}
				rows[key] = r
			}
			r.Variable = v
			of := &r.Before
			if side == 1 {
				of = &r.After
			}
			if *of == nil {
				*of = &StaticExtents{}
			}
			(*of).Bytes += v.Total
			(*of).Count++
		}
	}
	for _, r := range rows {
		s.Rows = append(s.Rows, *r)
	}
	slices.SortFunc(s.Rows, func(a, b StaticRow) int {
		return cmp.Or(compareChanges(a.Change(), b.Change(), a.Status(), b.Status()),
			cmp.Compare(max(b.Before.bytes(), b.After.bytes()), max(a.Before.bytes(), a.After.bytes())),
			cmp.Compare(a.Variable.Name, b.Variable.Name), cmp.Compare(a.Variable.Path, b.Variable.Path),
			cmp.Compare(a.Variable.File, b.Variable.File))
	})
	s.sumUp(names)
	return s
}

// compareChanges puts what has changed most first, and what has not changed last.
func compareChanges(a, b int64, x, y Status) int {
	if (x == Unchanged) != (y == Unchanged) {
		return cmp.Compare(y, x) // Unchanged is the least
	}
	return cmp.Compare(magnitude(b), magnitude(a))
}

func magnitude(change int64) uint64 {
	if change < 0 {
		return uint64(-change)
	}
	return uint64(change)
}

// sumUp compares the sums of files and sections.
func (s *Static) sumUp(names [2]func(string) string) {
	files := make(map[string]*StaticSum)
	for side, g := range []*query.Globals{s.Before, s.After} {
		for i := range g.Files {
			name := names[side](g.Files[i].Path)
			f := files[name]
			if f == nil {
				f = &StaticSum{}
				files[name] = f
			}
			f.Name = g.Files[i].Path
			*[]*uint64{&f.Before, &f.After}[side] += g.Files[i].Total.Total
		}
	}
	for _, f := range files {
		s.Files = append(s.Files, *f)
	}
	slices.SortFunc(s.Files, func(a, b StaticSum) int {
		return cmp.Or(compareChanges(a.Change(), b.Change(), a.Status(), b.Status()),
			cmp.Compare(max(b.Before, b.After), max(a.Before, a.After)), cmp.Compare(a.Name, b.Name))
	})
	for k := range s.Before.Kinds {
		sum := StaticSum{event.DataKind(k).String(), s.Before.Kinds[k].Total, s.After.Kinds[k].Total}
		if sum.Before > 0 || sum.After > 0 {
			s.Kinds = append(s.Kinds, sum)
		}
	}
}
