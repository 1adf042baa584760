package view

import (
	"fmt"
	"io"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// Compactness writes how densely live blocks fill their pages, and who keeps nearly empty ones in use. A tilde marks
// what follows from where blocks are, and was not recorded.
func Compactness(w io.Writer, s *query.Source, c *query.Compactness, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&c.Answer)
	when := "after " + a.duration(c.AtTime)
	switch {
	case c.AtPeak:
		when = "at the peak, " + when
	case c.At == a.lastCut():
		when = "at the end"
	}
	a.printf("%s  %s\n", a.title("COMPACTNESS"), a.faint(when+"; ~: derived from where blocks are"))
	if c.Live.Blocks == 0 {
		a.printf("  no block is live then\n")
		return a.Flush()
	}
	line := func(value, text string) { a.printf("  %s  %s\n", a.bold(padLeft(value, 9)), text) }
	line(a.size(c.Live.Bytes), "live, in "+humanize.Plural(c.Live.Blocks, "block"))
	line(a.size(c.Slack), "slack in them, which the allocator added")
	line("~"+a.size(c.Headers), "headers and gaps of up to 32 bytes between them")
	for _, p := range []*query.Occupancy{&c.Pages, &c.HugePages} {
		line(a.size(p.InUse*p.Size), fmt.Sprintf("in use: %s of %s, on average %s full (%s to %s of each)",
			humanize.Plural(p.InUse, "page"), humanize.Binary(p.Size), humanize.Percent(p.Bytes, p.InUse*p.Size),
			a.size(p.Min), a.size(p.Max)))
	}
	a.physical(c, line)
	line("~"+a.size(c.Empty*query.PageSize), "empty: pages on which blocks were once, and none is")
	line(a.size(c.HighPages.InUse*query.PageSize), fmt.Sprintf("most in use up to then, after %s, with %s live",
		a.duration(c.HighPages.Time), a.size(c.HighPages.Live)))
	line(a.size(c.HighLive.Live), fmt.Sprintf("most live up to then, after %s, with %s in use",
		a.duration(c.HighLive.Time), a.size(c.HighLive.InUse*query.PageSize)))
	a.pins(c)
	a.printf("\n%s  %s\n", a.title("SIZES"), a.faint("of live blocks"))
	a.sizeAmounts(c.Classes, c.Live.Bytes)
	a.printf("\n%s  %s\n", a.title("HOLES"), a.faint(fmt.Sprintf("~ free between blocks, on pages they were once on; "+
		"the largest is %s", a.size(c.Largest))))
	free := uint64(0)
	for i := range c.Holes {
		free += c.Holes[i].Bytes
	}
	a.sizeAmounts(c.Holes, free)
	if len(c.Steps) > 0 {
		a.printf("\n%s\n", a.title("OVER TIME"))
		titles := padLeft("after", 10) + padLeft("live", 12) + padLeft("in use", 12) + padLeft("full", 8) +
			padLeft("in 2 MiB", 12)
		if c.Physical != nil {
			titles += padLeft("resident", 12)
		}
		a.printf("  %s\n", a.faint(titles))
		for i := range c.Steps {
			m := &c.Steps[i]
			used := m.InUse * query.PageSize
			resident := ""
			if m.InMemory != nil {
				resident = padLeft(a.size(*m.InMemory*c.Physical.Pages.Size), 12)
			} else if c.Physical != nil {
				resident = padLeft("-", 12)
			}
			a.printf("  %s%s%s%s%s%s\n", padLeft(a.duration(m.Time), 10), padLeft(a.size(m.Live.Bytes), 12),
				padLeft(a.size(used), 12), padLeft(humanize.Percent(m.Live.Bytes, used), 8),
				padLeft(a.size(m.HugeInUse*query.HugePageSize), 12), resident)
		}
	}
	return a.Flush()
}

// physical writes how densely live blocks fill the pages in memory.
func (a *answerText) physical(c *query.Compactness, line func(value, text string)) {
	p := c.Physical
	if p == nil {
		return
	}
	o := &p.Pages
	line(a.size(o.InUse*o.Size), fmt.Sprintf("in memory: %s, on average %s full (%s to %s of each)",
		humanize.Plural(o.InUse, "page"), humanize.Percent(o.Bytes, o.InUse*o.Size), a.size(o.Min), a.size(o.Max)))
	when := "read while the same blocks were live"
	if d := p.Time - c.AtTime; !p.Exact && d < 0 {
		when = "read " + a.duration(-d) + " before"
	} else if !p.Exact {
		when = "read " + a.duration(d) + " after"
	}
	line(a.size(p.Empty*o.Size), "of it in pages without a live block; "+when)
	if p.Absent > 0 {
		line(a.size(p.Absent), "live, but not in memory: never touched, given back, or swapped out")
	}
	if p.Unknown > 0 {
		line(a.size(p.Unknown), "live where it was not looked at: in shared memory, or mapped since")
	}
}

// pins writes the call stacks that keep nearly empty pages in use.
func (a *answerText) pins(c *query.Compactness) {
	a.printf("\n%s  %s\n", a.title("WHO PINS PAGES"), a.faint("~ bytes that would be released without their blocks"))
	list, more := answer.Cut(a.Page, c.Pins)
	if len(c.Pins) == 0 {
		a.printf("  %s\n", a.faint("no call stack keeps a page in use that is nearly empty"))
	}
	opened := a.distinguish(len(list), func(i int) uint32 { return list[i].Stack }, frameText)
	for i := range list {
		p := &list[i]
		notes := []string{a.size(p.Bytes) + " live in", humanize.Plural(p.Blocks, "block"),
			"on " + humanize.Plural(p.Small.Pages, "page"),
			"mean age " + a.duration(int64(p.AgeSum/max(p.Blocks, 1))), "oldest " + a.duration(int64(p.Oldest))}
		if p.Huge.Released > 0 {
			notes = append(notes, a.size(p.Huge.Released)+" in 2 MiB")
		}
		a.columns("~"+a.size(p.Small.Released), "", notes, p.Stack, opened[p.Stack]...)
	}
	a.more(more)
	if len(list) > 0 {
		a.names()
	}
}

// sizeAmounts writes a line for each class of sizes.
func (a *answerText) sizeAmounts(list []query.SizeAmount, whole uint64) {
	for i := range list {
		x := &list[i]
		a.printf("  %s%s%s  %s\n", padRight(a.sizeClass(x.Class), 24), padLeft(a.size(x.Bytes), 12),
			padLeft(humanize.Percent(x.Bytes, whole), 8), humanize.Number(x.Blocks))
	}
}
