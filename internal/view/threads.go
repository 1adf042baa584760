package view

import (
	"fmt"
	"io"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// Threads writes what each thread allocated, which threads freed it, and which functions were called.
func Threads(w io.Writer, s *query.Source, t *query.ThreadTables, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&t.Threads.Answer)
	if len(t.Threads.Rows) == 0 {
		if !a.countedThreads() {
			a.printf("  nothing was counted\n")
		}
		a.allocatorTime()
		return a.Flush()
	}
	a.printf("%s\n", a.title("THREADS"))
	left := a.plain(t.Threads)
	a.more(left)
	a.printf("\n%s\n", a.title("ALLOCATED THROUGH"))
	a.plain(t.Calls)
	if len(t.Matrix.Cells) > 0 {
		a.printf("\n%s\n", a.title("ALLOCATED BY, FREED BY"))
		a.matrix(t.Matrix)
	}
	a.allocatorTime()
	a.stackMemory()
	return a.Flush()
}

// plain writes a table with a column for each metric.
func (a *answerText) plain(t *query.Table) (left int) {
	rows, left := answer.Cut(a.Page, t.Rows)
	if len(rows) == 0 {
		return 0
	}
	var cols []column
	for _, m := range t.Metrics {
		cols = append(cols, column{head: m.String() + a.unitNote(m),
			text: func(r *query.Row) string { return a.value(m, &r.Total, t.Span) }})
	}
	a.table(a.layOut(cols, rows), nil)
	return left
}

// matrix writes the pairs of allocating and freeing threads, those with most blocks first.
func (a *answerText) matrix(m *query.Matrix) {
	cells, left := answer.Cut(a.Page, m.Cells)
	width := len("allocated by")
	for _, c := range cells {
		width = min(max(width, runes(threadName(a.s, c.Allocated))), 30)
	}
	a.printf("%s\n", a.faint(fmt.Sprintf("  %8s %8s %9s  %s  %s", "blocks", "share", "bytes",
		padRight("allocated by", width), "freed by")))
	for _, c := range cells {
		by := "nobody that was seen"
		if !c.Unseen {
			by = funcname.Middle(threadName(a.s, c.Freed), 30)
			if c.Freed == c.Allocated {
				by = a.faint("itself")
			}
		}
		a.printf("  %s %s %s  %s  %s\n", a.bold(padLeft(a.short(c.Blocks), 8)),
			padLeft(humanize.Percent(c.Blocks, m.Total.Deallocations), 8), padLeft(a.size(c.Bytes), 9),
			padRight(funcname.Middle(threadName(a.s, c.Allocated), width), width), by)
	}
	if left > 0 {
		a.more(left)
	}
}
