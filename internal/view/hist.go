package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// Parts of a histogram.
const (
	HistSizes     = "sizes"
	HistExact     = "exact"
	HistLifetimes = "lifetimes"
	HistReallocs  = "reallocs"
	HistSlack     = "slack"
)

// HistParts are all parts, in the order of the output.
var HistParts = []string{HistSizes, HistExact, HistLifetimes, HistReallocs, HistSlack}

// The tables that divide a histogram further.
const (
	HistByPairs    = "pairs"
	HistByTime     = "time"
	HistByLifetime = "lifetime"
)

// HistDivisions are all of them.
var HistDivisions = []string{HistByPairs, HistByTime, HistByLifetime}

// barWidth returns the width of the longest bar: what is left of a row.
func (a *answerText) barWidth() int { return min(a.Width-66, 60) }

// HeatPart is the part of a histogram that is a heat map; see query.HeatKinds.
func HeatPart(kind string) string { return "heat " + kind }

// Hist writes the requested parts of a histogram.
func Hist(w io.Writer, s *query.Source, h *query.Histogram, parts []string, o QueryOptions) error {
	text := &histText{newAnswer(w, s, o), h}
	text.answerHeading(&h.Answer)
	for _, part := range parts {
		switch part {
		case HistSizes:
			text.sizes()
		case HistExact:
			text.exactSizes()
		case HistLifetimes:
			text.lifetimes()
		case HistReallocs:
			text.jumps()
		case HistSlack:
			text.slacks()
		case HistByPairs:
			text.pairs()
		case HistByTime:
			text.sizesByTime()
		case HistByLifetime:
			text.lifetimesBySize()
		default:
			text.heat(part)
		}
	}
	return text.Flush()
}

// histText writes a histogram.
type histText struct {
	*answerText
	*query.Histogram
}

func (h *histText) sizes() {
	t := &h.Total
	h.printf("%s  %s\n", h.title("SIZES"), h.faint("of "+humanize.Plural(t.Allocations, "allocation")))
	if t.Allocations > 0 {
		text := fmt.Sprintf("smallest %s, mean %s, largest %s", h.size(t.MinSize), h.size(t.Bytes/t.Allocations),
			h.size(t.MaxSize))
		if h.Others == 0 {
			text += fmt.Sprintf("; half are at most %s, 90 %% %s, 99 %% %s", h.size(h.SizeQuantile(.5)),
				h.size(h.SizeQuantile(.9)), h.size(h.SizeQuantile(.99)))
		}
		h.printf("  %s\n", h.faint(text))
	}
	h.bars(h.Sizes[:], t.Allocations, h.sizeClass)
	h.printf("\n")
}

func (h *histText) lifetimes() {
	t := &h.Total
	h.printf("%s  %s\n", h.title("LIFETIMES"), h.faint("of "+humanize.Plural(t.Deallocations, "deallocation")))
	if t.Deallocations > 0 {
		mean := t.Lifetime.Mean(t.Deallocations)
		text := "mean " + h.time(uint64(mean))
		if h.Plan == query.FromEvents {
			text = fmt.Sprintf("shortest %s, %s, longest %s", h.time(t.MinLifetime), text, h.time(t.MaxLifetime))
		}
		h.printf("  %s\n", h.faint(text))
	}
	h.bars(h.Lifetimes[:], t.Deallocations, h.timeClass)
	if n := h.NeverFreed; n.Count > 0 {
		h.printf("  %s\n", h.faint(fmt.Sprintf("and %s of %s that were never freed", humanize.Plural(n.Count, "block"),
			h.size(n.Bytes))))
	}
	h.printf("\n")
}

func (h *histText) jumps() {
	j := &h.Jumps
	all := j.Count()
	if all == 0 {
		return
	}
	h.printf("%s  %s\n", h.title("REALLOCATIONS"),
		h.faint(fmt.Sprintf("of %s, %s in place, by how much the size changed", humanize.Plural(all, "block"),
			h.short(j.InPlace))))
	h.bars(j.Grown[:], all, h.change("+"))
	h.bars(j.Shrunk[:], all, h.change("-"))
	if j.Same > 0 {
		h.printf("  %s\n", h.faint(humanize.Plural(j.Same, "reallocation")+" to the same size"))
	}
	h.printf("\n")
}

