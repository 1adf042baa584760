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

// difference writes how two answers differ. Groups have the names of the run that has them.
type difference struct {
	*answerText // of the last run of the second side; everything goes to its writer
	before      *answerText
	others      map[*query.Source]*answerText // of the other runs
	a, b        *query.Answer
	status      int // the width of the column
}

func newDifference(w io.Writer, c *diff.Comparison, a, b *query.Answer, o QueryOptions) *difference {
	before, after := c.Last()
	d := &difference{answerText: newAnswer(w, after.Source, o), before: newAnswer(io.Discard, before.Source, o),
		others: make(map[*query.Source]*answerText), a: a, b: b}
	d.before.show(a.Shown(before.Source))
	d.show(b.Shown(after.Source))
	d.side("before", d.before, a, len(c.Before))
	d.side("after", d.answerText, b, len(c.After))
	if len(c.Before) > 1 || len(c.After) > 1 {
		d.printf("%s\n", d.faint("        medians; ±: half of how far the runs are apart"))
	}
	if c.Scale {
		d.printf("%s\n", d.faint("        before is scaled: what can be added up is as much in all as after"))
	}
	d.printf("\n")
	d.before.Writer = d.answerText.Writer
	d.before.incomplete(a)
	d.incomplete(b)
	for _, side := range slices.Concat(c.Before, c.After) {
		other := newAnswer(io.Discard, side.Source, o)
		other.show(side.Query.Shown(side.Source))
		other.Writer = d.answerText.Writer
		d.others[side.Source] = other
	}
	d.others[before.Source], d.others[after.Source] = d.before, d.answerText
	return d
}

// side writes what one side is: the last of so many runs.
func (d *difference) side(word string, a *answerText, q *query.Answer, runs int) {
	what := "all of " + humanize.Duration(a.p.Duration)
	if q.To-q.From != a.events() {
		what = fmt.Sprintf("%s from %s on", humanize.Duration(q.Span), humanize.Duration(q.Begin))
	}
	text := fmt.Sprintf(" · %s · %s · from the %s", clean(a.p.Name), what, planText[q.Plan])
	if runs > 1 {
		text += fmt.Sprintf(" · last of %d runs", runs)
	}
	d.printf("%-7s %s%s\n", word, d.bold(command(a.p, max(20, d.Width-8-runes(text)))), d.faint(text))
}

// of returns the run that names a group.
func (d *difference) of(s *query.Source) *answerText { return d.others[s] }

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

// half formats half of how far the values of runs are apart.
func (d *difference) half(m query.Metric, of [2]float64) string { return d.amount(m, (of[1]-of[0])/2) }

// percent formats a change as a share of the value before.
func (d *difference) percent(m query.Metric, p *diff.Pair) string {
	return changeShare(m.Of(&p.Before, d.a.Span), m.Of(&p.After, d.b.Span))
}

