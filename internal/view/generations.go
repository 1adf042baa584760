package view

import (
	"io"
	"strings"

	"github.com/heaptap/heaptap/internal/query"
)

// Widths of the columns of generations: of a moment, and of an interval.
const (
	momentWidth   = 10
	intervalWidth = 22
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
		names[i] = a.duration(g.Births.Times[i]) + " to " + a.duration(g.Births.Times[i+1])
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
	return a.Flush()
}

// lastCut is the cut at the recording's end.
func (a *answerText) lastCut() uint64 {
	_, last := a.s.Reader.Cuts()
	return last
}
