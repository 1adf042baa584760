package view

import (
	"bufio"
	"fmt"
	"io"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// Leaks writes the stacks whose blocks were never freed, what is suppressed, and the stacks whose live bytes kept
// rising.
func Leaks(w io.Writer, s *query.Source, l *query.LeakTables, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&l.Leaks.Answer)
	var sum, blocks uint64
	for i := range l.Leaks.Rows {
		sum += l.Leaks.Rows[i].Total.LeakedBytes
		blocks += l.Leaks.Rows[i].Total.LeakedBlocks
	}
	a.printf("%s  %s\n", a.title("LEAKED"), a.faint(fmt.Sprintf("%s in %s at %s", a.size(sum),
		humanize.Plural(blocks, "block"), humanize.Plural(uint64(len(l.Leaks.Rows)), "call stack"))))
	rows, left := answer.Cut(a.Page, l.Leaks.Rows)
	for i := range rows {
		v := &rows[i].Total
		noun := " blocks"
		if v.LeakedBlocks == 1 {
			noun = " block"
		}
		notes := []string{a.count(v.LeakedBlocks) + noun}
		if pm := a.pm(query.Leaked, v, l.Leaks.Span); pm != "" {
			notes = append([]string{pm}, notes...)
		}
		if v.Allocations != v.LeakedBlocks {
			notes = append(notes, "of "+a.count(v.Allocations))
		}
		a.columns(a.size(v.LeakedBytes), humanize.Percent(v.LeakedBytes, sum), notes, rows[i].Stack)
	}
	a.more(left)
	a.leftOut(l)
	if len(l.Suspects) > 0 {
		a.printf("\n%s  %s\n", a.title("KEPT GROWING"), a.faint("live bytes that rose steadily over the whole range"))
		list, left := answer.Cut(a.Page, l.Suspects)
		a.printf("%s\n", a.faint(fmt.Sprintf("  %13s %11s %12s %12s", "per second", "steadiness", "began with",
			"ended with")))
		for i := range list {
			x := &list[i]
			a.printf("  %s %s %s %s  %s\n", a.bold(padLeft(a.size(uint64(x.Slope)), 13)),
				padLeft(fmt.Sprintf("%.0f %%", 100*x.Confidence), 11), padLeft(a.size(x.Begin), 12),
				padLeft(a.size(x.End), 12), a.groupName(&x.Group, max(nameWidth, a.renderer.Width-55)))
		}
		a.more(left)
	}
	return a.Flush()
}

// leftOut writes what the list of leaks does not contain.
func (a *answerText) leftOut(l *query.LeakTables) {
	if l.Left.Blocks > 0 {
		a.printf("  %s\n", a.faint(fmt.Sprintf("besides %s in %s that the runtime keeps: no leak (--runtime)",
			a.size(l.Left.Bytes), humanize.Plural(l.Left.Blocks, "block"))))
	}
	for _, r := range l.Rules {
		if r.Blocks > 0 {
			a.printf("  %s\n", a.faint(fmt.Sprintf("besides %s in %s suppressed by leak:%s", a.size(r.Bytes),
				humanize.Plural(r.Blocks, "block"), clean(r.Pattern))))
		}
	}
}

// Suggestions writes a suppression for each leak, and what it would leave out.
func Suggestions(w io.Writer, list []query.Suggestion) error {
	out := bufio.NewWriter(w)
	for _, x := range list {
		note := ""
		if x.Rule == "leak:^main$" {
			note = "; it matches whatever main calls, too"
		}
		fmt.Fprintf(out, "# %s in %s%s\n%s\n", humanize.Size(x.Bytes), humanize.Plural(x.Blocks, "block"), note,
			clean(x.Rule))
	}
	return out.Flush()
}