// pairs writes how often reallocations changed one size to another.
func (h *histText) pairs() {
	rows, left := answer.Cut(h.Page, h.Pairs)
	h.printf("%s  %s\n", h.title("SIZES BEFORE AND AFTER REALLOCATIONS"),
		h.faint("of "+humanize.Plural(uint64(len(h.Pairs)), "different pair")))
	most := uint64(0)
	if len(rows) > 0 {
		most = rows[0].Count
	}
	for _, x := range rows {
		h.printf("  %s %s %s %s%s\n", padLeft(humanize.Number(x.Old)+" B → "+humanize.Number(x.New)+" B", 36),
			padLeft(h.short(x.Count), 12), padLeft(humanize.Percent(x.Count, h.Jumps.Count()), 7),
			padLeft(h.short(x.InPlace)+" in place", 18), h.bar(x.Count, most))
	}
	h.more(left)
	if h.OtherPairs > 0 {
		h.printf("  %s\n", h.faint(humanize.Plural(h.OtherPairs,
			"reallocation")+" of further pairs were not told apart: too many pairs"))
	}
	h.printf("\n")
}

// The columns of tables by size and by lifetime: each has the classes up to one of these, and the last one all others.
var (
	sizeColumns = []int{4, 6, 8, 10, 12, 14, 16, 20}
	ageColumns  = []int{10, 14, 18, 22, 26, 30, 34}
)

// Widths of a table.
const (
	tableRows    = 26
	tableCount   = 10
	tableCell    = 10
	tableFurther = 13 // of what follows the columns
)

// fitting returns as many columns, evenly spread, as fit beside further ones.
func (h *histText) fitting(ends []int, further int) []int {
	n := (h.Width - 2 - tableRows - tableCount - tableCell - further*tableFurther) / tableCell
	if n >= len(ends) {
		return ends
	}
	var list []int
	for i := range max(n, 1) {
		list = append(list, ends[(i+1)*len(ends)/(max(n, 1)+1)])
	}
	return list
}

// columns sums the counts of the classes of each column.
func columns(list []query.Bucket, ends []int) []uint64 {
	sums := make([]uint64, len(ends)+1)
	for class, b := range list {
		i, _ := slices.BinarySearch(ends, class)
		sums[i] += b.Count
	}
	return sums
}

// tableHead writes the head of a table: the text above the rows, then those above the columns.
func (h *histText) tableHead(rows string, ends []int, text func(uint8) string, further ...string) {
	line := padLeft(rows, tableRows) + padLeft("count", tableCount)
	for _, class := range ends {
		line += padLeft(text(uint8(class)), tableCell)
	}
	line += padLeft("more", tableCell)
	for _, name := range further {
		line += padLeft(name, tableFurther)
	}
	h.printf("  %s\n", h.faint(line))
}

func (h *histText) tableRow(name string, count uint64, cells []uint64, further ...uint64) {
	cell := func(n uint64, width int) string {
		if n == 0 {
			return padLeft("·", width)
		}
		return padLeft(h.short(n), width)
	}
	line := padLeft(name, tableRows) + padLeft(h.short(count), tableCount)
	for _, n := range cells {
		line += cell(n, tableCell)
	}
	for _, n := range further {
		line += cell(n, tableFurther)
	}
	h.printf("  %s\n", line)
}

// sizesByTime writes how many blocks of which sizes were allocated in each step of the time.
func (h *histText) sizesByTime() {
	h.printf("%s  %s\n", h.title("SIZES BY TIME"), h.faint("of "+humanize.Plural(h.Total.Allocations, "allocation")))
	ends := h.fitting(sizeColumns, 0)
	h.tableHead("from", ends, h.sizeEnd)
	for _, step := range h.Table() {
		list := step.Sizes[:]
		count := uint64(0)
		for _, b := range list {
			count += b.Count
		}
		h.tableRow(h.time(uint64(max(0, step.From))), count, columns(list, ends))
	}
	h.printf("\n")
}

// lifetimesBySize writes how long the blocks of each size lived.
func (h *histText) lifetimesBySize() {
	h.printf("%s  %s\n", h.title("LIFETIMES BY SIZE"),
		h.faint("of "+humanize.Plural(h.Total.Deallocations, "deallocation")))
	ends := h.fitting(ageColumns, 1)
	h.tableHead("size", ends, h.timeEnd, "never freed")
	for class := range h.Ages {
		kept, count := h.Kept[class].Count, h.Freed[class].Count
		if count+kept > 0 {
			h.tableRow(h.sizeClass(uint8(class)), count+kept, columns(h.Ages[class][:], ends), kept)
		}
	}
	h.printf("\n")
}

// change returns how a class of changes is written.
func (h *histText) change(sign string) func(uint8) string {
	return func(class uint8) string {
		if h.Options.Exact {
			return classText(class, func(n uint64) string { return sign + h.size(n) })
		}
		return sign + h.sizeClass(class)
	}
}

