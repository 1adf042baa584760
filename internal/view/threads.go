package view

import (
	"fmt"
	"io"
	"slices"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/framesize"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// Parts of what threads did.
const (
	ThreadsAll    = "threads" // with own peaks and depths, which only events have
	ThreadsTotals = "totals"
	ThreadsCalls  = "calls"
	ThreadsMatrix = "matrix"
	ThreadsTime   = "time"
	ThreadsStacks = "stacks"
	ThreadsFrames = "frames" // of the deepest stacks
)

// ThreadParts are the parts that are shown by default, in the order of the output: not the totals, which are in the
// first one, nor the frames, which are many.
var ThreadParts = []string{ThreadsAll, ThreadsCalls, ThreadsMatrix, ThreadsTime, ThreadsStacks}

// Threads writes what each thread allocated, which threads freed it, and which functions were called: these parts. Only
// ThreadsFrames needs sizes.
func Threads(w io.Writer, s *query.Source, t *query.ThreadTables, sizes *framesize.Sizes, parts []string,
	o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&t.Threads.Answer)
	if len(t.Threads.Rows) == 0 {
		if !a.countedThreads() {
			a.printf("  nothing was counted\n")
		}
		if slices.Contains(parts, ThreadsTime) && a.timed() {
			a.printf("\n")
			a.allocatorTime()
		}
		return a.Flush()
	}
	first := true
	section := func(title string) {
		if !first {
			a.printf("\n")
		}
		if first = false; title != "" {
			a.printf("%s\n", a.title(title))
		}
	}
	for _, part := range parts {
		switch {
		case part == ThreadsAll:
			section("THREADS")
			a.more(a.plain(t.Threads, a.ended(t.Threads)...))
		case part == ThreadsTotals:
			section("THREADS")
			a.more(a.plain(totalsOf(t.Threads), a.ended(t.Threads)...))
		case part == ThreadsCalls:
			section("ALLOCATED THROUGH")
			a.plain(t.Calls)
		case part == ThreadsMatrix && len(t.Matrix.Cells) > 0:
			section("ALLOCATED BY, FREED BY")
			a.matrix(t.Matrix)
		case part == ThreadsTime && a.timed():
			section("")
			a.allocatorTime()
		case part == ThreadsStacks && len(a.p.StackMemory) > 0:
			section("")
			a.stackMemory()
		case part == ThreadsFrames && len(a.p.StackMemory) > 0:
			section("")
			a.stackFrames(sizes)
		}
	}
	return a.Flush()
}

// totalsOf leaves out what only events have.
func totalsOf(t *query.Table) *query.Table {
	some := *t
	some.Metrics = slices.DeleteFunc(slices.Clone(t.Metrics), func(m query.Metric) bool {
		return m == query.OwnPeak || m == query.Depth
	})
	return &some
}

// ended is a column that says when threads ended, if that is known of any of them.
func (a *answerText) ended(t *query.Table) []column {
	text := func(r *query.Row) string {
		if at := a.s.ThreadEnded(r.Thread); at != nil {
			return a.duration(*at)
		}
		return ""
	}
	if !slices.ContainsFunc(t.Rows, func(r query.Row) bool { return text(&r) != "" }) {
		return nil
	}
	return []column{{head: "ended", text: text}}
}

// plain writes a table with a column for each metric, and more.
func (a *answerText) plain(t *query.Table, more ...column) (left int) {
	rows, left := answer.Cut(a.Page, t.Rows)
	if len(rows) == 0 {
		return 0
	}
	var cols []column
	for _, m := range t.Metrics {
		cols = append(cols, column{head: m.String() + a.unitNote(m),
			text: func(r *query.Row) string { return a.value(m, &r.Total, t.Span) }})
	}
	a.table(a.layOut(append(cols, more...), rows), nil)
	return left
}

// matrix writes the pairs of allocating and freeing threads, those with most blocks first.
func (a *answerText) matrix(m *query.Matrix) {
	cells, left := answer.Cut(a.Page, m.Cells)
	width := len("allocated by")
	for _, c := range cells {
		width = min(max(width, runes(threadOrOthers(a.s, c.Allocated))), 30)
	}
	a.printf("%s\n", a.faint(fmt.Sprintf("  %8s %8s %9s  %s  %s", "blocks", "share", "bytes",
		padRight("allocated by", width), "freed by")))
	for _, c := range cells {
		by := "nobody that was seen"
		if !c.Unseen {
			by = funcname.Middle(threadOrOthers(a.s, c.Freed), 30)
			if c.Freed == c.Allocated && c.Freed != query.OtherThreads {
				by = a.faint("itself")
			}
		}
		a.printf("  %s %s %s  %s  %s\n", a.bold(padLeft(a.short(c.Blocks), 8)),
			padLeft(humanize.Percent(c.Blocks, m.Total.Deallocations), 8), padLeft(a.size(c.Bytes), 9),
			padRight(funcname.Middle(threadOrOthers(a.s, c.Allocated), width), width), by)
	}
	if left > 0 {
		a.more(left)
	}
}

// threadOrOthers names a side of a matrix.
func threadOrOthers(s *query.Source, i uint32) string {
	if i == query.OtherThreads {
		return "other threads"
	}
	return threadName(s, i)
}
