package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/annotate"
	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// Source writes the lines of files or functions with what they count.
func Source(w io.Writer, s *query.Source, l *annotate.Tables, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&l.Lines.Answer)
	wholes, left := answer.Cut(a.Page, l.Wholes.Rows)
	if len(wholes) == 0 {
		a.printf("  nothing was counted\n")
	}
	pages := l.Pages(wholes)
	for i := range pages {
		if i > 0 {
			a.printf("\n")
		}
		a.sourcePage(l, &pages[i])
	}
	a.more(left)
	return a.Flush()
}

// sourceWidth is the least width for the text of lines, except on a terminal.
const sourceWidth = 80

func (a *answerText) sourcePage(l *annotate.Tables, p *annotate.Page) {
	title := clean(p.Whole.File)
	if p.Whole.Function != "" {
		title = funcname.Short(p.Whole.Function, a.Width) + "  " + a.place(title)
	}
	a.printf("%s\n", a.bold(title))
	var parts []string
	t := l.Lines
	for _, m := range t.Metrics {
		text := m.String() + " " + a.value(m, &p.Whole.Total, t.Span)
		if share := a.share(m, &p.Whole.Total, &t.Total); share != "" && share != "-" {
			text += " (" + share + ")"
		}
		parts = append(parts, text)
	}
	a.wrap("  ", strings.Join(parts, ", "), a.faint)
	if p.Note != "" {
		a.wrap("  ", clean(p.Note), a.warn)
	}
	head, cells := a.sourceCells(l, p)
	used, least := runes(head), sourceWidth
	if a.wraps {
		least = narrowWidth
	}
	a.printf("%s\n", a.faint(head+"    line"))
	room := max(least, a.Width-used-numberWidth)
	blank := strings.Repeat(" ", used)
	inFile := p.File != nil && l.Line == 0 && p.Whole.Function == "" // the page is about the whole file
	next, shown := 0, uint32(0)
	for _, s := range l.Sections(p) {
		if (shown > 0 || inFile) && s.From > shown+1 {
			a.hidden(used, s.From-shown-1)
		}
		for line := s.From; line <= s.To; line++ {
			for next < len(p.Rows) && p.Rows[next].Line < line {
				next++
			}
			number := fmt.Sprintf("  %6d", line)
			if line == 0 {
				number = "       ?"
			}
			text, _ := p.File.Line(line)
			text = cutEnd(clean(strings.ReplaceAll(text, "\t", "    ")), room)
			if next < len(p.Rows) && p.Rows[next].Line == line {
				a.printf("%s\n", strings.TrimRight(cells[next]+a.place(number)+"  "+text, " "))
			} else {
				a.printf("%s\n", strings.TrimRight(blank+a.faint(number+"  "+text), " "))
			}
			shown = line
		}
	}
	if inFile && len(p.File.Lines) > int(shown) {
		a.hidden(used, uint32(len(p.File.Lines))-shown)
	}
}

// hidden writes how many lines are not shown.
func (a *answerText) hidden(used int, n uint32) {
	a.printf("%s%s\n", strings.Repeat(" ", used),
		a.faint(fmt.Sprintf("       …  %s without numbers", humanize.Plural(uint64(n), "line"))))
}

// numberWidth is the width of a line's number, with the space around it.
const numberWidth = 10

// sourceCells returns the head of the columns, total and self of each metric, and the numbers of the rows.
func (a *answerText) sourceCells(l *annotate.Tables, p *annotate.Page) (head string, lines []string) {
	t := l.Lines
	var heads []string
	for _, m := range t.Metrics {
		heads = append(heads, m.String()+a.unitNote(m), "self")
	}
	cells := make([][]string, len(p.Rows))
	for i := range p.Rows {
		for _, m := range t.Metrics {
			for _, v := range []*query.Values{&p.Rows[i].Total, &p.Rows[i].Self} {
				text := "."
				if m.Of(v, 1e9) != 0 {
					text = a.value(m, v, t.Span)
				}
				cells[i] = append(cells[i], text)
			}
		}
	}
	widths, used := make([]int, len(heads)), 0
	var columns []int
	for k := range heads {
		widths[k] = runes(heads[k])
		for i := range cells {
			widths[k] = max(widths[k], runes(cells[i][k]))
		}
		used += 2 + widths[k]
		columns = append(columns, k)
	}
	if a.wraps && a.Width-used-numberWidth < nameWidth { // only the first metric has self
		columns = slices.DeleteFunc(columns, func(k int) bool { return k%2 == 1 && k > 1 })
	}
	join := func(cells []string, first func(string) string) string {
		var b strings.Builder
		for i, k := range columns {
			text := padLeft(cells[k], widths[k])
			if i == 0 {
				text = first(text)
			}
			b.WriteString("  " + text)
		}
		return b.String()
	}
	for i := range cells {
		lines = append(lines, join(cells[i], a.bold))
	}
	return join(heads, func(text string) string { return text }), lines
}
