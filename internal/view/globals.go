package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// Globals writes the largest static variables, and what they come to by file and by section.
func Globals(w io.Writer, s *query.Source, g *query.Globals, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.printf("%s\n", a.bold(command(a.p, a.report.Width)))
	when := "what was in memory is unknown"
	if g.At >= 0 {
		when = fmt.Sprintf("in memory: as of %s of %s", humanize.Duration(g.At), humanize.Duration(a.p.Duration))
	}
	a.printf("%s\n\n", a.faint(fmt.Sprintf("static data of %s, besides the heap · %s · %s",
		humanize.Plural(uint64(len(g.Files)), "file"), threadsText(g), when)))
	a.incomplete(&query.Answer{})
	if len(g.Files) == 0 {
		a.printf("  no static data is known\n")
		return a.Flush()
	}
	a.globalList(g)
	a.printf("\n%s\n", a.title("BY SECTION"))
	rows := [][]string{{"size", "in memory", "variables", "their size", ""}}
	for k, sum := range g.Kinds {
		if sum.Bytes > 0 {
			rows = append(rows, a.globalSum(&sum, event.DataKind(k).String()+a.times(event.DataKind(k), sum.Bytes, g)))
		}
	}
	a.globalTable(append(rows, a.globalSum(&g.Total, "all")), 4)
	a.printf("\n%s\n", a.title("BY FILE"))
	rows = [][]string{{"size", "in memory", "variables", "their size", ""}}
	files, left := answer.Cut(a.Page, g.Files)
	for i := range files {
		rows = append(rows, a.globalSum(&files[i].Total, middle(clean(files[i].Path), a.report.Width-50)))
	}
	a.globalTable(rows, 4)
	a.more(left)
	return a.Flush()
}

func (a *answerText) globalList(g *query.Globals) {
	if len(g.Variables) == 0 {
		a.printf("%s  %s\n", a.title("STATIC VARIABLES"), a.faint("none has a name: the symbol tables are not there"))
		return
	}
	a.printf("%s  %s\n", a.title("STATIC VARIABLES"),
		a.faint(fmt.Sprintf("%s are named of %s", humanize.Number(uint64(len(g.Variables))),
			humanize.Plural(g.Total.Variables, "variable"))))
	rows := [][]string{{"size", "in memory", "section", "variable"}}
	list, left := answer.Cut(a.Page, g.Variables)
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
		place = middle(clean(place), 40)
		room := max(nameWidth, a.report.Width-36-runes(place)-1)
		name := v.Name
		if name == "" {
			name = fmt.Sprintf("%#x", v.Addr)
		}
		rows = append(rows, []string{a.size(v.Total), a.residentText(v.Resident), v.Kind.String(),
			middle(clean(name), room) + " " + a.place(place) + a.faint(a.times(v.Kind, v.Size, g))})
	}
	a.globalTable(rows, 3)
	a.more(left)
}

// threadsText tells how many threads there were.
func threadsText(g *query.Globals) string {
	switch {
	case !g.Counted:
		return humanize.Plural(g.Threads, "thread")
	case g.Threads == g.Now:
		return humanize.Plural(g.Threads, "thread") + " at once"
	}
	return fmt.Sprintf("%s at once, %s at last", humanize.Plural(g.Threads, "thread"), humanize.Number(g.Now))
}

// times tells of what each thread has.
func (a *answerText) times(k event.DataKind, bytes uint64, g *query.Globals) string {
	if !k.PerThread() || g.Threads == 1 {
		return ""
	}
	return fmt.Sprintf("  %s × %s", a.size(bytes), humanize.Plural(g.Threads, "thread"))
}

func (a *answerText) residentText(r query.Resident) string {
	if !r.Known {
		return "unknown"
	}
	return a.size(r.Bytes)
}

func (a *answerText) globalSum(s *query.GlobalSum, name string) []string {
	return []string{a.size(s.Total), a.residentText(s.Resident), a.count(s.Variables), a.size(s.Named), name}
}

// globalTable writes rows, the first being the heads: columns up to last are numbers, what follows is text.
func (a *answerText) globalTable(rows [][]string, last int) {
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
				text = a.bold(text)
			}
			b.WriteString("  " + text)
		}
		line := b.String() + "  " + r[last]
		if i == 0 {
			line = a.faint(strings.TrimRight(line, " "))
		}
		a.printf("%s\n", line)
	}
}