// timeClass returns the bounds of a class of times.
func (a *answerText) timeClass(class uint8) string { return classText(class, a.time) }

// timeEnd and sizeEnd return the upper bound of a class.
func (a *answerText) timeEnd(class uint8) string {
	_, highest := query.SizeClass(class)
	return "≤" + a.time(highest)
}

func (a *answerText) sizeEnd(class uint8) string {
	_, highest := query.SizeClass(class)
	if a.Exact {
		return "≤" + a.size(highest)
	}
	return "<" + humanize.Binary(highest+1)
}

func (a *answerText) time(ns uint64) string {
	if a.Exact {
		return humanize.Number(ns)
	}
	return humanize.Duration(int64(min(ns, 1<<63-1)))
}

// bars writes the classes from the first to the last that are not empty.
func (h *histText) bars(list []query.Bucket, whole uint64, text func(uint8) string) {
	first, last, most := len(list), 0, uint64(0)
	for i, b := range list {
		if b.Count > 0 {
			first, last = min(first, i), i
			most = max(most, b.Count)
		}
	}
	for i := first; i <= last; i++ {
		b := list[i]
		if first == 0 && b == (query.Bucket{}) &&
			!slices.ContainsFunc(list[1:i], func(b query.Bucket) bool { return b.Count > 0 }) {
			continue // between nothing at all and the least that there is
		}
		h.printf("  %s %s %s %s%s\n", padLeft(text(uint8(i)), 28), padLeft(h.short(b.Count), 12),
			padLeft(humanize.Percent(b.Count, whole), 7), padLeft(h.size(b.Bytes), 12), h.bar(b.Count, most))
	}
}

// bar returns two spaces and a line whose length is a share of the longest one. A share above 0 is always visible.
func (a *answerText) bar(n, most uint64) string {
	if n == 0 {
		return ""
	}
	k := max(int(float64(n)/float64(most)*float64(a.barWidth())*8+.5), 1)
	out := strings.Repeat("█", k/8)
	if k%8 > 0 {
		out += string([]rune(" ▏▎▍▌▋▊▉")[k%8])
	}
	return "  " + a.place(out)
}

func (h *histText) exactSizes() {
	rows, left := answer.Cut(h.Page, h.Exact)
	h.printf("%s  %s\n", h.title("MOST USED SIZES"),
		h.faint(fmt.Sprintf("of %s", humanize.Plural(uint64(len(h.Exact)), "different size"))))
	most := uint64(0)
	if len(rows) > 0 {
		most = rows[0].Count
	}
	for _, c := range rows {
		h.printf("  %s %s %s %s%s\n", padLeft(humanize.Number(c.Size)+" B", 28), padLeft(h.short(c.Count), 12),
			padLeft(humanize.Percent(c.Count, h.Total.Allocations), 7), padLeft(h.size(c.Size*c.Count), 12),
			h.bar(c.Count, most))
	}
	h.more(left)
	if h.Others > 0 {
		h.printf("  %s\n", h.faint(humanize.Plural(h.Others,
			"allocation")+" of further sizes were not told apart: too many sizes"))
	}
	h.printf("\n")
}

func (h *histText) slacks() {
	var all query.Slacks
	for _, k := range h.Slack {
		all.Count += k.Count
		all.Requested += k.Requested
		all.Slack += k.Slack
	}
	h.printf("%s  %s\n", h.title("SLACK"), h.faint(fmt.Sprintf("%s beyond %s requested (%s), of %s with a known "+
		"usable size",
		h.size(all.Slack), h.size(all.Requested), humanize.Percent(all.Slack, all.Requested),
		humanize.Plural(all.Count, "allocation"))))
	first, last, most := query.Classes, 0, uint64(0)
	for i, k := range h.Slack {
		if k.Count > 0 {
			first, last = min(first, i), i
			most = max(most, k.Slack)
		}
	}
	for i := first; i <= last; i++ {
		k := h.Slack[i]
		each := ""
		if k.Count > 0 {
			each = fmt.Sprintf("%.1f B each", float64(k.Slack)/float64(k.Count))
		}
		line := fmt.Sprintf("  %s %s %s %s%s", padLeft(h.sizeClass(uint8(i)), 28), padLeft(h.size(k.Slack), 12),
			padLeft(humanize.Percent(k.Slack, k.Requested), 7), padLeft(each, 12), h.bar(k.Slack, most))
		h.printf("%s\n", strings.TrimRight(line, " "))
	}
	h.printf("\n")
}
