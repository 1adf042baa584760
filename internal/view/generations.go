package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// Widths of the columns of generations: of a moment, and of an interval.
const (
	momentWidth   = 10
	intervalWidth = 22
	markWidth     = 24 // of the name of a mark, at most
	noteWidth     = 14 // the same, beside a call stack
	mostRepeats   = 20 // call stacks
)

// GenerationColumns returns how many columns fit into a width, 20 at most.
func GenerationColumns(o QueryOptions) int {
	return min(max((o.fill().Width-intervalWidth)/momentWidth, 1), 20)
}

// Generations writes a row for each interval of the range, with how much of what was allocated in it is live at the
// moments of the columns.
func Generations(w io.Writer, s *query.Source, g *query.Generations, blocks bool, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&g.Answer)
	width := momentWidth
	text := func(x query.Amount) string { return a.size(x.Bytes) }
	if blocks {
		text = func(x query.Amount) string { return a.short(x.Blocks) }
	}
	for j, x := range g.Together {
		width = max(width, runes(text(x))+2, runes(a.duration(g.Moments.Times[j]))+1)
	}
	names, interval := make([]string, len(g.Rows)), intervalWidth
	for i := range g.Rows {
		names[i] = a.spanName(g, i)
		interval = max(interval, runes(names[i])+2)
	}
	line := func(name string, cell func(j int) string) {
		var b strings.Builder
		b.WriteString(padRight(name, interval))
		for j := range g.Together {
			b.WriteString(cell(j))
		}
		a.printf("%s\n", strings.TrimRight(b.String(), " "))
	}
	cell := func(text string, x query.Amount) string {
		if x.Blocks == 0 {
			return a.faint(padLeft(text, width))
		}
		return padLeft(text, width)
	}
	line(a.faint(padRight("allocated", interval-len("live at"))+"live at"), func(j int) string {
		at := a.duration(g.Moments.Times[j])
		if g.Moments.Cuts[j] == g.To && g.To == a.lastCut() {
			at = "end"
		}
		return a.faint(padLeft(at, width))
	})
	for i, row := range g.Rows {
		line(names[i], func(j int) string {
			if g.Moments.Cuts[j] <= g.Births.Cuts[i] {
				return strings.Repeat(" ", width)
			}
			return cell(text(row[j]), row[j])
		})
	}
	line("all of these", func(j int) string { return a.bold(padLeft(text(g.Together[j]), width)) })
	if g.Marks {
		a.repeats(g)
	}
	return a.Flush()
}

// spanName says from when to when a row is: by marks, if there are.
func (a *answerText) spanName(g *query.Generations, i int) string {
	return a.boundName(g, i, markWidth) + " to " + a.boundName(g, i+1, markWidth)
}

// boundName says when a row ends, or begins.
func (a *answerText) boundName(g *query.Generations, i, width int) string {
	switch {
	case !g.Marks:
	case g.Births.Marks[i] != "":
		return funcname.Middle(clean(g.Births.Marks[i]), width)
	case i == 0 && g.Begin <= 0:
		return "start"
	case i == len(g.Rows) && g.To == a.lastCut():
		return "end"
	}
	return a.duration(g.Births.Times[i])
}

// repeats writes the call stacks of which every repeat left equally many blocks behind.
func (a *answerText) repeats(g *query.Generations) {
	a.printf("\n%s  %s\n", a.title("REPEATS"),
		a.faint("call stacks that left equally many blocks behind in at least 3 rows, one after the other"))
	switch {
	case g.Sampled:
		a.printf("  %s\n", a.faint("not known: allocations were chosen at random"))
	case len(g.Rows) < 3:
		a.printf("  %s\n", a.faint("there are not enough marks in the range: see \"heaptap help run\", --mark-every"))
	case len(g.Repeats) == 0:
		a.printf("  %s\n", a.faint("none"))
	}
	shown := g.Repeats[:min(len(g.Repeats), mostRepeats)]
	opened := a.distinguish(len(shown), func(i int) uint32 { return shown[i].Stack }, frameText)
	for i := range shown {
		x := &shown[i]
		notes := []string{humanize.Plural(x.Blocks, "block"), fmt.Sprintf("each of %d times", x.Rows),
			"from " + a.boundName(g, x.First, noteWidth)}
		if x.At < len(g.Rows) {
			notes = append(notes, "at "+a.boundName(g, x.At, noteWidth))
		}
		a.columns(a.size(x.Bytes), "", notes, x.Stack, opened[x.Stack]...)
	}
	a.more(len(g.Repeats) - len(shown))
	a.names()
}

// lastCut is the cut at the recording's end.
func (a *answerText) lastCut() uint64 {
	_, last := a.s.Reader.Cuts()
	return last
}
