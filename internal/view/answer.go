package view

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// QueryOptions say how the answer to a query is shown.
type QueryOptions struct {
	Options
	answer.Page
}

// answerText writes the answer to a query as text.
type answerText struct {
	renderer
	answer.Page
	s *query.Source
}

func newAnswer(w io.Writer, s *query.Source, o QueryOptions) *answerText {
	return &answerText{renderer: newRenderer(w, s.Profile, o.fill()), Page: o.Page, s: s}
}

// answerHeading writes what the answer is about, and what is wrong with the data.
func (a *answerText) answerHeading(q *query.Answer) {
	a.show(q.Shown(a.s))
	a.printf("%s\n", a.bold(command(a.p, a.Width)))
	what := "all of " + a.duration(a.p.Duration)
	if a.p.Live {
		what = "still running, " + a.duration(a.p.Duration) + " recorded"
	}
	if q.To-q.From != a.events() {
		what = fmt.Sprintf("%s from %s on, of %s", a.duration(q.Span), a.duration(q.Begin), a.duration(a.p.Duration))
	}
	events := humanize.Plural(q.To-q.From, "event")
	if m := a.p.Merged; m != nil {
		events = humanize.Plural(uint64(len(m.Inputs)), "recording")
		if format := m.Imported(); format != "" {
			events = "from " + clean(format)
		}
	}
	a.printf("%s\n\n", a.faint(fmt.Sprintf("%s · %s · from the %s", what, events, planText[q.Plan])))
	if a.p.OnlyCounted() {
		a.wrap("", "allocations were "+onlyCounted+"; heaptap report and heaptap threads show the counts", a.title)
		a.printf("\n")
	}
	a.sampled()
	a.incomplete(q)
}

// runtimesOwn says what the runtime keeps, if leaks were asked for: it is not leaked.
func (a *answerText) runtimesOwn(q *query.Answer, hint string) {
	if q.Runtime.Blocks > 0 {
		a.printf("  %s\n", a.faint(fmt.Sprintf("besides %s in %s that the runtime keeps: no "+
			"leak%s", a.size(q.Runtime.Bytes), humanize.Plural(q.Runtime.Blocks, "block"), hint)))
	}
}

var planText = map[query.Plan]string{query.FromTally: "run's statistics", query.FromSummaries: "summaries",
	query.FromEvents: "events", query.FromAtlas: "an atlas"}

func (a *answerText) events() uint64 {
	first, last := a.s.Reader.Cuts()
	return last - first
}

// incomplete warns of what could not be read.
func (a *answerText) incomplete(q *query.Answer) {
	list := a.p.Damage
	if q.Missing != "" {
		list = append([]string{q.Missing}, list...)
	}
	if len(list) > 0 {
		a.wrapWarning("the recording is incomplete: " + clean(list[0]) + ". Numbers cover only what could be read.")
		a.printf("\n")
	}
}

// value writes a metric's value, and its standard error if it is an estimate.
func (a *answerText) value(m query.Metric, v *query.Values, span int64) string {
	if a.p.Sampled() && !m.OfSamples() {
		return "?"
	}
	return a.plainValue(m, v, span) + a.pm(m, v, span)
}

func (a *answerText) plainValue(m query.Metric, v *query.Values, span int64) string {
	n, whole := m.Integer(v)
	if !whole {
		f := m.Of(v, span)
		switch {
		case m.Unit() == query.Ratio && a.Exact:
			return strconv.FormatFloat(f, 'f', 3, 64)
		case m.Unit() == query.Ratio:
			return humanize.Ratio(f)
		case a.Exact:
			return humanize.Number(uint64(math.Round(f)))
		}
		return humanize.Size(uint64(math.Round(f))) + "/s"
	}
	switch {
	case a.Exact:
		return humanize.Number(n)
	case m.Unit() == query.ByteCount:
		return humanize.Size(n)
	case m.Unit() == query.Nanoseconds:
		return humanize.Duration(int64(min(n, math.MaxInt64)))
	}
	return humanize.Short(n)
}

// share returns a value's share of the whole; "" if the metric's values do not sum up.
func (a *answerText) share(m query.Metric, v, whole *query.Values) string {
	if !m.Sums() {
		return ""
	}
	if m == query.Churn {
		m = query.Bytes
	}
	part, _ := m.Integer(v)
	all, _ := m.Integer(whole)
	return humanize.Percent(part, all)
}

