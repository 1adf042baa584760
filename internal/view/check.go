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
	a.printf("%s  %s  %s\n", a.warn("FAIL"), a.bold(clean(r.File)),
		a.faint(command(a.p, max(a.renderer.Width-8-runes(r.File), 20))))
	for i := range r.Checks {
		c := &r.Checks[i]
		if !c.Failed {
			if c.Kind != check.Complete {
				a.printf("  %s  %s\n", a.faint("ok  "), a.faint(c.Text(a.Exact)))
			}
			continue
		}
		a.printf("  %s  %s\n", a.warn("FAIL"), c.Text(a.Exact))
		list, more := c.First(a.Limit)
		for k := range list {
			p := c.Part(&list[k], a.Exact)
			a.columns(p.Value, p.Share, p.Notes, list[k].ID)
		}
		if more > 0 {
			a.printf("  %s\n", a.faint(fmt.Sprintf("and %s", humanize.Plural(uint64(more), "more call stack"))))
		}
	}
	a.suppressed(r)
	return a.Flush()
}

// suppressed writes what the rules for known leaks left out.
func (a *answerText) suppressed(r *check.Result) {
	for _, rule := range r.Suppressed {
		if rule.Blocks > 0 {
			a.wrap("    ", fmt.Sprintf("besides %s in %s suppressed by leak:%s", a.size(rule.Bytes),
				humanize.Plural(rule.Blocks, "block"), clean(rule.Pattern)), a.faint)
		}
	}
}
