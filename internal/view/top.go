package view

import (
	"io"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// nameWidth is the least width for the names of the rows of a table.
const nameWidth = 36

// Top writes a table: a row for each group, with self and total of each metric where they differ.
func Top(w io.Writer, s *query.Source, t *query.Table, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&t.Answer)
	rows, left := answer.Cut(a.Page, afterStart(t.Rows))
	both := len(t.Rows) > 0 && twoValues(t.Rows[0].By)
	var cols []column
	for i, m := range t.Metrics {
		note := a.unitNote(m)
		head := m.String() + note
		if both {
			cols = append(cols, column{head: head,
				text: func(r *query.Row) string { return a.value(m, &r.Total, t.Span) }})
		} else {
			cols = append(cols, column{head: head,
				text: func(r *query.Row) string { return a.value(m, &r.Self, t.Span) }})
		}
		if i == 0 && m.Sums() {
			cols = append(cols, column{text: func(r *query.Row) string { return a.share(m, &r.Total, &t.Total) }})
		}
		if both {
			cols = append(cols, column{head: "self",
				text: func(r *query.Row) string { return a.value(m, &r.Self, t.Span) }})
		}
	}
	if len(rows) == 0 {
		a.printf("  nothing was counted\n")
		return a.Flush()
	}
	a.table(cols, rows)
	if a.Skip == 0 && !a.Exact {
		a.whole(t)
	}
	a.more(left)
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

// column is a column of numbers.
type column struct {
	head string
	text func(*query.Row) string
}

// table writes right-aligned columns of numbers, followed by the names of the rows.
func (a *answerText) table(cols []column, rows []query.Row) {
	cells := make([][]string, len(rows))
	widths := make([]int, len(cols))
	for k, c := range cols {
		widths[k] = runes(c.head)
	}
	for i := range rows {
		for k, c := range cols {
			text := c.text(&rows[i])
			cells[i] = append(cells[i], text)
			widths[k] = max(widths[k], runes(text))
		}
	}
	var head strings.Builder
	used := 0
	for k, c := range cols {
		head.WriteString("  " + padLeft(c.head, widths[k]))
		used += 2 + widths[k]
	}
	a.printf("%s\n", a.faint(head.String()+"  "+rows[0].By.String()))
	room := max(nameWidth, a.renderer.Width-used-2)
	for i := range rows {
		for k := range cols {
			text := padLeft(cells[i][k], widths[k])
			if k == 0 {
				text = a.bold(text)
			}
			a.printf("  %s", text)
		}
		a.printf("  %s\n", a.groupName(&rows[i].Group, room))
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
