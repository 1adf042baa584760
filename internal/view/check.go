package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/heaptap/heaptap/internal/check"
	"github.com/heaptap/heaptap/internal/humanize"
)

// Checks writes the result of checking a recording: one line if every limit holds, else one for each check, with at
// most Limit call stacks that make up the excess.
func Checks(w io.Writer, r *check.Result, o QueryOptions) error {
	if r.Err != nil {
		_, err := fmt.Fprintf(w, "ERROR  %s: not checked\n", clean(r.File))
		return err
	}
	a := newAnswer(w, r.Source, o)
	if r.OK() {
		a.printf("%s  %s", a.title("ok"), a.bold(clean(r.File)))
		var parts []string
		for i := range r.Checks {
			if c := &r.Checks[i]; c.Kind != check.Complete {
				parts = append(parts, c.Text(a.Exact))
			} else if len(c.Missing) > 0 {
				parts = append(parts, clean("although "+strings.Join(c.Missing, "; ")))
			}
		}
		a.printf("\n")
		a.wrap("    ", strings.Join(parts, "; "), a.faint)
		a.suppressed(r)
		return a.Flush()
	}
	a.printf("%s  %s", a.warn("FAIL"), a.bold(clean(r.File)))
	if what := command(a.p, max(a.Width-8-runes(r.File), 20)); !strings.HasSuffix(clean(r.File), " of "+what) {
		a.printf("  %s", a.faint(what))
	}
	a.printf("\n")
	for i := range r.Checks {
		c := &r.Checks[i]
		if !c.Failed {
			if c.Kind != check.Complete {
				a.verdict(a.faint("ok  "), c, a.faint)
			}
			continue
		}
		a.verdict(a.warn("FAIL"), c, func(line string) string { return line })
		list, more := c.First(a.Limit)
		if len(list) > 0 {
			if err := a.Flush(); err != nil {
				return err
			}
			of := newAnswer(w, c.Source, o) // one of several runs
			opened := of.distinguish(len(list), func(i int) uint32 { return list[i].ID }, frameText)
			for k := range list {
				p := c.Part(&list[k], a.Exact)
				of.columns(p.Value, p.Share, p.Notes, list[k].ID, opened[list[k].ID]...)
			}
			if err := of.Flush(); err != nil {
				return err
			}
		}
		if more > 0 {
			a.printf("  %s\n", a.faint(fmt.Sprintf("and %s", humanize.Plural(uint64(more), "more call stack"))))
		}
	}
	a.suppressed(r)
	return a.Flush()
}

// verdict writes what a check found. Of repeated runs, that is long.
func (a *answerText) verdict(word string, c *check.Check, paint func(string) string) {
	if len(c.Runs)+len(c.BaseRuns) <= 2 {
		a.printf("  %s  %s\n", word, paint(c.Text(a.Exact)))
		return
	}
	const indent = "        "
	for i, line := range fitted(c.Text(a.Exact), a.Width-len(indent)) {
		begin := indent
		if i == 0 {
			begin = "  " + word + "  "
		}
		a.printf("%s%s\n", begin, paint(line))
	}
}

// suppressed writes what the rules for known leaks left out.
func (a *answerText) suppressed(r *check.Result) {
	for i := range r.Suppressed {
		if r.Suppressed[i].Blocks > 0 {
			a.wrap("    ", a.suppressedBy(&r.Suppressed[i]), a.faint)
		}
	}
}
