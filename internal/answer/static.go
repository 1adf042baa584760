package answer

import (
	"github.com/heaptap/heaptap/internal/diff"
	"github.com/heaptap/heaptap/internal/query"
)

// StaticDiff is what has changed of static and thread-local variables.
type StaticDiff struct {
	FormatVersion int              `json:"format_version"`
	Before        Recording        `json:"before"`
	After         Recording        `json:"after"`
	Total         StaticChange     `json:"total"`
	Sections      []StaticChange   `json:"sections"`
	Modules       []StaticChange   `json:"modules"`
	Variables     []StaticVariable `json:"variables"`
	More          int              `json:"more"`
	Unchanged     int              `json:"unchanged"`
}

// StaticChange is by how much the static data of a section or a file have changed, in all threads.
type StaticChange struct {
	Name   string `json:"name,omitempty"`
	Status string `json:"status"`
	Before uint64 `json:"before_bytes"`
	After  uint64 `json:"after_bytes"`
	Change int64  `json:"change"`
}

// StaticVariable is by how much a variable has changed, in all threads.
type StaticVariable struct {
	Status  string  `json:"status"`
	Name    string  `json:"name"`
	Section string  `json:"section"`
	Module  string  `json:"module"`
	File    string  `json:"file,omitempty"`
	Line    uint32  `json:"line,omitempty"`
	Before  *uint64 `json:"before_bytes"` // null: the recording does not name it: it is small, or is not there
	After   *uint64 `json:"after_bytes"`
	Change  int64   `json:"change"`
}

// NewStaticDiff makes the answer. With all, what has not changed is in it, too.
func NewStaticDiff(before, after *query.Source, s *diff.Static, all bool, page Page) *StaticDiff {
	rows := s.Changed()
	unchanged := len(s.Rows) - len(rows)
	if all {
		rows = s.Rows
	}
	list, more := Cut(page, rows)
	total := diff.StaticSum{Before: s.Before.Total.Total, After: s.After.Total.Total}
	j := &StaticDiff{FormatVersion: Version, Before: NewRecording(before.Profile), After: NewRecording(after.Profile),
		Total: newStaticChange(&total), Sections: newStaticChanges(s.Kinds), Modules: newStaticChanges(s.Files),
		Variables: []StaticVariable{}, More: more, Unchanged: unchanged}
	for i := range list {
		r, v := &list[i], list[i].Variable
		j.Variables = append(j.Variables, StaticVariable{r.Status().String(), v.Name, v.Kind.String(), v.Path, v.File,
			v.Line, sizeIf(r.InBefore, r.Before), sizeIf(r.InAfter, r.After), r.Change()})
	}
	return j
}

func newStaticChange(s *diff.StaticSum) StaticChange {
	return StaticChange{s.Name, s.Status().String(), s.Before, s.After, s.Change()}
}

func newStaticChanges(sums []diff.StaticSum) []StaticChange {
	list := []StaticChange{}
	for i := range sums {
		list = append(list, newStaticChange(&sums[i]))
	}
	return list
}

func sizeIf(named bool, bytes uint64) *uint64 {
	if !named {
		return nil
	}
	return &bytes
}
