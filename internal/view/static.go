package view

import (
	"fmt"
	"io"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/diff"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// StaticDiff writes what has changed of static and thread-local variables, by variable, section and file. With all,
// what has not changed is in it, too.
func StaticDiff(w io.Writer, before, after *query.Source, s *diff.Static, all bool, o QueryOptions) error {
	g := &globalsText{newAnswer(w, after, o), s.After}
	for _, side := range []struct {
		word string
		of   *query.Source
		data *query.Globals
	}{{"before", before, s.Before}, {"after", after, s.After}} {
		note := fmt.Sprintf(" · static data of %s · %s", humanize.Plural(uint64(len(side.data.Files)), "file"),
			threadsText(side.data))
		name := command(side.of.Profile, max(20, g.Width-8-runes(note)))
		g.printf("%-7s %s%s\n", side.word, g.bold(name), g.faint(note))
	}
	head := []string{"before", "after", "change", "%", "status", ""}
	total := diff.StaticSum{Before: s.Before.Total.Total, After: s.After.Total.Total}
	rows := [][]string{head, g.staticLine(&total, g.bold("all"))}
	rows[1][4] = ""
	shown := s.Changed()
	unchanged := len(s.Rows) - len(shown)
	if all {
		shown, unchanged = s.Rows, 0
	}
	list, left := answer.Cut(g.Page, shown)
	for i := range list {
		r, v := &list[i], list[i].Variable
		place := base(v.Path)
		if v.File != "" {
			place = fmt.Sprintf("%s:%d %s", base(v.File), v.Line, place)
		}
		place = funcname.Middle(clean(place), 40)
		room := max(nameWidth, g.Width-46-runes(place))
		line := g.staticLine(&r.StaticSum, funcname.Middle(clean(v.Name), room)+" "+g.place(place))
		if !r.InBefore {
			line[0] = "-"
		}
		if !r.InAfter {
			line[1] = "-"
		}
		rows = append(rows, line)
	}
	g.printf("\n%s\n", g.title("STATIC VARIABLES"))
	g.table(rows, 5)
	g.more(left)
	switch {
	case len(shown) == 0:
		g.printf("\n  no variable has changed\n")
	case unchanged > 0:
		g.printf("  %s\n", g.faint("and "+humanize.Plural(uint64(unchanged), "variable")+" unchanged"))
	}
	g.staticSums("BY SECTION", s.Kinds, all)
	g.staticSums("BY FILE", s.Files, all)
	return g.Flush()
}

// staticSums writes the sums of sections or files that have changed; with all, all.
func (g *globalsText) staticSums(title string, sums []diff.StaticSum, all bool) {
	rows := [][]string{{"before", "after", "change", "%", "status", ""}}
	for i := range sums {
		if f := &sums[i]; all || f.Status() != diff.Unchanged {
			rows = append(rows, g.staticLine(f, funcname.Middle(clean(f.Name), max(nameWidth, g.Width-46))))
		}
	}
	if len(rows) == 1 {
		return
	}
	rows, left := answer.Cut(answer.Page{Limit: max(g.Page.Limit, 0) + min(g.Page.Limit, 1)}, rows)
	g.printf("\n%s\n", g.title(title))
	g.table(rows, 5)
	g.more(left)
}

// staticLine makes a row: sizes on both sides, the change, the status and a name.
func (g *globalsText) staticLine(s *diff.StaticSum, name string) []string {
	change, share := "0", ""
	switch {
	case s.After > s.Before:
		change = "+" + g.size(s.After-s.Before)
	case s.After < s.Before:
		change = "-" + g.size(s.Before-s.After)
	}
	if s.Before > 0 && s.After > 0 { // else the status says it
		share = changeShare(float64(s.Before), float64(s.After))
	}
	return []string{g.size(s.Before), g.size(s.After), change, share, s.Status().String(), name}
}
