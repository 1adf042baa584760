package answer

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/query"
)

// DataSum is the size of static data.
type DataSum struct {
	Section   string  `json:"section,omitempty"`
	Bytes     uint64  `json:"bytes"`
	Total     uint64  `json:"total_bytes"`
	Resident  *uint64 `json:"resident_bytes"` // null: unknown
	Variables uint64  `json:"variables"`
	Named     uint64  `json:"variable_bytes"`
}

// DataFile is the static data of a file.
type DataFile struct {
	Module string `json:"module"`
	DataSum
	Sections []DataSum `json:"sections"`
}

// Variable is a static or thread-local variable.
type Variable struct {
	Name     string  `json:"name"`
	Linkage  string  `json:"linkage,omitempty"`
	Section  string  `json:"section"`
	Bytes    uint64  `json:"bytes"`
	Total    uint64  `json:"total_bytes"`
	Resident *uint64 `json:"resident_bytes"`
	Module   string  `json:"module"`
	Address  string  `json:"address"`
	File     string  `json:"file,omitempty"`
	Line     uint32  `json:"line,omitempty"`
}

// Globals are the static and thread-local variables.
type Globals struct {
	FormatVersion int        `json:"format_version"`
	Recording     Recording  `json:"recording"`
	Threads       uint64     `json:"threads"`
	Now           uint64     `json:"threads_now"`
	Counted       bool       `json:"threads_counted"`
	ResidentAt    *int64     `json:"resident_at_ns"` // null: never
	Total         DataSum    `json:"total"`
	Sections      []DataSum  `json:"sections"`
	Modules       []DataFile `json:"modules"`
	Variables     []Variable `json:"variables"`
	More          int        `json:"more"`
}

// NewGlobals makes the answer.
func NewGlobals(s *query.Source, g *query.Globals, page Page) *Globals {
	list, more := Cut(page, g.Variables)
	j := &Globals{FormatVersion: Version, Recording: NewRecording(s.Profile), Threads: g.Threads, Now: g.Now,
		Counted: g.Counted, Total: newDataSum(&g.Total, ""), Sections: newSections(&g.Kinds), Modules: []DataFile{},
		Variables: []Variable{}, More: more}
	if g.At >= 0 {
		j.ResidentAt = &g.At
	}
	for i := range g.Files {
		f := &g.Files[i]
		j.Modules = append(j.Modules, DataFile{f.Path, newDataSum(&f.Total, ""), newSections(&f.Kinds)})
	}
	for i := range list {
		v := &list[i]
		j.Variables = append(j.Variables, Variable{v.Name, v.Linkage, v.Kind.String(), v.Size, v.Total,
			newResident(v.Resident), v.Path, hex(v.Addr), v.File, v.Line})
	}
	return j
}

func newSections(kinds *[event.DataKindEnd]query.GlobalSum) []DataSum {
	list := []DataSum{}
	for k := range kinds {
		if kinds[k].Bytes > 0 {
			list = append(list, newDataSum(&kinds[k], event.DataKind(k).String()))
		}
	}
	return list
}

func newDataSum(s *query.GlobalSum, section string) DataSum {
	return DataSum{section, s.Bytes, s.Total, newResident(s.Resident), s.Variables, s.Named}
}

func newResident(r query.Resident) *uint64 {
	if !r.Known {
		return nil
	}
	return &r.Bytes
}
