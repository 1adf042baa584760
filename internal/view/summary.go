package view

import (
	"fmt"
	"io"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
)

// Summary writes the short form that is shown when a run ends: a line for each question and one for each of the stacks
// that held most at the peak.
func Summary(w io.Writer, p *profile.Profile, o Options) error {
	r := newReport(w, p, o)
	t := &p.Totals
	status := ""
	if !p.OnlyCounted() {
		status = " · " + humanize.Plural(uint64(len(p.Threads)), "thread")
	}
	if s := ending(p); s != "" {
		status += " · " + s
	}
	r.printf("%s %s\n", r.bold(command(p, r.Width-18-runes(status))),
		r.faint(fmt.Sprintf("· %s%s", humanize.Duration(p.Duration), status)))
	r.sampled()
	r.warnings()
	if r.p.OnlyCounted() {
		calls, bytes := uint64(0), uint64(0)
		for _, n := range p.Counts.Rows {
			if !n.Frees {
				calls, bytes = calls+n.Calls, bytes+n.Bytes
			}
		}
		r.line("counted", fmt.Sprintf("%s of %s in all", r.bold(humanize.Plural(calls, "allocation")),
			humanize.Size(bytes)))
		return r.Flush()
	}
	r.line("peak", fmt.Sprintf("%s in %s after %s", r.bold(humanize.Size(t.Peak.Bytes)),
		humanize.Plural(t.Peak.Blocks, "block"), humanize.Duration(t.Peak.Time)))
	r.resident()
	r.pageReadings()
	r.line("leaked", leaked(r, p))
	temporary := ""
	if !p.Sampled() {
		temporary = fmt.Sprintf(", %s temporary (%s)", humanize.Number(t.Temporary),
			humanize.Percent(t.Temporary, t.Allocations))
	}
	r.line("allocations", fmt.Sprintf("%s of %s in all%s", r.bold(humanize.Number(t.Allocations)),
		humanize.Size(t.Bytes), temporary))
	mapped, first := r.muchMapped()
	if first {
		r.mostMapped(mapped)
	}
	if r.Top > 0 && t.Peak.Bytes > 0 {
		r.printf("  %s\n", r.faint("most live at the peak"))
		list := profile.Rank(p.Groups(), &profile.LiveAtPeak, r.Top)
		opened := r.distinguish(len(list), func(i int) uint32 { return list[i].Stack }, chainText(r.chainWidth()))
		for i := range list {
			g := &list[i]
			r.numberedLine(g.LiveAtPeakBytes, t.Peak.Bytes,
				r.chain(g.Stack, r.chainWidth(), opened[g.Stack]...).styled)
		}
		r.names()
	}
	if mapped != nil && !first {
		r.mostMapped(mapped)
	}
	return r.Flush()
}

// numberedLine writes bytes, their share of a sum, and text.
func (r *report) numberedLine(bytes, of uint64, text string) {
	r.printf("  %s%s  %s\n", r.bold(padLeft(humanize.Size(bytes), 10)), padLeft(humanize.Percent(bytes, of), 8), text)
}

// chainWidth is the width of a stack as the text of numberedLine.
func (r *report) chainWidth() int { return r.Width - 22 }
