package view

import (
	"io"
	"strings"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
)

// regionValue writes a number of a region.
func (a *answerText) regionValue(c *query.RegionColumn, r *query.RegionRow) string {
	n := c.Value(r)
	if c.Unit == query.Nanoseconds {
		return a.duration(n)
	}
	sign, magnitude := "", uint64(max(n, -n))
	if n < 0 {
		sign = "-"
	}
	if c.Unit == query.ByteCount {
		return sign + a.size(magnitude)
	}
	return sign + a.short(magnitude)
}

// Regions writes a line for each region. If they are in the order in which they were entered, nested regions are
// indented.
func Regions(w io.Writer, s *query.Source, t *query.RegionTable, indented bool, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&t.Answer)
	list, left := answer.Cut(a.Page, t.Rows)
	if len(list) == 0 {
		a.printf("  no regions\n")
		return a.Flush()
	}
	widths := make([]int, len(query.RegionColumns))
	cells := make([][]string, len(list))
	for k, c := range query.RegionColumns {
		widths[k] = runes(c.Name)
		for i := range list {
			text := a.regionValue(&c, &list[i])
			cells[i], widths[k] = append(cells[i], text), max(widths[k], runes(text))
		}
	}
	var head strings.Builder
	for k, c := range query.RegionColumns {
		head.WriteString("  " + padLeft(c.Name, widths[k]))
	}
	a.printf("%s\n", a.faint(head.String()+"  region"))
	for i := range list {
		for k, text := range cells[i] {
			a.printf("  %s", padLeft(text, widths[k]))
		}
		indent := ""
		if indented {
			indent = strings.Repeat("  ", min(list[i].Depth, 20))
		}
		open := ""
		if list[i].Open {
			open = " (never left)"
		}
		a.printf("  %s%s  %s\n", indent, clean(list[i].Title)+open, a.faint(threadName(s, list[i].Thread)))
	}
	a.more(left)
	return a.Flush()
}
