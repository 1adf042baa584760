package view

import (
	"fmt"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/timeref"
)

// marks lists the marks.
func (r *report) marks() {
	list := r.p.Marks
	if len(list) == 0 || r.Top < 0 || r.Selection != nil {
		return
	}
	names := timeref.Names(list)
	most := min(len(list), 2*max(r.Top, 1))
	r.printf("%s  %s\n", r.title("MARKS"), r.faint("--at, --from and --to take their names"))
	for i := range list[:most] {
		r.mark(&list[i], names[i])
	}
	if most < len(list) {
		r.printf("  %s\n", r.faint(fmt.Sprintf("and %s: heaptap dump --marks",
			humanize.Plural(uint64(len(list)-most), "more mark"))))
	}
	r.printf("\n")
}

func (r *report) mark(m *event.Mark, name string) {
	r.printf("  %s  %s  %s\n", padLeft(r.duration(m.Time), 10), padRight(funcname.Middle(clean(name), 60), 40),
		r.faint("by "+markedBy[m.Source]))
}

var markedBy = [event.MarkSources]string{
	event.FromProgram: "the program", event.FromUser: "heaptap ctl", event.FromTimer: "--mark-every",
	event.FromSignal: "--mark-on", event.FromCondition: "--mark-when", event.FromMode: "a change of mode",
}

// maxMarks is how many marks are named below a graph.
const maxMarks = 20

// markAxis writes where the marks are, below the axis of graphs of n columns, and then their names.
func (a *answerText) markAxis(t *query.Series, n int) {
	list, names := t.Marks(a.s)
	if len(list) == 0 {
		return
	}
	line := []rune(strings.Repeat(" ", n))
	for i := range list {
		at := 0
		if t.Span > 0 {
			at = int(float64(list[i].Time-t.Begin) / float64(t.Span) * float64(n))
		}
		line[min(at, n-1)] = '▲'
	}
	a.printf("%s %s\n", a.faint(padLeft("marks", labelWidth)), a.place(strings.TrimRight(string(line), " ")))
	for i := range list[:min(len(list), maxMarks)] {
		a.printf("%s  %s\n", a.faint(padLeft(a.duration(list[i].Time), labelWidth)),
			funcname.Middle(clean(names[i]), a.Width-labelWidth-2))
	}
	if more := len(list) - maxMarks; more > 0 {
		a.printf("%s  %s\n", strings.Repeat(" ", labelWidth),
			a.faint(fmt.Sprintf("and %s: heaptap dump --marks", humanize.Plural(uint64(more), "more mark"))))
	}
}
