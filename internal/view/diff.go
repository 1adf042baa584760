package view

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/diff"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// difference writes how two answers differ. Groups have their names of the second side; those that are gone, of the
// first.
type difference struct {
	*answerText // of the second side; everything goes to its writer
	before      *answerText
	a, b        *query.Answer
}

func newDifference(w io.Writer, before, after *query.Source, a, b *query.Answer, o QueryOptions) *difference {
	d := &difference{answerText: newAnswer(w, after, o), before: newAnswer(io.Discard, before, o), a: a, b: b}
	d.side("before", d.before, a)
	d.side("after", d.answerText, b)
	d.printf("\n")
	d.before.Writer = d.answerText.Writer
	d.before.incomplete(a)
	d.incomplete(b)
	return d
}

// side writes what one side is.
func (d *difference) side(word string, a *answerText, q *query.Answer) {
	what := "all of " + humanize.Duration(a.p.Duration)
	if q.To-q.From != a.events() {
		what = fmt.Sprintf("%s from %s on", humanize.Duration(q.Span), humanize.Duration(q.Begin))
	}
	text := fmt.Sprintf(" · %s · %s · from the %s", clean(a.p.Name), what, planText[q.Plan])
	d.printf("%-7s %s%s\n", word, d.bold(command(a.p, max(20, d.renderer.Width-8-runes(text)))), d.faint(text))
}

// of returns the side that names a row.
func (d *difference) of(s diff.Status) *answerText {
	if s == diff.Gone {
		return d.before
	}
	return d.answerText
}

// change returns by how much a metric has changed.
func (d *difference) change(m query.Metric, p *diff.Pair) string {
	if before, ok := m.Integer(&p.Before); ok {
		after, _ := m.Integer(&p.After)
		switch {
		case after > before:
			return "+" + d.amount(m, float64(after-before))
		case after < before:
			return "-" + d.amount(m, float64(before-after))
		}
		return "0"
	}
	switch c := m.Of(&p.After, d.b.Span) - m.Of(&p.Before, d.a.Span); {
	case c > 0:
		return "+" + d.amount(m, c)
	case c < 0:
		return "-" + d.amount(m, -c)
	}
	return "0"
}

// amount formats a value that is not negative.
func (d *difference) amount(m query.Metric, v float64) string {
	n := uint64(math.Round(v))
	switch u := m.Unit(); {
	case u == query.Ratio && d.Exact:
		return strconv.FormatFloat(v, 'f', 3, 64)
	case u == query.Ratio:
		return humanize.Ratio(v)
	case d.Exact:
		return humanize.Number(n)
	case u == query.ByteCount:
		return humanize.Size(n)
	case u == query.Nanoseconds:
		return humanize.Duration(int64(min(n, math.MaxInt64)))
	case u == query.BytesPerSecond:
		return humanize.Size(n) + "/s"
	}
	return humanize.Short(n)
}

// percent formats a change as a share of the value before.
func (d *difference) percent(m query.Metric, p *diff.Pair) string {
	before, after := m.Of(&p.Before, d.a.Span), m.Of(&p.After, d.b.Span)
	switch share := 100 * (after - before) / before; {
	case before == after:
		return ""
	case before == 0:
		return "new"
	case after == 0:
		return "gone"
	case math.Abs(share) >= 9999.5:
		return "×" + humanize.Digits(after/before)
	case math.Abs(share) < .1:
		return map[bool]string{true: "+<0.1 %", false: "-<0.1 %"}[share > 0]
	default:
		return fmt.Sprintf("%+.1f %%", share)
	}
}