// unitNote returns the unit of exact numbers.
func (a *answerText) unitNote(m query.Metric) string {
	if u := m.Unit(); a.Exact && u != query.Count && u != query.Ratio {
		return " (" + u.String() + ")"
	}
	return ""
}

// groupName returns the name of a group in at most width columns.
func (a *answerText) groupName(g *query.Group, width int, opened ...int) string {
	if g.Unknown && g.By.OfBlocks() {
		return "(no region)"
	}
	if g.Unknown {
		return "(no call stack)"
	}
	f := &profile.Frame{Function: g.Function, File: g.File, Line: g.Line, Module: g.Module, Offset: g.Offset,
		Address: g.Offset}
	place := base(g.Module)
	if g.File != "" {
		place = base(g.File)
		if g.Line > 0 {
			place += fmt.Sprintf(":%d", g.Line)
		}
	}
	switch g.By {
	case query.ByStack:
		return a.chain(g.Stack, width, opened...).styled
	case query.ByThread:
		return funcname.Middle(threadName(a.s, g.Thread), width)
	case query.BySizeClass:
		return a.sizeClass(g.Class)
	case query.ByAllocation:
		return g.Func.String()
	case query.ByRegion, query.ByRegionName:
		return funcname.Middle(clean(g.Region), width)
	case query.ByModule:
		return funcname.Middle(orNone(clean(g.Module)), width)
	case query.ByFile:
		if g.File == "" {
			return funcname.Middle(orNone(base(g.Module))+" (no debug information)", width)
		}
		return funcname.Middle(clean(g.File), width)
	case query.ByAddress:
		place = strings.TrimSpace(address(f) + " " + place)
	}
	a.missing.see(g.Module, g.Function)
	if g.Function == "" {
		return funcname.Middle(address(f), width)
	}
	if place == "" {
		return funcname.Short(g.Function, width)
	}
	// The name first: the place gets what it can spare, or, if it is no part of what the row is about, nothing.
	spare := width - 1 - runes(funcname.Short(g.Function, width))
	if g.By == query.ByFunction && spare < min(8, runes(place)) {
		return funcname.Short(g.Function, width)
	}
	place = funcname.Middle(place, max(8, width/3, spare))
	name := funcname.Short(g.Function, max(8, width-1-runes(place)))
	return name + " " + a.place(place)
}

func orNone(s string) string {
	if s == "" {
		return "(outside of any file)"
	}
	return s
}

// size formats a number of bytes as the options say.
func (a *answerText) size(n uint64) string {
	if a.Exact {
		return humanize.Number(n)
	}
	return humanize.Size(n)
}

// sizeClass returns the name of a class of sizes: its bounds, powers of two.
func (a *answerText) sizeClass(class uint8) string {
	if a.Exact {
		return classText(class, a.size)
	}
	return sizeClassText(class)
}

func sizeClassText(class uint8) string {
	lo, hi := query.SizeClass(class)
	switch {
	case lo == hi:
		return humanize.Binary(lo)
	case hi < 1024:
		return fmt.Sprintf("%d to %d B", lo, hi)
	case hi == math.MaxUint64:
		return humanize.Binary(lo) + " or more"
	}
	return humanize.Binary(lo) + " to <" + humanize.Binary(hi+1)
}

// classText returns the bounds of a class.
func classText(class uint8, text func(uint64) string) string {
	lo, hi := query.SizeClass(class)
	if lo == hi {
		return text(lo)
	}
	return text(lo) + " to " + text(hi)
}

// threadName is a thread's name and number.
func threadName(s *query.Source, i uint32) string {
	list := s.Reader.Threads()
	if int(i) >= len(list) {
		return fmt.Sprintf("thread %d", i)
	}
	name := clean(list[i].Name)
	if name == "" {
		name = "-"
	}
	return fmt.Sprintf("%s (%d)", name, list[i].TID)
}

// more writes how many rows are not shown.
func (a *answerText) more(left int) {
	if left > 0 {
		a.printf("  %s\n", a.faint(fmt.Sprintf("and %s (--skip %d)", humanize.Plural(uint64(left), "more row"),
			a.Skip+a.Limit)))
	}
}
