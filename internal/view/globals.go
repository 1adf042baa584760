package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// Globals writes the largest static variables, and the size of all static data by file and by section.
func Globals(w io.Writer, s *query.Source, found *query.Globals, o QueryOptions) error {
	g := &globalsText{newAnswer(w, s, o), found}
	g.printf("%s\n", g.bold(command(g.p, g.Width)))
	when := "what was in memory is unknown"
	if g.At >= 0 {
		when = fmt.Sprintf("in memory: as of %s of %s", humanize.Duration(g.At), humanize.Duration(g.p.Duration))
	}
	g.printf("%s\n\n", g.faint(fmt.Sprintf("static data of %s, besides the heap · %s · %s",
		humanize.Plural(uint64(len(g.Files)), "file"), threadsText(found), when)))
	g.incomplete(&query.Answer{})
	if len(g.Files) == 0 {
		g.printf("  no static data is known\n")
		return g.Flush()
	}
	g.list()
	g.printf("\n%s\n", g.title("BY SECTION"))
	rows := [][]string{{"size", "in memory", "variables", "their size", ""}}
	for k, sum := range g.Kinds {
		if sum.Bytes > 0 {
			rows = append(rows, g.sum(&sum, event.DataKind(k).String()+g.times(event.DataKind(k), sum.Bytes)))
		}
	}
	g.table(append(rows, g.sum(&g.Total, "all")), 4)
	g.printf("\n%s\n", g.title("BY FILE"))
	rows = [][]string{{"size", "in memory", "variables", "their size", ""}}
	files, left := answer.Cut(g.Page, g.Files)
	for i := range files {
		rows = append(rows, g.sum(&files[i].Total, funcname.Middle(clean(files[i].Path), g.Width-50)))
	}
	g.table(rows, 4)
	g.more(left)
	return g.Flush()
}

// globalsText writes static data.
type globalsText struct {
	*answerText
	*query.Globals
}

func (g *globalsText) list() {
	if len(g.Variables) == 0 {
		g.printf("%s  %s\n", g.title("STATIC VARIABLES"), g.faint("none has a name: the symbol tables are not there"))
		return
	}
	g.printf("%s  %s\n", g.title("STATIC VARIABLES"),
		g.faint(fmt.Sprintf("%s are named of %s", humanize.Number(uint64(len(g.Variables))),
			humanize.Plural(g.Total.Variables, "variable"))))
	rows := [][]string{{"size", "in memory", "section", "variable"}}
	list, left := answer.Cut(g.Page, g.Variables)
	for i := range list {
		v := &list[i]
		place := base(v.Path)
		if v.File != "" {
			place = base(v.File)
			if v.Line > 0 {
				place += fmt.Sprintf(":%d", v.Line)
			}
			place += " " + base(v.Path)
		}
		place = funcname.Middle(clean(place), 40)
		room := max(nameWidth, g.Width-36-runes(place)-1)
		name := v.Name
		if name == "" {
			name = fmt.Sprintf("%#x", v.Addr)
		}
		rows = append(rows, []string{g.size(v.Total), g.resident(v.Resident), v.Kind.String(),
			funcname.Middle(clean(name), room) + " " + g.place(place) + g.faint(g.times(v.Kind, v.Size))})
	}
	g.table(rows, 3)
	g.more(left)
}

// threadsText returns how many threads there were.
func threadsText(g *query.Globals) string {
	switch {
	case !g.Counted:
		return humanize.Plural(g.Threads, "thread")
	case g.Threads == g.Now:
		return humanize.Plural(g.Threads, "thread") + " at once"
	}
	return fmt.Sprintf("%s at once, %s at last", humanize.Plural(g.Threads, "thread"), humanize.Number(g.Now))
}

// times returns a note that each thread has a copy.
func (g *globalsText) times(k event.DataKind, bytes uint64) string {
	if !k.PerThread() || g.Threads == 1 {
		return ""
	}
	return fmt.Sprintf("  %s × %s", g.size(bytes), humanize.Plural(g.Threads, "thread"))
}

func (g *globalsText) resident(r query.Resident) string {
	if !r.Known {
		return "unknown"
	}
	return g.size(r.Bytes)
}

func (g *globalsText) sum(s *query.GlobalSum, name string) []string {
	return []string{g.size(s.Total), g.resident(s.Resident), g.short(s.Variables), g.size(s.Named), name}
}

// globalTable writes rows, the heads first. Columns up to last are numbers, the others are text.
func (g *globalsText) table(rows [][]string, last int) {
	widths := make([]int, last)
	for _, r := range rows {
		for k := range last {
			widths[k] = max(widths[k], runes(r[k]))
		}
	}
	for i, r := range rows {
		var b strings.Builder
		for k := range last {
			text := padLeft(r[k], widths[k])
			if i > 0 && k == 0 {
				text = g.bold(text)
			}
			b.WriteString("  " + text)
		}
		line := b.String() + "  " + r[last]
		if i == 0 {
			line = g.faint(strings.TrimRight(line, " "))
		}
		g.printf("%s\n", line)
	}
}