// Diff writes a table: a row for each group that has changed, with the first metric before and after.
func Diff(w io.Writer, before, after *query.Source, t *diff.Table, o QueryOptions) error {
	d := newDifference(w, before, after, &t.Before, &t.After, o)
	changed := slices.DeleteFunc(slices.Clone(t.Changed()), func(r diff.Row) bool {
		return profile.BeforeMain(r.Function) && r.Self == (diff.Pair{})
	})
	rows, left := answer.Cut(d.Page, changed)
	both := len(t.Rows) > 0 && twoValues(t.Rows[0].By)
	type column struct {
		head string
		text func(r *diff.Row) string
	}
	first := t.After.Metrics[0]
	cols := []column{
		{"before", func(r *diff.Row) string { return d.value(first, &r.Total.Before, t.Before.Span) }},
		{"after", func(r *diff.Row) string { return d.value(first, &r.Total.After, t.After.Span) }},
	}
	for i, m := range t.After.Metrics {
		cols = append(cols, column{m.String() + d.unitNote(m),
			func(r *diff.Row) string { return d.change(m, &r.Total) }})
		if i == 0 {
			cols = append(cols, column{"", func(r *diff.Row) string { return d.percent(m, &r.Total) }})
		}
		if both {
			cols = append(cols, column{"self", func(r *diff.Row) string { return d.change(m, &r.Self) }})
		}
	}
	all := diff.Row{Total: diff.Pair{Before: t.Before.Total, After: t.After.Total}}
	all.Self = all.Total
	widths := make([]int, len(cols))
	used := 0
	for k, c := range cols {
		widths[k] = max(runes(c.head), runes(c.text(&all)))
		for i := range rows {
			widths[k] = max(widths[k], runes(c.text(&rows[i])))
		}
		used += 2 + widths[k]
	}
	room := max(nameWidth, d.renderer.Width-used-9)
	line := func(r *diff.Row, status, name string) {
		for k, c := range cols {
			text := padLeft(c.text(r), widths[k])
			if k == 2 {
				text = d.bold(text)
			}
			d.printf("  %s", text)
		}
		d.printf("  %s %s\n", d.faint(padRight(status, 6)), name)
	}
	var head strings.Builder
	for k, c := range cols {
		head.WriteString("  " + padLeft(c.head, widths[k]))
	}
	by := ""
	if len(t.Rows) > 0 {
		by = t.Rows[0].By.String()
	}
	d.printf("%s\n", d.faint(head.String()+strings.Repeat(" ", 9)+by))
	line(&all, "", d.bold("all"))
	for i := range rows {
		r := &rows[i]
		line(r, r.Status.String(), d.of(r.Status).groupName(&r.Group, room))
	}
	d.more(left)
	switch n := uint64(t.Unchanged()); {
	case len(changed) == 0:
		d.printf("\n  nothing has changed\n")
	case n > 0:
		d.printf("  %s\n", d.faint("and "+humanize.Plural(n, "row")+" unchanged"))
	}
	return d.Flush()
}

// DiffTree writes a call tree with what each node was and is.
func DiffTree(w io.Writer, before, after *query.Source, t *diff.Tree, trim query.Trim, o QueryOptions) error {
	d := newDifference(w, before, after, &t.Before, &t.After, o)
	m := t.After.Metrics[0]
	d.printf("%s\n", d.faint(padLeft("before", 13)+padLeft("after", 13)+padLeft(m.String()+d.unitNote(m),
		14)+padLeft("", 10)))
	lines, cut := 0, 0
	line := func(p *diff.Pair, prefix, name string) {
		if lines++; d.Limit > 0 && lines > d.Limit {
			cut++
			return
		}
		d.printf("%s%s%s%s  %s%s\n", padLeft(d.value(m, &p.Before, t.Before.Span), 13),
			padLeft(d.value(m, &p.After, t.After.Span), 13), d.bold(padLeft(d.change(m, p), 14)),
			padLeft(d.percent(m, p), 10), d.faint(prefix), name)
	}
	type work struct {
		n      *diff.Node
		folded int // not 0: instead of a node, so many branches that are left out
		indent int
		mark   string
	}
	todo := []work{{n: t.Root}}
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if w.folded > 0 {
			why := fmt.Sprintf("of less than %.3g %% of what has changed", 100*trim.Share)
			if trim.Depth > 0 {
				why = "deeper, or " + why
			}
			branches := strings.Replace(humanize.Plural(uint64(w.folded), "more branch"), "branchs", "branches", 1)
			d.printf("%s%s└ %s\n", strings.Repeat(" ", 52), strings.Repeat("  ", w.indent),
				d.faint(fmt.Sprintf("(%s %s)", branches, why)))
			continue
		}
		times := 1
		for len(w.n.Children) == 1 && w.n.Folded == 0 && w.n != t.Root && w.n.Children[0].Group == w.n.Group {
			w.n = w.n.Children[0]
			times++
		}
		more := ""
		if times > 1 {
			more = fmt.Sprintf(" ×%d", times)
		}
		prefix := strings.Repeat("  ", max(w.indent-1, 0)) + w.mark
		name := d.bold("all")
		if w.n != t.Root {
			side := d.answerText
			if w.n.Total.After == (query.Values{}) {
				side = d.before
			}
			name = side.groupName(&w.n.Group, max(nameWidth, d.renderer.Width-52-runes(prefix+more))) + more
		}
		line(&w.n.Total, prefix, name)
		if w.n.Folded > 0 {
			todo = append(todo, work{folded: w.n.Folded, indent: w.indent})
		}
		alone := len(w.n.Children) == 1 && w.n.Folded == 0
		for i, c := range slices.Backward(w.n.Children) {
			next := work{n: c, indent: w.indent}
			if !alone {
				next.indent, next.mark = min(w.indent+1, maxIndent), "├ "
				if i == len(w.n.Children)-1 && w.n.Folded == 0 {
					next.mark = "└ "
				}
			}
			todo = append(todo, next)
		}
	}
	if cut > 0 {
		d.printf("  %s\n", d.faint(fmt.Sprintf("and %s (--limit)", humanize.Plural(uint64(cut), "more line"))))
	}
	if t.Root.Moved == 0 {
		d.printf("\n  nothing has changed\n")
	}
	return d.Flush()
}
