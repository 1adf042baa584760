package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// counts writes the calls that were counted but not recorded: by function, and by thread if there are several; then
// how long they took, if that was measured.
func (r *report) counts() {
	c := r.p.Counts
	if c == nil || r.Selection != nil {
		return
	}
	functions, threads := byCalls(c.By(event.OfFunc)), byCalls(c.By(event.OfThread))
	if anyCalls(functions) {
		r.printf("%s  %s\n", r.title("COUNTED"), r.faint("without call stacks"))
		r.countedRows(functions, countedBy)
		if len(threads) > 1 {
			r.countedRows(threads, threadCounted)
		}
		r.sizeClasses(functions)
		r.printf("\n")
	}
	if r.timedRows(c, functions, "function", countedBy, 0) {
		r.printf("\n")
	}
}

// countedThreads writes the counts by thread; false if there are none.
func (a *answerText) countedThreads() bool {
	c := a.p.Counts
	if c == nil || !anyCalls(c.Rows) {
		return false
	}
	a.printf("%s  %s\n", a.title("COUNTED"), a.faint("by thread"))
	a.countedRows(byCalls(c.By(event.OfThread)), threadCounted)
	a.printf("\n%s  %s\n", a.title("COUNTED"), a.faint("by thread and function"))
	a.countedRows(byCalls(slices.Clone(c.Rows)), threadAndFunction)
	return true
}

func anyCalls(list []event.Count) bool {
	return slices.ContainsFunc(list, func(n event.Count) bool { return n.Calls+n.Failed > 0 })
}

// onlyCounted writes what a recording of counts does not have.
const onlyCounted = "counted, not recorded: nothing is known of single blocks"

// byCalls sorts the most frequent calls first.
func byCalls(list []event.Count) []event.Count {
	slices.SortStableFunc(list, func(a, b event.Count) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(b.Timed, a.Timed))
	})
	return list
}

// countedBy returns the name of a function; realloc has two rows.
func countedBy(c *event.Count) string {
	if c.Frees && c.Func == event.ReallocFunc {
		return "realloc (of old blocks)"
	}
	return c.Func.String()
}

func threadCounted(c *event.Count) string {
	if c.TID == 0 {
		return "(threads that have ended)"
	}
	return fmt.Sprintf("%s (%d)", cmp.Or(clean(c.Name), "-"), c.TID)
}

func threadAndFunction(c *event.Count) string { return threadCounted(c) + " " + countedBy(c) }

func (r *renderer) countedRows(list []event.Count, name func(*event.Count) string) {
	r.printf("  %s\n", r.faint(fmt.Sprintf("%14s %9s %11s %11s  %s", "calls", "failed", "bytes", "usable", "")))
	for i := range list {
		if c := &list[i]; c.Calls+c.Failed > 0 {
			r.printf("  %s %9s %11s %11s  %s\n", r.bold(padLeft(humanize.Number(c.Calls), 14)),
				humanize.Number(c.Failed), r.size(c.Bytes), r.size(c.Usable), name(c))
		}
	}
}

// sizeClasses writes the requested sizes of all functions together.
func (r *report) sizeClasses(functions []event.Count) {
	var all event.Count
	for i := range functions {
		all.Add(&functions[i])
	}
	sum := uint64(0)
	for _, c := range all.Sizes {
		sum += c.Calls
	}
	if sum == 0 {
		return
	}
	r.printf("  %s\n", r.faint(fmt.Sprintf("%14s %9s  %s", "calls", "", "bytes asked for")))
	for _, c := range all.Sizes {
		lo, hi := query.SizeClass(c.Class)
		text := r.size(lo)
		switch {
		case c.Class == event.SizeClasses-1:
			text += " and more"
		case lo != hi:
			text += " to " + r.size(hi)
		}
		r.printf("  %s %9s  %s\n", r.bold(padLeft(humanize.Number(c.Calls), 14)), humanize.Percent(c.Calls, sum), text)
	}
}

// timedRows writes how long calls took, the longest total first, in at most so many rows (0: all); false if no call
// was timed.
func (r *renderer) timedRows(c *event.Counts, list []event.Count, by string, name func(*event.Count) string,
	most int) bool {
	list = slices.DeleteFunc(slices.Clone(list), func(n event.Count) bool { return n.Timed == 0 })
	if len(list) == 0 {
		return false
	}
	slices.SortStableFunc(list, func(a, b event.Count) int { return cmp.Compare(b.Time, a.Time) })
	r.printf("%s  %s\n", r.title("TIME IN THE ALLOCATOR"), r.faint("inside of the real functions, by "+by))
	r.printf("  %s\n", r.faint(fmt.Sprintf("%10s %14s %9s %9s %9s", "in all", "timed calls", "mean", "half ≤",
		"99 % ≤")))
	left := 0
	if most > 0 && len(list) > most {
		left, list = len(list)-most, list[:most]
	}
	for i := range list {
		n := &list[i]
		r.printf("  %s %14s %9s %9s %9s  %s\n", r.bold(padLeft(r.duration(int64(n.Time)), 10)),
			humanize.Number(n.Timed), r.duration(int64(n.MeanTime())), r.duration(int64(c.TimeQuantile(n, .5))),
			r.duration(int64(c.TimeQuantile(n, .99))), name(n))
	}
	if left > 0 {
		r.printf("  %s\n", r.faint("and "+humanize.Plural(uint64(left), "more row")))
	}
	return true
}

// timed reports whether there is something in allocatorTime.
func (a *answerText) timed() bool {
	c := a.p.Counts
	return c != nil && slices.ContainsFunc(c.Rows, func(n event.Count) bool { return n.Timed > 0 })
}

// allocatorTime writes how long calls took, for the page on threads.
func (a *answerText) allocatorTime() {
	c := a.p.Counts
	a.timedRows(c, c.By(event.OfThread), "thread", threadCounted, a.Limit)
	a.printf("\n")
	a.timedRows(c, c.By(event.OfFunc), "function", countedBy, a.Limit)
	a.printf("\n")
	a.timedRows(c, slices.Clone(c.Rows), "thread and function", threadAndFunction, a.Limit)
}
