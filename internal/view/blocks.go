package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// Blocks writes a line for each of the blocks that come first, of those that are live at a moment.
func Blocks(w io.Writer, s *query.Source, b *query.Blocks, order query.BlockOrder, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&b.Answer)
	what := fmt.Sprintf("%s in %s live", a.size(b.Total.KeptBytes), humanize.Plural(b.Total.KeptBlocks, "block"))
	switch {
	case b.AtPeak:
		what += " at the peak, after " + a.duration(b.AtTime)
	case b.At == a.lastCut():
		what += " at the end"
	default:
		what += " after " + a.duration(b.AtTime)
	}
	title := map[query.BlockOrder]string{query.Largest: "LARGEST BLOCKS", query.Oldest: "OLDEST BLOCKS",
		query.Newest: "NEWEST BLOCKS", query.ByLocation: "BLOCKS BY ADDRESS"}[order]
	a.printf("%s  %s\n", a.title(title), a.faint(what))
	if len(b.List) == 0 {
		a.printf("  no block of these was allocated before and is live then\n")
		return a.Flush()
	}
	list, _ := answer.Cut(a.Page, b.List)
	a.blockTable(list, "age", func(x *query.Block) string { return a.duration(b.AtTime - x.Born) })
	if left := b.After(a.Skip, len(list)); left > 0 {
		a.printf("  %s\n", a.faint(fmt.Sprintf("and %s (--skip %d)", humanize.Plural(left, "more block"),
			a.Skip+len(list))))
	}
	if len(list) > 0 {
		a.printf("\n%s\n", a.faint(fmt.Sprintf("what became of the first one: heaptap blocks --block %d", list[0].Ref)))
	}
	a.names()
	return a.Flush()
}

// blockTable writes a line for each block. One column is the caller's.
func (a *answerText) blockTable(list []query.Block, own string, column func(*query.Block) string) {
	heads := []string{"block", "size", own, "thread"}
	cells := make([][]string, len(list))
	addresses := false
	for i := range list {
		addresses = addresses || list[i].Addr != 0
	}
	if addresses {
		heads = append(heads, "address")
	}
	for i := range list {
		x := &list[i]
		cells[i] = []string{fmt.Sprintf("#%d", x.Ref), a.size(x.Size), column(x), threadName(a.s, x.Thread)}
		if addresses {
			cells[i] = append(cells[i], fmt.Sprintf("%#x", x.Addr))
		}
	}
	widths := make([]int, len(heads))
	used := 2
	for c, h := range heads {
		widths[c] = runes(h)
		for i := range cells {
			widths[c] = max(widths[c], min(runes(cells[i][c]), 24))
		}
		used += widths[c] + 2
	}
	var head strings.Builder
	for c, h := range heads {
		head.WriteString(padColumn(h, widths[c], c) + "  ")
	}
	a.printf("  %s\n", a.faint(head.String()+"call stack"))
	room := max(a.Width-used, nameWidth)
	opened := a.distinguish(len(list), func(i int) uint32 { return list[i].Stack }, chainText(room))
	for i := range list {
		var line strings.Builder
		for c, text := range cells[i] {
			cell := padColumn(text, widths[c], c)
			if c == 1 {
				cell = a.bold(cell)
			}
			line.WriteString(cell + "  ")
		}
		a.printf("  %s%s\n", line.String(), a.groupName(stackGroup(list[i].Stack), room, opened[list[i].Stack]...))
	}
}

// padColumn pads numbers on the left, and the names of threads, the fourth column, on the right.
func padColumn(text string, width, column int) string {
	if column == 3 {
		return padRight(text, width)
	}
	return padLeft(text, width)
}

func stackGroup(stack uint32) *query.Group {
	return &query.Group{By: query.ByStack, Stack: stack, Unknown: stack == 0}
}

