package view

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/replay"
)

// Replay writes how allocators fared: a table of times, one of memory, and a sentence.
func Replay(w io.Writer, s *query.Source, r *replay.Results, o Options) error {
	t := &replayText{renderer: newRenderer(w, s.Profile, o.fill()), r: r, best: r.Best()}
	p := r.Plan
	t.printf("%s\n", t.bold(command(s.Profile, t.Width)))
	head := fmt.Sprintf("%s by %s · at most %s live at once", humanize.Plural(p.Calls, "call"),
		humanize.Plural(uint64(p.Threads), "thread"), t.size(p.Peak))
	if p.Before > 0 {
		head += fmt.Sprintf(" · %s before", humanize.Plural(p.Before, "allocation"))
	}
	head += fmt.Sprintf(" · median of %s", humanize.Plural(uint64(r.Runs), "run"))
	t.wrap("", head, t.faint)
	t.whatIf()
	t.printf("\n")
	t.times()
	t.printf("\n")
	t.memory()
	if r.Rows[0].SystemCalls != nil {
		t.printf("\n")
		t.systemCalls()
	}
	if r.Verdict != "" {
		t.printf("\n")
		t.wrap("", clean(r.Verdict), t.bold)
	}
	t.printf("\n")
	for _, f := range r.Failures {
		t.wrapWarning("not measured: " + clean(f))
	}
	t.notes(s)
	return t.Flush()
}

// whatIf says what a changed program would do.
func (t *replayText) whatIf() {
	plan := t.r.Changed
	if plan == nil {
		return
	}
	c := &plan.Changed
	var parts []string
	if c.Pooled > 0 {
		parts = append(parts, fmt.Sprintf("%s from pools, which allocate %s of 64 KiB",
			humanize.Plural(c.Pooled, "block"), humanize.Plural(c.Chunks, "chunk")))
	}
	if c.Reallocations > 0 {
		parts = append(parts, "without "+humanize.Plural(c.Reallocations, "realloc"))
	}
	if c.Temporaries > 0 {
		parts = append(parts, "without "+humanize.Plural(c.Temporaries, "temporary allocation"))
	}
	t.wrap("", fmt.Sprintf("what if: %s · %s · at most %s live at once", strings.Join(parts, ", "),
		humanize.Plural(plan.Calls, "call"), t.size(plan.Peak)), t.faint)
}

type replayText struct {
	renderer
	r    *replay.Results
	best replay.BestRows
}

// cell is a value in a table, and whether it is the best of its column.
type cell struct {
	text string
	best bool
}

// table writes rows with a name each, and marks the best values.
func (t *replayText) table(names []string, head []string, rows [][]cell) {
	widths := make([]int, len(head))
	first := 0
	for i, name := range names {
		names[i] = clean(name)
		first = max(first, min(runes(names[i]), 40))
	}
	for k := range head {
		widths[k] = runes(head[k])
		for _, row := range rows {
			widths[k] = max(widths[k], runes(row[k].text)+1)
		}
	}
	line := padRight("", first)
	for k, h := range head {
		line += "  " + padLeft(h, widths[k]-1) + " "
	}
	t.printf("%s\n", t.faint(strings.TrimRight(line, " ")))
	for i, row := range rows {
		t.printf("%s", padRight(cutEnd(names[i], 40), first))
		for k, c := range row {
			text, mark := padLeft(c.text, widths[k]-1), " "
			if c.best && len(rows) > 1 {
				text, mark = t.bold(text), t.bold("*")
			}
			if k == len(row)-1 && mark == " " {
				mark = ""
			}
			t.printf("  %s%s", text, mark)
		}
		t.printf("\n")
	}
}

func (t *replayText) names() (list []string) {
	for _, row := range t.r.Rows {
		name, isChanged := strings.CutSuffix(row.Name, replay.WhatIf)
		if row.Version != "" {
			version, _, _ := strings.Cut(strings.TrimPrefix(row.Version, "gperftools "), "-")
			name += " " + version
		}
		if isChanged {
			name += replay.WhatIf
		}
		list = append(list, name)
	}
	return list
}

func (t *replayText) times() {
	head := []string{"per call", "spread", "p50", "p99", "p99.9", "max", "CPU time"}
	remote := false
	for _, row := range t.r.Rows {
		remote = remote || row.RemoteFrees > 0
	}
	if remote {
		head = append(head, "free by other")
	}
	var rows [][]cell
	for _, row := range t.r.Rows {
		l := &row.Latency
		// A changed program makes other calls: a mean of them cannot be compared.
		cells := []cell{
			{t.ns(row.Call.Median), t.r.Changed == nil && row.Name == t.best.Time}, {spread(row.Call), false},
			{t.ns(l.P50), false}, {t.ns(l.P99), row.Name == t.best.P99}, {t.ns(l.P999), false}, {t.ns(l.Max), false},
			{t.duration(int64(row.CPU.Median)), row.Name == t.best.Time},
		}
		if remote {
			cells = append(cells, cell{t.ns(row.RemoteFree), false})
		}
		rows = append(rows, cells)
	}
	t.table(t.names(), head, rows)
}

