package view

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// stackLine writes the overview's line on stacks: the thread whose stack was deepest, and where.
func (r *report) stackLine() {
	if len(r.p.StackMemory) == 0 || r.Selection != nil {
		return
	}
	m := &r.p.StackMemory[0]
	if m.Most() == 0 {
		return
	}
	text := r.bold(r.size(m.Most())) + " at most"
	if m.Touched == 0 {
		text = r.bold(r.size(m.Most())) + " at events"
	}
	if m.Size > 0 {
		text += " of " + r.size(m.Size)
	}
	if len(r.p.StackMemory) > 1 && int(m.Thread) < len(r.p.Threads) {
		t := &r.p.Threads[m.Thread]
		text += fmt.Sprintf(" in thread %s (%d)", clean(t.Name), t.TID)
	}
	r.line("stack", text+r.faint("   heaptap threads"))
}

// stackMemory writes a table of the threads' stacks, and where the deepest ones were.
func (a *answerText) stackMemory() {
	list, left := answer.Cut(a.Page, a.p.StackMemory)
	a.printf("%s  %s\n", a.title("STACK MEMORY"),
		a.faint("in use at events; touched by any call; that the stack may take"))
	width := len("thread")
	for i := range list {
		width = min(max(width, runes(threadName(a.s, list[i].Thread))), 22)
	}
	head := fmt.Sprintf("  %9s %8s %8s  %s  %s", "at events", "touched", "size", padRight("thread", width),
		"deepest event")
	a.printf("%s\n", a.faint(head))
	for i := range list {
		m := &list[i]
		a.printf("  %s %s %s  %s  %s\n", a.bold(padLeft(a.size(m.Deepest), 9)), padLeft(a.orUnknown(m.Touched), 8),
			padLeft(a.orUnknown(m.Size), 8), padRight(funcname.Middle(threadName(a.s, m.Thread), width), width),
			a.chain(m.Stack, max(a.leastName(), a.Width-33-width)).styled)
	}
	a.more(left)
}

func (a *answerText) orUnknown(n uint64) string {
	if n == 0 {
		return "unknown"
	}
	return a.size(n)
}

// deepestShown is how many call stacks are shown of those at which a thread's stack reached a new depth.
const deepestShown = 3

// StackTimeline draws how deep threads' stacks became over time, and shows where the deepest were.
func StackTimeline(w io.Writer, s *query.Source, t *query.StackSeries, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.printf("%s\n", a.bold(command(a.p, a.Width)))
	a.printf("%s\n\n", a.faint(fmt.Sprintf("stack memory from %s to %s, of %s", a.duration(t.Begin),
		a.duration(t.Begin+t.Span), a.duration(a.p.Duration))))
	a.incomplete(&t.Answer)
	if len(t.Rows) == 0 {
		a.printf("  no thread's stack is known\n")
	}
	for i := range t.Rows {
		a.stackDevelopment(t, &t.Rows[i])
	}
	if t.More > 0 {
		a.printf("  %s\n", a.faint(fmt.Sprintf("and %s (--top %d)", humanize.Plural(uint64(t.More), "more thread"),
			len(t.Rows)+t.More)))
	}
	return a.Flush()
}

func (a *answerText) stackDevelopment(t *query.StackSeries, r *query.ThreadStack) {
	n := len(t.Times) - 1
	deepest, touched := r.Deepest[n], r.Touched[n]
	a.printf("%s  %s\n", a.title(strings.ToUpper("thread ")+threadName(a.s, r.Thread)),
		a.faint(fmt.Sprintf("%s at events (█), %s touched by any call (░), of %s", a.size(deepest),
			a.orUnknown(touched), a.orUnknown(r.Size))))
	most := max(deepest, touched)
	for line := smallHeight - 1; line >= 0; line-- {
		label := map[int]string{smallHeight - 1: a.size(most), 0: "0"}[line]
		var b strings.Builder
		for i := range n {
			b.WriteRune(stackCell(r.Deepest[i+1], r.Touched[i+1], most, line))
		}
		columns := strings.TrimRight(b.String(), " ")
		if columns != "" {
			columns = " " + a.place(columns)
		}
		a.printf("%s%s\n", a.faint(padLeft(label, labelWidth)), columns)
	}
	left, right := a.duration(t.Begin), a.duration(t.Begin+t.Span)
	a.printf("%s %s\n", strings.Repeat(" ", labelWidth), a.faint(left+padLeft(right, n-runes(left))))
	growth := slices.DeleteFunc(t.InRange(r), func(u event.StackUse) bool { return u.Measure != event.StackDeepest })
	for i := range min(len(growth), deepestShown) {
		u := &growth[len(growth)-1-i]
		at := padLeft("at "+a.duration(u.Time), 12)
		a.printf("%s %s  %s\n", padLeft(a.size(u.Bytes), labelWidth), a.faint(at),
			a.chain(u.Stack, a.Width-labelWidth-15).styled)
	}
	a.printf("\n")
}

// stackCell returns a character of the graph: the depth at events, or else the depth that was touched.
func stackCell(deepest, touched, most uint64, line int) rune {
	part := func(v uint64) int {
		if most == 0 {
			return 0
		}
		return int(min(max(float64(v)/float64(most)*smallHeight*8-float64(line*8), 0), 8))
	}
	k := part(deepest)
	if line == 0 && deepest > 0 {
		k = max(k, 1)
	}
	if k == 0 && part(touched) >= 4 {
		return '░'
	}
	return eighths[k]
}

// StackTimelineCSV writes a line for each time, in seconds, at which a stack reached a new depth.
func StackTimelineCSV(w io.Writer, s *query.Source, t *query.StackSeries) error {
	out := bufio.NewWriter(w)
	c := csv.NewWriter(out)
	err := c.Write([]string{"time_s", "thread", "tid", "name", "measure", "bytes", "stack", "frames"})
	for i := range t.Rows {
		id := answer.NewThread(s, t.Rows[i].Thread)
		for _, u := range t.InRange(&t.Rows[i]) {
			stack, frames := "", ""
			if u.Measure == event.StackDeepest {
				stack, frames = strconv.FormatUint(uint64(u.Stack), 10), foldedFrames(s.Profile, u.Stack)
			}
			if err == nil {
				err = c.Write([]string{fmt.Sprintf("%.9f", float64(u.Time)/1e9),
					strconv.FormatUint(uint64(id.Index), 10), strconv.FormatUint(uint64(id.TID), 10),
					escape.Cell(id.Name), u.Measure.String(), strconv.FormatUint(u.Bytes, 10), stack,
					escape.Cell(frames)})
			}
		}
	}
	c.Flush()
	if err == nil {
		err = c.Error()
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

// foldedFrames returns the functions of a call stack, the root first, as in folded stacks.
func foldedFrames(p *profile.Profile, stack uint32) string {
	var names []string
	for _, f := range p.AppendFrames(nil, stack) {
		names = append(names, frameName(&f))
	}
	slices.Reverse(names)
	return strings.Join(names, ";")
}

func frameName(f *profile.Frame) string {
	if f.Function != "" {
		return strings.ReplaceAll(f.Function, ";", ":")
	}
	return fmt.Sprintf("0x%x", f.Address)
}
