package view

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/heaptap/heaptap/internal/check"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// Checks writes what came of a recording for people: one line if all is well, else one for each check, and the call stacks that
// make up an excess, Limit of them for each check.
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
				parts = append(parts, checkText(c, a.Exact))
			} else if len(c.Missing) > 0 {
				parts = append(parts, clean("although "+strings.Join(c.Missing, "; ")))
			}
		}
		a.printf("\n")
		a.wrap("    ", strings.Join(parts, "; "), a.faint)
		a.suppressed(r)
		return a.Flush()
	}
	a.printf("%s  %s  %s\n", a.warn("FAIL"), a.bold(clean(r.File)), a.faint(command(a.p, max(a.report.Width-8-runes(r.File), 20))))
	for i := range r.Checks {
		c := &r.Checks[i]
		if !c.Failed {
			if c.Kind != check.Complete {
				a.printf("  %s  %s\n", a.faint("ok  "), a.faint(checkText(c, a.Exact)))
			}
			continue
		}
		a.printf("  %s  %s\n", a.warn("FAIL"), checkText(c, a.Exact))
		list, left := shown(c, &a.QueryOptions)
		for k := range list {
			value, share, notes := a.part(c, &list[k])
			a.columns(value, share, notes, list[k].ID)
		}
		if left > 0 {
			a.printf("  %s\n", a.faint(fmt.Sprintf("and %s", humanize.Plural(uint64(left), "more call stack"))))
		}
	}
	a.suppressed(r)
	return a.Flush()
}

// shown are the first stacks of a check, Limit of them, and how many more have a part in its value.
func shown(c *check.Check, o *QueryOptions) (list []check.Stack, left int) {
	n := min(max(o.Limit, 0), len(c.Stacks))
	return c.Stacks[:n], len(c.Stacks) - n + c.More
}

// part is a stack's part in an excess: its value, its share of all, and what is to be noted.
func (a *answer) part(c *check.Check, s *check.Stack) (value, share string, notes []string) {
	text := func(n uint64) string { return amount(c.Metric, n, a.Exact) }
	switch {
	case s.Suspect != nil:
		return text(s.Value), "", []string{"+" + a.size(uint64(s.Suspect.Slope)) + "/s", fmt.Sprintf("%.0f %% steady", 100*s.Suspect.Confidence)}
	case c.Kind == check.Max || c.Kind == check.Mismatches:
		share = humanize.Percent(s.Value, c.Value)
	default:
		notes = append(notes, "was "+text(s.Base))
		return "+" + text(s.Value-min(s.Base, s.Value)), share, append(notes, "is "+text(s.Value))
	}
	if s.Blocks > 0 {
		noun := " blocks"
		if c.Metric == query.Bytes || c.Metric == query.TemporaryBytes {
			noun = " calls"
		}
		if s.Blocks == 1 {
			noun = noun[:len(noun)-1]
		}
		notes = append(notes, a.count(s.Blocks)+noun)
	}
	return text(s.Value), share, notes
}

// suppressed tells of what is known.
func (a *answer) suppressed(r *check.Result) {
	for _, rule := range r.Suppressed {
		if rule.Blocks > 0 {
			a.wrap("    ", fmt.Sprintf("besides %s in %s suppressed by leak:%s", a.size(rule.Bytes), humanize.Plural(rule.Blocks, "block"), clean(rule.Pattern)), a.faint)
		}
	}
}

// amount writes a metric's value.
func amount(m query.Metric, n uint64, exact bool) string {
	switch {
	case m.Unit() != query.ByteCount && exact:
		return humanize.Number(n)
	case m.Unit() != query.ByteCount:
		return humanize.Short(n)
	case exact:
		return humanize.Number(n) + " B"
	}
	return humanize.Size(n)
}

// checkText says in a line what a check found. Numbers that differ read differently.
func checkText(c *check.Check, exact bool) string {
	text := func(n uint64) string {
		if amount(c.Metric, c.Value, false) == amount(c.Metric, c.Limit, false) && c.Value != c.Limit {
			return amount(c.Metric, n, true)
		}
		return amount(c.Metric, n, exact)
	}
	beyond := ""
	if c.Failed {
		beyond = ": " + text(c.Excess()) + " too much"
	}
	switch c.Kind {
	case check.Complete:
		if len(c.Missing) == 0 {
			return "no event is missing"
		}
		return "not complete: " + clean(strings.Join(c.Missing, "; "))
	case check.Growth:
		if c.Value == 0 {
			return "no call stack kept growing"
		}
		return humanize.Plural(c.Value, "call stack") + " kept growing"
	case check.Mismatches:
		if c.Value == 0 {
			if c.NotJudged > 0 {
				return "no block was freed by the wrong function; not judged: " + humanize.Plural(c.NotJudged, "deallocation") + " of blocks of the parent process"
			}
			return "no block was freed by the wrong function"
		}
		return humanize.Plural(c.Value, "mismatched deallocation") + ", see heaptap mismatches"
	case check.Base:
		return fmt.Sprintf("%s %s, baseline %s, limit %s%s", c.Metric, text(c.Value), text(c.Base), text(c.Limit), beyond)
	case check.StackBase:
		return fmt.Sprintf("%s of one call stack grew by %s, limit %s%s", c.Metric, text(c.Value), text(c.Limit), beyond)
	}
	return fmt.Sprintf("%s %s%s, limit %s%s", c.Metric, text(c.Value), estimate(c, exact), text(c.Limit), beyond)
}

// estimate says of a value that it is one.
func estimate(c *check.Check, exact bool) string {
	switch {
	case !c.Estimate:
		return ""
	case c.Error == 0:
		return " (estimated)"
	}
	return " ± " + amount(c.Metric, uint64(math.Round(c.Error)), exact) + " (estimated)"
}
