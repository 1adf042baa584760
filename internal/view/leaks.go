package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// Leaks writes the stacks whose blocks were never freed, what is suppressed, and the stacks whose live bytes kept
// rising.
func Leaks(w io.Writer, s *query.Source, l *query.LeakTables, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&l.Answer)
	var sum, blocks uint64
	for i := range l.Rows {
		sum += l.Rows[i].Total.LeakedBytes
		blocks += l.Rows[i].Total.LeakedBlocks
	}
	a.printf("%s  %s\n", a.title(strings.ToUpper(leakedWord(a.p))), a.faint(fmt.Sprintf("%s in %s at %s", a.size(sum),
		humanize.Plural(blocks, "block"), humanize.Plural(uint64(len(l.Rows)), "call stack"))))
	rows, left := answer.Cut(a.Page, l.Rows)
	opened := a.distinguish(len(rows), func(i int) uint32 { return rows[i].Stack }, frameText)
	for i := range rows {
		v := &rows[i].Total
		noun := " blocks"
		if v.LeakedBlocks == 1 {
			noun = " block"
		}
		notes := []string{a.short(v.LeakedBlocks) + noun}
		if pm := a.pm(query.Leaked, v, l.Span); pm != "" {
			notes = append([]string{pm}, notes...)
		}
		if v.Allocations != v.LeakedBlocks {
			notes = append(notes, "of "+a.short(v.Allocations))
		}
		a.columns(a.size(v.LeakedBytes), humanize.Percent(v.LeakedBytes, sum), notes, rows[i].Stack,
			opened[rows[i].Stack]...)
	}
	a.more(left)
	a.leftOut(l)
	if len(l.Suspects) > 0 {
		a.printf("\n%s  %s\n", a.title("KEPT GROWING"), a.faint("live bytes that rose steadily, up to the end"))
		list, left := answer.Cut(a.Page, l.Suspects)
		a.printf("%s\n", a.faint(fmt.Sprintf("  %10s %11s %8s %8s", "per second", "steadiness", "began", "ended")))
		room := max(nameWidth, a.Width-44)
		opened := a.distinguish(len(list), func(i int) uint32 { return list[i].Stack },
			func(r *renderer, stack uint32, opened ...int) string { return r.chain(stack, room, opened...).plain })
		for i := range list {
			x := &list[i]
			a.printf("  %s %s %s %s  %s\n", a.bold(padLeft(a.size(uint64(x.Slope)), 10)),
				padLeft(fmt.Sprintf("%.0f %%", 100*x.Confidence), 11), padLeft(a.size(x.Begin), 8),
				padLeft(a.size(x.End), 8), a.groupName(&x.Group, room, opened[x.Stack]...))
		}
		a.more(left)
	}
	a.names()
	return a.Flush()
}

// leftOut writes what the list of leaks does not contain.
func (a *answerText) leftOut(l *query.LeakTables) {
	a.runtimesOwn(&l.Answer, " (--runtime)")
	for i := range l.Rules {
		if l.Rules[i].Blocks > 0 {
			a.wrap("  ", a.suppressedBy(&l.Rules[i]), a.faint)
		}
	}
}

// suppressedBy says what a suppression left out.
func (a *answerText) suppressedBy(r *query.Suppression) string {
	text := fmt.Sprintf("besides %s in %s suppressed by leak:%s, at %s", a.size(r.Bytes),
		humanize.Plural(r.Blocks, "block"), clean(r.Pattern), humanize.Plural(uint64(r.Stacks), "call stack"))
	separator := ": "
	for _, id := range r.Hidden {
		text += separator + a.stackName(id)
		separator = "; "
	}
	if r.Stacks > len(r.Hidden) {
		text += "; ..."
	}
	return text
}

// stackName names a call stack by its innermost function and what called that.
func (a *answerText) stackName(stack uint32) string {
	return a.groupName(&query.Group{By: query.ByStack, Stack: stack}, 60)
}

// Suggestions writes a suppression for each leak, and what it would leave out.
func Suggestions(w io.Writer, s *query.Source, list []query.Suggestion) error {
	a := newAnswer(w, s, QueryOptions{})
	for _, x := range list {
		what := fmt.Sprintf("%s in %s at %s: %s", humanize.Size(x.Bytes), humanize.Plural(x.Blocks, "block"),
			humanize.Plural(uint64(x.Stacks), "call stack"), a.stackName(x.Stack))
		if x.Rule == "" {
			a.printf("# %s\n# no rule: only a function that is on nearly every call stack is known (--broad)\n", what)
			continue
		}
		a.printf("# %s\n%s\n", what, clean(x.Rule))
	}
	return a.Flush()
}