func (t *replayText) memory() {
	head := []string{"peak RSS", "mean RSS", "RSS/live", "all freed", "page faults"}
	var rows [][]cell
	bytes := func(low, high *replay.Resident, value func(m *replay.Resident) float64) string {
		text := t.short(uint64(value(low)))
		if high != nil && high != low {
			if to := t.short(uint64(max(value(high), value(low)))); to != text {
				text += ".." + to
			}
		}
		return text
	}
	for _, row := range t.r.Rows {
		m, all := row.Resident(), row.All
		perLive := fmt.Sprintf("%.2f", m.Fragments.Median)
		if all != nil && all != m {
			perLive += fmt.Sprintf("..%.2f", max(all.Fragments.Median, m.Fragments.Median))
		}
		rows = append(rows, []cell{
			{bytes(m, all, func(m *replay.Resident) float64 { return m.Peak.Median }), row.Name == t.best.RSS},
			{bytes(m, all, func(m *replay.Resident) float64 { return m.Mean.Median }), row.Name == t.best.Mean},
			{perLive, false},
			{bytes(m, all, func(m *replay.Resident) float64 { return m.Freed.Median }), false},
			{humanize.Number(uint64(row.MinorFaults.Median)), false},
		})
	}
	t.table(t.names(), head, rows)
}

func (t *replayText) systemCalls() {
	var head []string
	for _, c := range t.r.Rows[0].SystemCalls {
		head = append(head, c.Name)
	}
	var names []string
	var rows [][]cell
	for i, name := range t.names() {
		list := t.r.Rows[i].SystemCalls
		if list == nil {
			continue
		}
		var cells []cell
		for _, c := range list {
			cells = append(cells, cell{humanize.Number(c.Count), false})
		}
		names, rows = append(names, name), append(rows, cells)
	}
	t.table(names, head, rows)
}

// notes say what the numbers are, and what was left out.
func (t *replayText) notes(s *query.Source) {
	r := t.r
	text := fmt.Sprintf("The player's own cost was subtracted: %s per call, %s.", t.ns(r.Own.Call),
		t.size(uint64(r.Own.RSS)))
	switch {
	case r.Pages():
		text += " Of each block, those pages were touched that were in memory when most of them were."
		if p := r.Plan.Pages; p.Unmeasured > 0 {
			text += fmt.Sprintf(" All pages of blocks that ended before anybody looked were: %s of %s in all.",
				t.size(p.Unmeasured), t.size(p.Unmeasured+p.Measured))
		}
		if r.Touch == "" {
			text += " Times are with the first bytes."
		}
	case r.Touch == "":
		text += " Memory is an interval, as a recording does not say what a program touched: from the first byte of " +
			"each block alone to all of its pages. Times are with the first bytes."
	case r.Touch == replay.TouchNone:
		text += " No block was touched."
	case r.Touch == replay.TouchFirst:
		text += " The first byte of each block was touched."
	case r.Touch == replay.TouchAll:
		text += " All pages of blocks were touched."
	}
	waited := 0.0
	for _, row := range r.Rows {
		if row.Wall.Median > 0 {
			waited = max(waited, row.Waited.Median/row.Wall.Median/float64(r.Plan.Threads))
		}
	}
	if waited > 0.02 {
		text += fmt.Sprintf(" Threads waited for one another for up to %.0f %% of the time, which is not counted.",
			100*waited)
	}
	t.wrap("", text, t.faint)
	d := &r.Plan.Dropped
	var parts []string
	for _, part := range []struct {
		n          uint64
		noun, what string
	}{
		{d.Threads, "allocation", "for threads, which the player's threads make themselves"},
		{d.Mappings, "mapping", "of the program's own"},
		{d.Pools, "event", "of pools"},
		{d.Failed, "call", "that failed"},
		{d.Unmatched, "deallocation", "of blocks from before or outside the recording"},
		{d.Impossible, "allocation", "of impossible sizes"},
	} {
		if part.n > 0 {
			parts = append(parts, humanize.Plural(part.n, part.noun)+" "+part.what)
		}
	}
	if len(parts) > 0 {
		t.wrap("", "Not replayed: "+strings.Join(parts, "; ")+".", t.faint)
	}
	if n := s.Reader.Health().LostEvents; n > 0 {
		t.wrapWarning(fmt.Sprintf("%s lost while recording: the replay lacks them, and its numbers are too low",
			humanize.Plural(n, "event")))
	}
}

// ns writes a time of some nanoseconds.
func (t *replayText) ns(v float64) string {
	switch {
	case t.Exact || v < 9.95:
		return fmt.Sprintf("%.1f ns", v)
	case v < 9995:
		return fmt.Sprintf("%.0f ns", v)
	}
	return humanize.Duration(int64(v))
}

// spread is how far runs were apart: half of it, as a share of the median.
func spread(s replay.Spread) string {
	if s.Median <= 0 || s.Min == s.Max {
		return ""
	}
	return fmt.Sprintf("±%.0f%%", math.Round(100*(s.Max-s.Min)/2/s.Median))
}
