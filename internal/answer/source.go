package answer

import (
	"github.com/heaptap/heaptap/internal/annotate"
	"github.com/heaptap/heaptap/internal/query"
)

// SourcePage is a file, or a function in a file.
type SourcePage struct {
	File     string       `json:"file"`
	Function string       `json:"function,omitempty"`
	Self     Values       `json:"self"`
	Total    Values       `json:"total"`
	Source   *string      `json:"source"` // null: not found
	Newer    bool         `json:"newer"`
	Note     string       `json:"note,omitempty"`
	Lines    []SourceLine `json:"lines"`
}

// SourceLine is a line that has numbers.
type SourceLine struct {
	Line  uint32  `json:"line"`
	Self  Values  `json:"self"`
	Total Values  `json:"total"`
	Text  *string `json:"text"` // null: not found
}

// Source is the lines of files or functions with what they count.
type Source struct {
	Head
	Pages []SourcePage `json:"pages"`
	More  int          `json:"more"`
}

// NewSource makes the answer: the lines that have numbers.
func NewSource(s *query.Source, l *annotate.Tables, page Page) *Source {
	wholes, more := Cut(page, l.Wholes.Rows)
	j := &Source{newHead(s, &l.Lines.Answer), []SourcePage{}, more}
	pages := l.Pages(wholes)
	for i := range pages {
		j.Pages = append(j.Pages, newSourcePage(l, &pages[i]))
	}
	return j
}

func newSourcePage(l *annotate.Tables, p *annotate.Page) SourcePage {
	j := SourcePage{File: p.Whole.File, Function: p.Whole.Function, Self: newValues(&l.Wholes.Answer, &p.Whole.Self),
		Total: newValues(&l.Wholes.Answer, &p.Whole.Total), Note: p.Note, Lines: []SourceLine{}}
	if p.File != nil {
		j.Source, j.Newer = &p.File.Path, p.File.Newer
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		if l.Line > 0 && r.Line != l.Line {
			continue
		}
		line := SourceLine{Line: r.Line, Self: newValues(&l.Lines.Answer, &r.Self),
			Total: newValues(&l.Lines.Answer, &r.Total)}
		if text, ok := p.File.Line(r.Line); ok {
			line.Text = &text
		}
		j.Lines = append(j.Lines, line)
	}
	return j
}

// SourceCall is what a line calls: a function.
type SourceCall struct {
	File     string `json:"file"` // of the line
	Line     uint32 `json:"line"`
	Function string `json:"function"` // "": the module and the offset identify it
	Module   string `json:"module"`
	Offset   string `json:"offset"`
	Total    Values `json:"total"`
}

// NewSourceCalls returns what the lines call, if that was asked: the calls that count most, but no more than that.
func NewSourceCalls(l *annotate.Tables, most int) []SourceCall {
	list := []SourceCall{}
	if l.Calls == nil {
		return list
	}
	for i := range l.Calls.Rows {
		r := &l.Calls.Rows[i]
		if l.Line > 0 && r.Line != l.Line {
			continue
		}
		if len(list) == most {
			break
		}
		call := SourceCall{File: r.File, Line: r.Line, Function: r.Function, Module: r.Module,
			Total: newValues(&l.Calls.Answer, &r.Total)}
		if r.Function == "" {
			call.Offset = hex(r.Offset)
		}
		list = append(list, call)
	}
	return list
}
