package view

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/source"
)

// SourceAnswers are what pages on source lines are made of.
type SourceAnswers struct {
	Wholes *query.Table // a row for each page: a file, or a function in a file
	Lines  *query.Table // the lines of all of them
	Finder *source.Finder
	Line   uint32 // show what is around this line only; 0: all
	// Context is how many lines without numbers are shown before and after one with numbers.
	Context int
}

// sourcePage is one file, or one function in a file.
type sourcePage struct {
	whole *query.Row
	rows  []query.Row // by line
	file  *source.File
	note  string // what is wrong with the file; "" if nothing
}

// pages puts the lines to their pages, and finds the files.
func (l *SourceAnswers) pages(wholes []query.Row) []sourcePage {
	type key struct{ function, file string }
	at := make(map[key]*sourcePage)
	list := make([]sourcePage, len(wholes))
	for i := range wholes {
		w := &wholes[i]
		list[i].whole = w
		at[key{w.Function, w.File}] = &list[i]
	}
	for _, r := range l.Lines.Rows {
		if p := at[key{r.Function, r.File}]; p != nil {
			p.rows = append(p.rows, r)
		}
	}
	for i := range list {
		p := &list[i]
		slices.SortFunc(p.rows, func(a, b query.Row) int { return int(int64(a.Line) - int64(b.Line)) })
		var err error
		p.file, err = l.Finder.Find(p.whole.File)
		switch {
		case errors.Is(err, source.ErrForeign):
			p.note = err.Error() + "; --source-path DIR reads what is below DIR"
		case errors.Is(err, source.ErrMissing):
			p.note = err.Error() + "; --source-path DIR or --source-map FROM=TO tell where it is"
		case err != nil:
			p.note = err.Error()
		case p.beyond() > 0:
			p.note = fmt.Sprintf("line %d is beyond the end of %s: it is not the file that was compiled", p.beyond(), p.file.Path)
		case p.file.Newer:
			p.note = p.file.Path + " was changed after the program was recorded: its lines may be others"
		}
	}
	return list
}

// beyond is a line with numbers that the file does not have; 0 if there is none.
func (p *sourcePage) beyond() uint32 {
	if n := len(p.rows); n > 0 && p.file != nil && uint64(p.rows[n-1].Line) > uint64(len(p.file.Lines)) {
		return p.rows[n-1].Line
	}
	return 0
}

// stretch is lines in a row that are shown.
type stretch struct{ from, to uint32 }

// stretches are the lines to show: those with numbers and what is around them, or what is around the line that was asked for.
func (l *SourceAnswers) stretches(p *sourcePage) []stretch {
	last := uint32(0)
	if p.file != nil {
		last = uint32(min(len(p.file.Lines), 1<<31))
	}
	context := uint32(l.Context)
	var list []stretch
	add := func(line uint32) {
		s := stretch{line, line}
		if line > 0 && line <= last {
			s = stretch{max(line, context+1) - context, min(line+context, last)}
		}
		if n := len(list); n > 0 && s.from <= list[n-1].to+1 {
			list[n-1].to = max(list[n-1].to, s.to)
			return
		}
		list = append(list, s)
	}
	if l.Line > 0 {
		add(l.Line)
		return list
	}
	for i := range p.rows {
		add(p.rows[i].Line)
	}
	return list
}

// Source writes the lines of files or functions with what they count.
func Source(w io.Writer, s *query.Source, l *SourceAnswers, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&l.Lines.Answer)
	wholes, left := page(&a.QueryOptions, l.Wholes.Rows)
	if len(wholes) == 0 {
		a.printf("  nothing was counted\n")
	}
	pages := l.pages(wholes)
	for i := range pages {
		if i > 0 {
			a.printf("\n")
		}
		a.sourcePage(l, &pages[i])
	}
	a.more(left)
	return a.Flush()
}

// sourceWidth is what is left at least for the text of lines.
const sourceWidth = 80

