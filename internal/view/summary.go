package view

import (
	"fmt"
	"io"

	"github.com/heaptap/heaptap/internal/funcname"
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
	r.line("leaked", leaked(r, p))
	temporary := ""
	if !p.Sampled() {
		temporary = fmt.Sprintf(", %s temporary (%s)", humanize.Number(t.Temporary),
			humanize.Percent(t.Temporary, t.Allocations))
	}
	r.line("allocations", fmt.Sprintf("%s of %s in all%s", r.bold(humanize.Number(t.Allocations)),
		humanize.Size(t.Bytes), temporary))
	if r.Top > 0 && t.Peak.Bytes > 0 {
		r.printf("  %s\n", r.faint("most live at the peak"))
		r.groups = p.Groups()
		for _, g := range profile.Rank(r.groups, &profile.LiveAtPeak, r.Top) {
			r.oneLine(&g)
		}
	}
	return r.Flush()
}

// oneLine returns a stack as its leaf, and as many callers as fit.
func (r *report) oneLine(g *profile.Group) {
	levels := r.p.Fold(g.Stack, true, r.Width).List
	numbers := fmt.Sprintf("  %s%s  ", r.bold(padLeft(humanize.Size(g.LiveAtPeakBytes), 10)),
		padLeft(humanize.Percent(g.LiveAtPeakBytes, r.p.Totals.Peak.Bytes), 8))
	if len(levels) == 0 {
		r.printf("%s%s\n", numbers, r.faint("(no call stack)"))
		return
	}
	rest := r.Width - 22
	line := ""
	placed := false
	for i := range levels {
		f := &levels[i].Frame
		arrow := ""
		if i > 0 {
			arrow = " ← "
		}
		room := rest - runes(arrow)
		if i > 0 && room < 14 {
			line += r.faint(" ← …")
			break
		}
		// The first function of the program itself is shown with its place.
		own := !placed && (!profile.StandardLibrary(f.Function) || i == len(levels)-1)
		text := r.label(f, min(room, 48), own)
		placed = placed || own
		line += r.faint(arrow) + text.styled
		rest -= runes(arrow) + runes(text.plain)
	}
	r.printf("%s%s\n", numbers, line)
}

type label struct{ plain, styled string }

// label returns a frame as one line: the function and, with place, file and line or the module.
func (r *renderer) label(f *profile.Frame, width int, place bool) label {
	where := base(f.Module)
	if f.File != "" {
		where = base(f.File)
		if f.Line > 0 {
			where = fmt.Sprintf("%s:%d", where, f.Line)
		}
	}
	if !place {
		where = ""
	}
	if f.Function == "" {
		s := funcname.Middle(address(f), width)
		return label{s, s}
	}
	if where != "" {
		where = " " + funcname.Middle(where, max(8, width/2))
	}
	name := funcname.Short(f.Function, max(8, width-runes(where)))
	return label{name + where, name + r.place(where)}
}
