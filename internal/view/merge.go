package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/recording"
)

// inputName returns the name of an input, cut to a width.
func inputName(i *recording.Input, width int) string {
	return funcname.Middle(clean(i.File), max(8, width))
}

// together writes the peak of a merged recording.
func (r *report) together() {
	least, most := r.p.Merged.Peak()
	t := &r.p.Totals
	if r.p.Merged.Imported() != "" {
		r.line("peak", fmt.Sprintf("%s in %s", r.bold(r.size(t.Peak.Bytes)), humanize.Plural(t.Peak.Blocks, "block")))
		return
	}
	r.line("peak", fmt.Sprintf("%s in %s, the sum of the processes' peaks", r.bold(r.size(t.Peak.Bytes)),
		humanize.Plural(t.Peak.Blocks, "block")))
	if r.Selection != nil || len(r.p.Merged.Inputs) == 0 {
		return // the bounds are of the whole recording, or not known
	}
	how := "counted from each one's start"
	if r.p.Merged.Clock {
		how = "by the wall clock"
	}
	text := fmt.Sprintf("%s to %s at one moment, %s", r.bold(r.size(least)), r.bold(r.size(most)), how)
	if least == most {
		text = fmt.Sprintf("%s at one moment, %s", r.bold(r.size(most)), how)
	}
	r.line("together", text)
}

// inputs lists what was merged: first how much the inputs differ, then those with the largest peaks.
func (r *report) inputs() {
	m := r.p.Merged
	// without inputs, the list is damaged, and a warning says so
	if m == nil || r.Top < 0 || m.Imported() != "" || len(m.Inputs) == 0 {
		return
	}
	r.printf("%s  %s\n", r.title("INPUTS"), r.faint(humanize.Plural(uint64(len(m.Inputs)), "recording")))
	size := func(k *profile.InputMetric, v uint64) string {
		if k.Bytes {
			return r.size(v)
		}
		return r.short(v)
	}
	r.printf("%s\n", r.faint(padLeft("least", 24)+padLeft("mean", 12)+padLeft("most", 12)))
	for k := range profile.InputMetrics {
		im := &profile.InputMetrics[k]
		s := im.Spread(m.Inputs)
		r.printf("  %s%s%s%s  %s\n", padRight(im.Name, 12), padLeft(size(im, s.Least), 10),
			padLeft(size(im, s.Mean), 12), r.bold(padLeft(size(im, s.Most), 12)),
			r.faint(inputName(&m.Inputs[s.MostAt], r.Width-52)))
	}
	order := make([]int, len(m.Inputs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(m.Inputs[b].PeakBytes,
			m.Inputs[a].PeakBytes)
	})
	r.printf("%s\n", r.faint(padLeft("peak", 12)+padLeft("leaked", 12)+padLeft("allocations", 14)+padLeft("ran",
		17)+padLeft("process", 10)))
	shown := order[:min(len(order), 4*r.Top)]
	for _, i := range shown {
		in := &m.Inputs[i]
		name := inputName(in, r.Width-69)
		if in.Host != "" && r.p.Process.Host == "" {
			name += " " + r.faint("on "+clean(in.Host))
		}
		if in.Status != "" && !strings.HasSuffix(r.p.Ending.Status, in.Status) {
			name += " " + r.faint(clean(in.Status))
		}
		r.printf("%s%s%s%s%s  %s\n", r.bold(padLeft(r.size(in.PeakBytes), 12)),
			padLeft(r.size(profile.OwnLeak(in).Bytes), 12), padLeft(r.short(in.Allocations), 14),
			padLeft(r.duration(in.End), 17), padLeft(fmt.Sprint(in.PID), 10), name)
	}
	if n := len(order) - len(shown); n > 0 {
		r.printf("  %s\n", r.faint(fmt.Sprintf("and %d more (--top, --json)", n)))
	}
	r.printf("\n")
}
