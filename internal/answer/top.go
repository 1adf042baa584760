package answer

import (
	"io"

	"github.com/heaptap/heaptap/internal/query"
)

// Top is a table: a row for each group.
type Top struct {
	Head
	By   string    `json:"by"`
	Rows Rows[Row] `json:"rows"`
	More int       `json:"more"`
}

// Row is a group and its values.
type Row struct {
	Group Group  `json:"group"`
	Self  Values `json:"self"`
	Total Values `json:"total"`
}

// NewTop makes the answer.
func NewTop(s *query.Source, t *query.Table, by query.By, page Page) *Top {
	rows, more := Cut(page, t.Rows)
	frames := newFrameTable(t.Shown(s), stacksOf(nil, len(rows), func(i int) *query.Group { return &rows[i].Group }))
	j := &Top{Head: newHead(s, &t.Answer), By: by.String(), More: more, Rows: Rows[Row]{len(rows), func(i int) Row {
		return newRow(s, &t.Answer, &rows[i], frames)
	}}}
	j.Frames = frames.rows()
	return j
}

func (t *Top) write(w io.Writer) error {
	empty := *t
	empty.Rows = Rows[Row]{}
	return writeRows(w, &empty, t.Rows)
}

func newRow(s *query.Source, a *query.Answer, r *query.Row, t *frameTable) Row {
	return Row{newGroup(s, &r.Group, t), newValues(a, &r.Self), newValues(a, &r.Total)}
}
