package annotate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/source"
)

// Tables are the data of pages on source lines.
type Tables struct {
	Wholes  *query.Table // a row for each page: a file, or a function in a file
	Lines   *query.Table // the lines of all pages
	Calls   *query.Table // what is called from each of them, see query.Joined; nil: not asked
	Finder  *source.Finder
	Line    uint32 // show only the lines around this one; 0: all
	Context int    // number of lines without numbers shown before and after one with numbers
}

// Page is one file, or one function in a file, with its lines.
type Page struct {
	Whole *query.Row
	Rows  []query.Row // in the order of the lines
	File  *source.File
	Note  string // what is wrong with the file; "": nothing
}

// Pages distributes the lines to the pages of some rows of Wholes, and finds the files.
func (t *Tables) Pages(wholes []query.Row) []Page {
	type key struct{ function, file string }
	at := make(map[key]*Page)
	list := make([]Page, len(wholes))
	for i := range wholes {
		w := &wholes[i]
		list[i].Whole = w
		at[key{w.Function, w.File}] = &list[i]
	}
	for _, r := range t.Lines.Rows {
		if p := at[key{r.Function, r.File}]; p != nil {
			p.Rows = append(p.Rows, r)
		}
	}
	for i := range list {
		p := &list[i]
		slices.SortFunc(p.Rows, func(a, b query.Row) int { return int(int64(a.Line) - int64(b.Line)) })
		var err error
		p.File, err = t.Finder.Find(p.Whole.File)
		switch {
		case errors.Is(err, source.ErrForeign):
			p.Note = err.Error() + "; --source-path DIR reads what is below DIR"
		case errors.Is(err, source.ErrMissing):
			p.Note = err.Error() + "; say where it is with --source-path DIR or --source-map FROM=TO"
		case err != nil:
			p.Note = err.Error()
		case p.beyond() > 0:
			p.Note = fmt.Sprintf("line %d is beyond the end of %s: it is not the file that was compiled", p.beyond(),
				p.File.Path)
		case p.File.Newer:
			p.Note = p.File.Path + " was changed after the program was recorded: its lines may have moved"
		}
	}
	return list
}

// beyond returns a line with numbers that the file does not have; 0 if there is none.
func (p *Page) beyond() uint32 {
	if n := len(p.Rows); n > 0 && p.File != nil && uint64(p.Rows[n-1].Line) > uint64(len(p.File.Lines)) {
		return p.Rows[n-1].Line
	}
	return 0
}

// Section is a range of lines that is shown.
type Section struct{ From, To uint32 }

// Sections returns the lines to show: those with numbers and their context, or the context of the requested line.
func (t *Tables) Sections(p *Page) []Section {
	last := uint32(0)
	if p.File != nil {
		last = uint32(min(len(p.File.Lines), 1<<31))
	}
	context := uint32(t.Context)
	var list []Section
	add := func(line uint32) {
		s := Section{line, line}
		if line > 0 && line <= last {
			s = Section{max(line, context+1) - context, min(line+context, last)}
		}
		if n := len(list); n > 0 && s.From <= list[n-1].To+1 {
			list[n-1].To = max(list[n-1].To, s.To)
			return
		}
		list = append(list, s)
	}
	if t.Line > 0 {
		add(t.Line)
		return list
	}
	for i := range p.Rows {
		add(p.Rows[i].Line)
	}
	return list
}
