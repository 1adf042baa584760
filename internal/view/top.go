package view

import (
	"io"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/owncode"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// Widths for the names of the rows of a table. On a terminal, columns that can be spared make room for nameWidth.
const (
	nameWidth   = 36
	narrowWidth = 24
)

// leastName is the least width for a name.
func (r *renderer) leastName() int {
	if r.wraps {
		return narrowWidth
	}
	return nameWidth
}

// Top writes a table: a row for each group, with self and total of each metric where they differ.
func Top(w io.Writer, s *query.Source, t *query.Table, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&t.Answer)
	list, folded := a.foldRows(afterStart(t.Rows))
	rows, left := answer.Cut(a.Page, list)
	if len(rows) == 0 {
		a.printf("  nothing was counted\n")
		a.runtimesOwn(&t.Answer, "")
		return a.Flush()
	}
	var cols []column
	for i, m := range t.Metrics {
		cols = append(cols, column{head: m.String() + a.unitNote(m),
			text: func(r *query.Row) string { return a.value(m, &r.Total, t.Span) }})
		if i == 0 && m.Sums() {
			cols = append(cols, column{text: func(r *query.Row) string { return a.share(m, &r.Total, &t.Total) }})
		}
		if twoValues(t.Rows[0].By) {
			cols = append(cols, column{head: "self", spare: i > 0,
				text: func(r *query.Row) string { return a.value(m, &r.Self, t.Span) }})
		}
	}
	g := a.layOut(cols, rows)
	var opened map[uint32][]int
	if t.Rows[0].By == query.ByStack {
		opened = a.distinguish(len(rows), func(i int) uint32 { return rows[i].Stack }, chainText(g.room))
	}
	a.table(g, opened)
	if len(folded) > 0 && a.Skip == 0 {
		a.foldedRows(t, folded)
	}
	if a.Skip == 0 && !a.Exact {
		a.whole(t)
		a.runtimesOwn(&t.Answer, "")
	}
	a.more(left)
	a.names()
	return a.Flush()
}

// afterStart removes the functions that run before main and do not allocate themselves: their total is that of the
// whole.
func afterStart(rows []query.Row) []query.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r query.Row) bool {
		return profile.BeforeMain(r.Function) && r.Self == (query.Values{})
	})
}

// twoValues reports whether self and total differ.
func twoValues(by query.By) bool { return by.Nests() }

// foldRows separates the rows that are folded: functions of libraries and wrappers. If no row is the user's own, only
// wrappers are.
func (a *answerText) foldRows(rows []query.Row) (list, folded []query.Row) {
	if a.fold.Whole() || len(rows) == 0 || !answer.OfFrames(rows[0].By) {
		return rows, nil
	}
	kinds, own := make([]owncode.Kind, len(rows)), false
	for i := range rows {
		kinds[i] = a.kind(&rows[i].Group)
		own = own || kinds[i] == owncode.Own
	}
	for i := range rows {
		if kinds[i] == owncode.Wrapper || kinds[i] == owncode.Library && own {
			folded = append(folded, rows[i])
		} else {
			list = append(list, rows[i])
		}
	}
	if len(list) == 0 {
		return rows, nil
	}
	return list, folded
}

// kind says whose code a group of frames is.
func (a *answerText) kind(g *query.Group) owncode.Kind {
	if !answer.OfFrames(g.By) || g.Unknown {
		return owncode.Other
	}
	return a.fold.Function(g.Function, g.Module)
}

// foldedRows writes how many rows are folded, and what these functions allocated themselves.
func (a *answerText) foldedRows(t *query.Table, folded []query.Row) {
	var self query.Values
	for i := range folded {
		self.Add(&folded[i].Self)
	}
	text := "besides " + humanize.Plural(uint64(len(folded)), "function") + " of libraries and wrappers"
	var parts []string
	for _, m := range t.Metrics {
		if m.Sums() && a.value(m, &self, t.Span) != a.value(m, &query.Values{}, t.Span) {
			parts = append(parts, m.String()+" "+a.value(m, &self, t.Span))
		}
	}
	if len(parts) > 0 {
		text += ", self: " + strings.Join(parts, ", ")
	}
	a.wrap("  ", text+" (--frames all)", a.faint)
}

// column is a column of numbers.
type column struct {
	head  string
	text  func(*query.Row) string
	spare bool // left out if names have no room
}

// grid is a table that is laid out.
type grid struct {
	cols   []column
	rows   []query.Row
	cells  [][]string // by row and column
	widths []int      // of the columns
	room   int        // for the names of the rows
}

// layOut lays a table out. On a terminal, columns that can be spared are left out if names would have little room.
func (a *answerText) layOut(cols []column, rows []query.Row) *grid {
	g := &grid{cols: cols, rows: rows, cells: make([][]string, len(rows))}
	used := 2
	for _, c := range cols {
		width := runes(c.head)
		for i := range rows {
			text := c.text(&rows[i])
			g.cells[i] = append(g.cells[i], text)
			width = max(width, runes(text))
		}
		g.widths = append(g.widths, width)
		used += 2 + width
	}
	g.room = max(a.leastName(), a.Width-used)
	spare := func(c column) bool { return c.spare }
	if a.wraps && g.room < nameWidth && slices.ContainsFunc(cols, spare) {
		return a.layOut(slices.DeleteFunc(cols, spare), rows)
	}
	return g
}

// table writes right-aligned columns of numbers, followed by the names of the rows.
func (a *answerText) table(g *grid, opened map[uint32][]int) {
	var head strings.Builder
	for k, c := range g.cols {
		head.WriteString("  " + padLeft(c.head, g.widths[k]))
	}
	a.printf("%s\n", a.faint(head.String()+"  "+g.rows[0].By.String()))
	for i, cells := range g.cells {
		for k, text := range cells {
			if text = padLeft(text, g.widths[k]); k == 0 {
				text = a.bold(text)
			}
			a.printf("  %s", text)
		}
		of := &g.rows[i].Group
		a.printf("  %s\n", a.groupName(of, g.room, opened[of.Stack]...))
	}
}

// whole writes the values of the whole.
func (a *answerText) whole(t *query.Table) {
	var parts []string
	for _, m := range t.Metrics {
		if m.Sums() {
			parts = append(parts, m.String()+" "+a.value(m, &t.Total, t.Span))
		}
	}
	if len(parts) > 0 {
		a.printf("\n")
		a.wrap("  ", "of all: "+strings.Join(parts, ", "), a.faint)
	}
}