// Biography writes what became of a block.
func Biography(w io.Writer, s *query.Source, b *query.Biography, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&b.Answer)
	asked := &b.Forms[b.Asked]
	a.printf("%s  %s\n", a.title(fmt.Sprintf("BLOCK #%d", asked.Ref)), a.faint(a.fate(b)))
	if b.Earlier {
		a.printf("  %s\n", a.faint("earlier forms of it are not shown"))
	}
	a.moment(b.Forms[0].Born, a.madeBy(&b.Forms[0]), b.Forms[0].Thread, b.Forms[0].Stack)
	a.reallocs(b)
	last := &b.Forms[len(b.Forms)-1]
	switch end := last.End; {
	case b.Later:
		a.printf("  %s\n", a.faint("later forms of it are not shown"))
	case end == nil:
		a.printf("  %s  never freed\n", padLeft("", 10))
	default:
		a.moment(end.Time, fmt.Sprintf("%s after %s", end.Func, a.duration(end.Time-b.Forms[0].Born)), end.Thread,
			end.FreeStack)
		if end.FreeStack == 0 {
			a.printf("  %s  %s\n", padLeft("", 10), a.faint("by which call stack, heaptap run --free-stacks records"))
		}
	}
	for _, part := range []struct {
		title string
		list  []query.Block
	}{{"allocated just before, by the same thread", b.Before}, {"just after", b.After},
		{"at the next lower address then", single(b.Below)}, {"at the next higher one", single(b.Above)}} {
		if len(part.list) > 0 {
			a.printf("\n%s\n", a.title(part.title))
			a.blockTable(part.list, "when", func(x *query.Block) string {
				if x.Born > asked.Born {
					return "+" + a.duration(x.Born-asked.Born)
				}
				return "-" + a.duration(asked.Born-x.Born)
			})
		}
	}
	if b.Below == nil && b.Above == nil && !s.HasAddresses() {
		a.printf("\n%s\n", a.faint("what lay beside it, heaptap run --addresses records"))
	}
	a.names()
	return a.Flush()
}

func single(b *query.Block) []query.Block {
	if b == nil {
		return nil
	}
	return []query.Block{*b}
}

// fate sums a biography up.
func (a *answerText) fate(b *query.Biography) string {
	first, last := &b.Forms[0], &b.Forms[len(b.Forms)-1]
	text := a.size(b.Forms[b.Asked].Size)
	if n := len(b.Forms) - 1; n > 0 {
		text += fmt.Sprintf(", one of %s from %s to %s", humanize.Plural(uint64(n+1), "form"), a.size(first.Size),
			a.size(last.Size))
	}
	if last.End == nil {
		return text + ", never freed"
	}
	return text + ", lived for " + a.duration(last.End.Time-first.Born)
}

// madeBy says which call made a form, and what it is.
func (a *answerText) madeBy(f *query.Form) string {
	text := fmt.Sprintf("%s: %s = #%d", f.Func, a.size(f.Size), f.Ref)
	if f.Addr != 0 {
		text += fmt.Sprintf(" at %#x", f.Addr)
	}
	return text
}

// mostReallocs is how many of a block's reallocations are listed at its beginning, at its end, and around the form that
// was asked for.
const mostReallocs = 4

// reallocs writes a line for each reallocation, or for some of many. A call stack stands where it changes.
func (a *answerText) reallocs(b *query.Biography) {
	stack, skipped := uint32(0), false
	for i := 1; i < len(b.Forms); i++ {
		f := &b.Forms[i]
		if i > mostReallocs && i < len(b.Forms)-mostReallocs && (i < b.Asked-1 || i > b.Asked+1) {
			if !skipped {
				a.printf("  %s  ...\n", padLeft("", 10))
			}
			skipped = true
			continue
		}
		skipped = false
		text := padRight(a.madeBy(f), 34)
		if i == b.Asked {
			text = a.bold(text)
		}
		if f.Stack != stack {
			stack = f.Stack
			text += "  " + a.groupName(stackGroup(stack), max(a.Width-48, nameWidth))
		}
		a.printf("  %s  %s\n", padLeft(a.duration(f.Born), 10), strings.TrimRight(text, " "))
	}
}

// moment writes what happened to a block, in which thread, and with which call stack.
func (a *answerText) moment(at int64, what string, thread, stack uint32) {
	a.printf("  %s  %s  %s\n", padLeft(a.duration(at), 10), what, a.faint("in thread "+threadName(a.s, thread)))
	if stack != 0 {
		for _, line := range a.frames(stack) {
			a.printf("  %s  %s\n", padLeft("", 10), line)
		}
	}
}
