package view

import (
	"fmt"
	"io"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// monitorHeading writes which program and process the output of a monitor is about.
func (a *answerText) monitorHeading(what string) {
	a.printf("%s  %s\n", a.title(what), a.faint(fmt.Sprintf("%s · process %d", command(a.p, a.Width-20),
		a.p.Process.PID)))
}

// MonitorSummary writes the totals of a process.
func MonitorSummary(w io.Writer, s *query.Source) error {
	a := newAnswer(w, s, QueryOptions{})
	t := &a.p.Totals
	a.monitorHeading("SUMMARY")
	a.printf("  requested      %s\n", humanize.Size(t.Bytes))
	a.printf("  peak           %s in %s\n", humanize.Size(t.Peak.Bytes), humanize.Plural(t.Peak.Blocks, "block"))
	a.printf("  live           %s in %s\n", humanize.Size(t.Bytes-t.FreedBytes),
		humanize.Plural(t.Allocations-t.Deallocations, "block"))
	a.printf("  allocations    %s\n", humanize.Number(t.Allocations))
	a.printf("  deallocations  %s\n\n", humanize.Number(t.Deallocations))
	return a.Flush()
}

// MonitorHistogram writes how many allocations of each power of two there were, by requested and by usable size, and
// how many of them were freed.
func MonitorHistogram(w io.Writer, s *query.Source, h *query.Histogram) error {
	a := newAnswer(w, s, QueryOptions{})
	a.monitorHeading("HISTOGRAM")
	a.printf("%s\n", a.faint("  "+padLeft("size", 22)+padLeft("requested", 14)+padLeft("usable", 14)+padLeft("freed",
		14)))
	for class := range query.Classes {
		requested, usable, freed := h.Sizes[class].Count, h.Usable[class].Count, h.Freed[class].Count
		if requested|usable|freed != 0 {
			a.printf("  %s%s%s%s\n", padLeft(sizeClassText(uint8(class)), 22),
				padLeft(humanize.Number(requested), 14), padLeft(humanize.Number(usable), 14),
				padLeft(humanize.Number(freed), 14))
		}
	}
	a.printf("\n")
	return a.Flush()
}

// Budget writes which regions exceed a limit, by how much and at which call stack.
func Budget(w io.Writer, s *query.Source, list []query.OverLimit) error {
	if len(list) == 0 {
		return nil
	}
	a := newAnswer(w, s, QueryOptions{})
	a.monitorHeading("BUDGET")
	for _, x := range list {
		text := humanize.Size
		if !x.Limit.Bytes {
			text = humanize.Number
		}
		a.printf("  %s %s, at most %s: region %s of %s, %s after the start\n", x.Limit.What, text(uint64(x.Value)),
			text(uint64(max(x.Limit.Most, 0))), clean(x.Region.Title), threadName(s, x.Region.Thread),
			humanize.Duration(x.Region.Begin))
		if x.Stack != 0 {
			a.printf("    %s\n", a.chain(x.Stack, 90).styled)
		}
	}
	a.printf("\n")
	return a.Flush()
}

// Stack writes the functions of a call stack, a line each, the leaf first.
func Stack(w io.Writer, s *query.Source, stack uint32) error {
	a := newAnswer(w, s, QueryOptions{})
	levels := a.fold.Lines(stack).List
	if len(levels) == 0 {
		a.printf("    (no call stack)\n")
	}
	for i := range levels {
		text := a.label(&levels[i], 96, true)
		a.printf("    %s\n", text.styled)
	}
	return a.Flush()
}

// Transients writes what was allocated and freed again within regions.
func Transients(w io.Writer, s *query.Source, list []query.Transient, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.monitorHeading("TRANSIENT")
	rows, left := answer.Cut(a.Page, list)
	for i := range rows {
		r := &rows[i]
		a.printf("  %s  %s  %s in %s\n", padLeft(humanize.Size(r.Bytes), 10),
			padLeft(humanize.Plural(r.Blocks, "block"), 14), functionOf(&r.Function), clean(r.Region))
	}
	if len(rows) == 0 {
		a.printf("  nothing\n")
	}
	a.more(left)
	a.printf("\n")
	return a.Flush()
}

func functionOf(f *profile.Frame) string {
	switch {
	case f.Function != "":
		return funcname.Short(f.Function, 60)
	case f.Address == 0:
		return "(no call stack)"
	}
	return address(f)
}