// changeShare formats by what share of it a value has changed.
func changeShare(before, after float64) string {
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
func Diff(w io.Writer, c *diff.Comparison, t *diff.Table, o QueryOptions) error {
	d := newDifference(w, c, &t.Before, &t.After, o)
	changed := t.Changed()
	if c.All {
		changed = t.Rows
	}
	changed = slices.DeleteFunc(slices.Clone(changed), func(r diff.Row) bool {
		return profile.BeforeMain(r.Function) && r.Self == (diff.Pair{})
	})
	rows, left := answer.Cut(d.Page, changed)
	d.status = 6
	for i := range rows {
		d.status = max(d.status, runes(rows[i].Status.String()))
	}
	cols := d.changeColumns(t, rows)
	room := func() int {
		used := d.status + 3
		for _, c := range cols {
			used += 2 + c.width
		}
		return d.Width - used
	}
	if d.wraps && room() < nameWidth { // metrics that have not changed make room
		cols = slices.DeleteFunc(cols, func(c changeColumn) bool { return c.spare })
	}
	by := ""
	if len(t.Rows) > 0 {
		by = t.Rows[0].By.String()
	}
	// On a narrow terminal, a call stack has a line of its own below the numbers.
	names, below := max(d.leastName(), room()), ""
	if by == query.ByStack.String() && d.wraps && names < nameWidth {
		below = strings.Repeat(" ", d.status+5)
		names = d.Width - len(below)
	}
	var head strings.Builder
	for _, c := range cols {
		head.WriteString("  " + padLeft(c.head, c.width))
	}
	d.printf("%s\n", d.faint(head.String()+strings.Repeat(" ", d.status+3)+by))
	d.changeLine(cols, 0, "", d.bold("all"))
	opened := map[*answerText]map[uint32][]int{}
	for _, side := range d.others {
		opened[side] = d.opened(side, rows, names)
	}
	for i := range rows {
		r := &rows[i]
		side := d.of(r.Source)
		name := side.groupName(&r.Group, names, opened[side][r.Stack]...)
		if below != "" {
			d.changeLine(cols, i+1, r.Status.String(), "")
			d.printf("%s%s\n", below, name)
		} else {
			d.changeLine(cols, i+1, r.Status.String(), name)
		}
	}
	d.more(left)
	switch n := uint64(t.Unchanged()); {
	case len(changed) == 0:
		d.printf("\n  nothing has changed\n")
	case n > 0 && !c.All:
		d.printf("  %s\n", d.faint("and "+humanize.Plural(n, "row")+" unchanged"))
	}
	return d.Flush()
}

// changeColumn is a column of the numbers of a comparison.
type changeColumn struct {
	head  string
	cells []string // of the whole, then of the rows
	width int
	spare bool // left out if names have no room: nothing has changed
}

// changeColumns returns the first metric before and after, and the changes of all.
func (d *difference) changeColumns(t *diff.Table, rows []diff.Row) (cols []changeColumn) {
	all := diff.Pair{Before: t.Before.Total, After: t.After.Total}
	lines := slices.Concat([]diff.Row{{Self: all, Total: all, Spread: t.Spread}}, rows)
	add := func(head string, spare bool, text func(r *diff.Row) string) {
		c := changeColumn{head: head, width: runes(head), spare: spare}
		for i := range lines {
			cell := text(&lines[i])
			c.cells, c.width, c.spare = append(c.cells, cell), max(c.width, runes(cell)), c.spare && cell == "0"
		}
		cols = append(cols, c)
	}
	first := t.After.Metrics[0]
	add("before", false, func(r *diff.Row) string { return d.value(first, &r.Total.Before, t.Before.Span) })
	add("after", false, func(r *diff.Row) string { return d.value(first, &r.Total.After, t.After.Span) })
	for i, m := range t.After.Metrics {
		add(m.String()+d.unitNote(m), i > 0, func(r *diff.Row) string { return d.change(m, &r.Total) })
		if i == 0 {
			add("", false, func(r *diff.Row) string { return d.percent(m, &r.Total) })
			if t.Spread != nil {
				add("± before", false, func(r *diff.Row) string { return d.half(m, r.Spread[0].Before) })
				add("± after", false, func(r *diff.Row) string { return d.half(m, r.Spread[0].After) })
			}
		}
		if len(t.Rows) > 0 && twoValues(t.Rows[0].By) {
			add("self", i > 0, func(r *diff.Row) string { return d.change(m, &r.Self) })
		}
	}
	return cols
}

// changeLine writes the cells of a line, its status and its name.
func (d *difference) changeLine(cols []changeColumn, line int, status, name string) {
	for k, c := range cols {
		text := padLeft(c.cells[line], c.width)
		if k == 2 {
			text = d.bold(text)
		}
		d.printf("  %s", text)
	}
	d.printf("%s\n", strings.TrimRight("  "+d.faint(padRight(status, d.status))+" "+name, " "))
}

// opened returns which frames to open, by stack, so that no two rows that a side names look equal.
func (d *difference) opened(side *answerText, rows []diff.Row, width int) map[uint32][]int {
	var stacks []uint32
	for i := range rows {
		if rows[i].By == query.ByStack && !rows[i].Unknown && d.of(rows[i].Source) == side {
			stacks = append(stacks, rows[i].Stack)
		}
	}
	return side.distinguish(len(stacks), func(i int) uint32 { return stacks[i] }, chainText(width))
}

// DiffTree writes a call tree with what each node was and is.
func DiffTree(w io.Writer, c *diff.Comparison, t *diff.Tree, trim query.Trim, o QueryOptions) error {
	d := newDifference(w, c, &t.Before, &t.After, o)
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
		folded int    // not 0: instead of a node, so many branches that are left out
		prefix string // what is drawn before its descendants
		mark   string // and instead of that before itself
	}
	limit := min(maxIndent, (d.Width-52-narrowWidth)/2)
	todo := []work{{n: t.Root}}
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if w.folded > 0 {
			why := fmt.Sprintf("of less than %.3g %% of what has changed", 100*trim.Share)
			if c.All {
				why = fmt.Sprintf("of less than %.3g %% of the larger side", 100*trim.Share)
			}
			if trim.Depth > 0 {
				why = "deeper, or " + why
			}
			d.printf("%s%s%s\n", strings.Repeat(" ", 52), d.faint(w.mark),
				d.faint(fmt.Sprintf("(%s %s)", humanize.Plural(uint64(w.folded), "more branch"), why)))
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
		name := d.bold("all")
		if w.n.Source != nil {
			name = d.of(w.n.Source).groupName(&w.n.Group, max(d.leastName(), d.Width-52-runes(w.mark+more))) + more
		}
		line(&w.n.Total, w.mark, name)
		if w.n.Folded > 0 {
			mark, _ := branch(w.prefix, limit, true)
			todo = append(todo, work{folded: w.n.Folded, mark: mark})
		}
		alone := len(w.n.Children) == 1 && w.n.Folded == 0
		for i, c := range slices.Backward(w.n.Children) {
			next := work{n: c, mark: w.prefix, prefix: w.prefix}
			if !alone {
				next.mark, next.prefix = branch(w.prefix, limit, i == len(w.n.Children)-1 && w.n.Folded == 0)
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