func (a *answer) sourcePage(l *SourceAnswers, p *sourcePage) {
	title := clean(p.whole.File)
	if p.whole.Function != "" {
		title = FunctionName(p.whole.Function, a.report.Width) + "  " + a.place(title)
	}
	a.printf("%s\n", a.bold(title))
	var parts []string
	t := l.Lines
	for _, m := range t.Metrics {
		text := m.String() + " " + a.value(m, &p.whole.Total, t.Span)
		if share := a.share(m, &p.whole.Total, &t.Total); share != "" && share != "-" {
			text += " (" + share + ")"
		}
		parts = append(parts, text)
	}
	a.wrap("  ", strings.Join(parts, ", "), a.faint)
	if p.note != "" {
		a.wrap("  ", clean(p.note), a.warn)
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
	room := max(sourceWidth, a.report.Width-used-10)
	blank := strings.Repeat(" ", used)
	inFile := p.file != nil && l.Line == 0 && p.whole.Function == "" // all of the file is told of
	next, shown := 0, uint32(0)
	for _, s := range l.stretches(p) {
		if (shown > 0 || inFile) && s.from > shown+1 {
			a.hidden(used, s.from-shown-1)
		}
		for line := s.from; line <= s.to; line++ {
			for next < len(p.rows) && p.rows[next].Line < line {
				next++
			}
			number := fmt.Sprintf("  %6d", line)
			if line == 0 {
				number = "       ?"
			}
			text, _ := p.file.Line(line)
			text = cutEnd(clean(strings.ReplaceAll(text, "\t", "    ")), room)
			if next < len(p.rows) && p.rows[next].Line == line {
				a.printf("%s\n", strings.TrimRight(cells[next]+a.place(number)+"  "+text, " "))
			} else {
				a.printf("%s\n", strings.TrimRight(blank+a.faint(number+"  "+text), " "))
			}
			shown = line
		}
	}
	if inFile && len(p.file.Lines) > int(shown) {
		a.hidden(used, uint32(len(p.file.Lines))-shown)
	}
}

// cutEnd cuts what is too wide.
func cutEnd(s string, width int) string {
	if runes(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

// hidden tells of lines that are not shown.
func (a *answer) hidden(used int, n uint32) {
	a.printf("%s%s\n", strings.Repeat(" ", used), a.faint(fmt.Sprintf("       …  %s without numbers", humanize.Plural(uint64(n), "line"))))
}

// sourceCells are the numbers of the rows, total and self of each metric, and the columns' widths.
func (a *answer) sourceCells(l *SourceAnswers, p *sourcePage) (lines []string, widths []int) {
	t := l.Lines
	cells := make([][]string, len(p.rows))
	for _, m := range t.Metrics {
		widths = append(widths, runes(m.String()+a.unitNote(m)), len("self"))
	}
	for i := range p.rows {
		for _, m := range t.Metrics {
			for _, v := range []*query.Values{&p.rows[i].Total, &p.rows[i].Self} {
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

type jsonSourcePage struct {
	File     string           `json:"file"`
	Function string           `json:"function,omitempty"`
	Self     jsonValues       `json:"self"`
	Total    jsonValues       `json:"total"`
	Source   *string          `json:"source"` // null: not found
	Newer    bool             `json:"newer"`
	Note     string           `json:"note,omitempty"`
	Lines    []jsonSourceLine `json:"lines"`
}

type jsonSourceLine struct {
	Line  uint32     `json:"line"`
	Self  jsonValues `json:"self"`
	Total jsonValues `json:"total"`
	Text  *string    `json:"text"` // null: not found
}

// SourceJSON writes the same as one JSON object: the lines that have numbers.
func SourceJSON(w io.Writer, s *query.Source, l *SourceAnswers, o QueryOptions) error {
	wholes, left := page(&o, l.Wholes.Rows)
	j := struct {
		jsonAnswer
		Pages []jsonSourcePage `json:"pages"`
		More  int              `json:"more"`
	}{newJSONAnswer(s, &l.Lines.Answer), []jsonSourcePage{}, left}
	pages := l.pages(wholes)
	for i := range pages {
		p := &pages[i]
		x := jsonSourcePage{File: p.whole.File, Function: p.whole.Function, Self: valuesJSON(&l.Wholes.Answer, &p.whole.Self),
			Total: valuesJSON(&l.Wholes.Answer, &p.whole.Total), Note: p.note, Lines: []jsonSourceLine{}}
		if p.file != nil {
			x.Source, x.Newer = &p.file.Path, p.file.Newer
		}
		for k := range p.rows {
			r := &p.rows[k]
			if l.Line > 0 && r.Line != l.Line {
				continue
			}
			line := jsonSourceLine{Line: r.Line, Self: valuesJSON(&l.Lines.Answer, &r.Self), Total: valuesJSON(&l.Lines.Answer, &r.Total)}
			if text, ok := p.file.Line(r.Line); ok {
				line.Text = &text
			}
			x.Lines = append(x.Lines, line)
		}
		j.Pages = append(j.Pages, x)
	}
	return writeJSON(w, &j)
}
