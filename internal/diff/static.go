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
	Rows          []StaticRow // variables that a recording names; the largest change first, and unchanged ones last
	Files         []StaticSum // by file, with all that has no name, in the same order
	Kinds         []StaticSum // by section, in order
}

// StaticRow is a variable, or several of one name and file.
type StaticRow struct {
	StaticSum
	Variable          *query.Global // as the second recording has it, if it names it
	InBefore, InAfter bool          // the recording names it; else it is small or is not there
}

// StaticSum is how much static data there is on both sides: bytes in all threads.
type StaticSum struct {
	Name          string
	Before, After uint64
}

// Status says how they have changed.
func (s *StaticSum) Status() Status {
	switch {
	case s.Before == s.After:
		return Unchanged
	case s.Before == 0:
		return New
	case s.After == 0:
		return Gone
	case s.After > s.Before:
		return Grown
	}
	return Shrunk
}

// Change returns by how many bytes they have changed, or as near to it as an int64 can be: recordings may be forged.
func (s *StaticSum) Change() int64 {
	if s.After >= s.Before {
		return int64(min(s.After-s.Before, math.MaxInt64))
	}
	return -int64(min(s.Before-s.After, math.MaxInt64))
}

// compare puts what has changed most first, and what has not changed last, the largest first.
func (s *StaticSum) compare(o *StaticSum) int {
	size := func(s *StaticSum) uint64 { return max(s.Before, s.After) - min(s.Before, s.After) }
	return cmp.Or(cmp.Compare(size(o), size(s)), cmp.Compare(max(o.Before, o.After), max(s.Before, s.After)),
		cmp.Compare(s.Name, o.Name))
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
				r = &StaticRow{StaticSum: StaticSum{Name: v.Name}}
				rows[key] = r
			}
			r.Variable = v
			if side == 0 {
				r.Before, r.InBefore = r.Before+v.Total, true
			} else {
				r.After, r.InAfter = r.After+v.Total, true
			}
		}
	}
	for _, r := range rows {
		s.Rows = append(s.Rows, *r)
	}
	slices.SortFunc(s.Rows, func(a, b StaticRow) int {
		return cmp.Or(a.compare(&b.StaticSum), cmp.Compare(a.Variable.Path, b.Variable.Path),
			cmp.Compare(a.Variable.File, b.Variable.File))
	})
	s.sumUp(names)
	return s
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
			if side == 0 {
				f.Before += g.Files[i].Total.Total
			} else {
				f.After += g.Files[i].Total.Total
			}
		}
	}
	for _, f := range files {
		s.Files = append(s.Files, *f)
	}
	slices.SortFunc(s.Files, func(a, b StaticSum) int { return a.compare(&b) })
	for k := range s.Before.Kinds {
		sum := StaticSum{event.DataKind(k).String(), s.Before.Kinds[k].Total, s.After.Kinds[k].Total}
		if sum.Before > 0 || sum.After > 0 {
			s.Kinds = append(s.Kinds, sum)
		}
	}
}
