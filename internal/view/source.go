package view

import (
	"fmt"
	"io"
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

// sourceWidth is the least width for the text of lines.
const sourceWidth = 80

func (a *answerText) sourcePage(l *annotate.Tables, p *annotate.Page) {
	title := clean(p.Whole.File)
	if p.Whole.Function != "" {
		title = funcname.Short(p.Whole.Function, a.renderer.Width) + "  " + a.place(title)
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
	cells, widths := a.sourceCells(l, p)
	head, used := "", 0
	for k, width := range widths {
		name := "self"
		if k%2 == 0 {
			name = t.Metrics[k/2].String() + a.unitNote(t.Metrics[k/2])
		}
		head += "  " + padLeft(name, width)
		used += 2 + width
	}
	a.printf("%s\n", a.faint(head+"    line"))
	room := max(sourceWidth, a.renderer.Width-used-10)
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

// cutEnd cuts a text that is too wide.
func cutEnd(s string, width int) string {
	if runes(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

// hidden writes how many lines are not shown.
func (a *answerText) hidden(used int, n uint32) {
	a.printf("%s%s\n", strings.Repeat(" ", used),
		a.faint(fmt.Sprintf("       …  %s without numbers", humanize.Plural(uint64(n), "line"))))
}

// sourceCells returns the numbers of the rows, total and self of each metric, and the widths of the columns.
func (a *answerText) sourceCells(l *annotate.Tables, p *annotate.Page) (lines []string, widths []int) {
	t := l.Lines
	cells := make([][]string, len(p.Rows))
	for _, m := range t.Metrics {
		widths = append(widths, runes(m.String()+a.unitNote(m)), len("self"))
	}
	for i := range p.Rows {
		for _, m := range t.Metrics {
			for _, v := range []*query.Values{&p.Rows[i].Total, &p.Rows[i].Self} {
				text := "."
				if m.Of(v, 1e9) != 0 {
					text = a.value(m, v, t.Span)
				}
				k := len(cells[i])
				cells[i] = append(cells[i], text)
				widths[k] = max(widths[k], runes(text))
			}
		}
	}
	for i := range cells {
		var b strings.Builder
		for k, text := range cells[i] {
			text = padLeft(text, widths[k])
			if k == 0 {
				text = a.bold(text)
			}
			b.WriteString("  " + text)
		}
		lines = append(lines, b.String())
	}
	return lines, widths
}
