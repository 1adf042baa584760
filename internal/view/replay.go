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
	t := newReplayText(w, s, r, o)
	t.printf("%s\n", t.bold(command(s.Profile, t.Width)))
	for _, line := range t.heads() {
		t.wrap("", line, t.faint)
	}
	for _, table := range t.tables() {
		t.printf("\n")
		t.table(table)
	}
	if r.Verdict != "" {
		t.printf("\n")
		t.wrap("", clean(r.Verdict), t.bold)
	}
	t.printf("\n")
	for _, f := range r.Failures {
		t.wrapWarning("not measured: " + clean(f))
	}
	for _, text := range t.notes() {
		t.wrap("", text, t.faint)
	}
	if text := t.lost(s); text != "" {
		t.wrapWarning(text)
	}
	return t.Flush()
}

func newReplayText(w io.Writer, s *query.Source, r *replay.Results, o Options) *replayText {
	t := &replayText{renderer: newRenderer(w, s.Profile, o.fill()), r: r}
	if len(r.Rows) > 1 {
		t.best = r.Best()
	}
	return t
}

// heads say what was played.
func (t *replayText) heads() []string {
	p := t.r.Plan
	head := fmt.Sprintf("%s by %s · at most %s live at once", humanize.Plural(p.Calls, "call"),
		humanize.Plural(uint64(p.Threads), "thread"), t.size(p.Peak))
	if p.Before > 0 {
		head += fmt.Sprintf(" · %s before", humanize.Plural(p.Before, "allocation"))
	}
	head += fmt.Sprintf(" · median of %s", humanize.Plural(uint64(t.r.Runs), "run"))
	if t.r.Changed == nil {
		return []string{head}
	}
	return []string{head, t.whatIf()}
}

// whatIf says what a changed program would do.
func (t *replayText) whatIf() string {
	plan := t.r.Changed
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
	return fmt.Sprintf("what if: %s · %s · at most %s live at once", strings.Join(parts, ", "),
		humanize.Plural(plan.Calls, "call"), t.size(plan.Peak))
}

type replayText struct {
	renderer
	r    *replay.Results
	best replay.BestRows // of several
}

// replayTable has columns, and a row for each allocator.
type replayTable struct {
	Title string
	Head  []string
	Rows  []replayRow
}

type replayRow struct {
	Name  string
	Cells []cell
}

// cell is a value in a table, and whether it is the best of its column.
type cell struct {
	Text string
	Best bool
}

func (t *replayText) tables() []replayTable {
	list := []replayTable{t.times(), t.memory()}
	if t.r.Rows[0].SystemCalls != nil {
		list = append(list, t.systemCalls())
	}
	return list
}

// table writes a table, and marks the best values.
func (t *replayText) table(table replayTable) {
	widths := make([]int, len(table.Head))
	first := 0
	for _, row := range table.Rows {
		first = max(first, min(runes(row.Name), 40))
	}
	for k, h := range table.Head {
		widths[k] = runes(h)
		for _, row := range table.Rows {
			widths[k] = max(widths[k], runes(row.Cells[k].Text)+1)
		}
	}
	line := padRight("", first)
	for k, h := range table.Head {
		line += "  " + padLeft(h, widths[k]-1) + " "
	}
	t.printf("%s\n", t.faint(strings.TrimRight(line, " ")))
	for _, row := range table.Rows {
		t.printf("%s", padRight(cutEnd(row.Name, 40), first))
		for k, c := range row.Cells {
			text, mark := padLeft(c.Text, widths[k]-1), " "
			if c.Best {
				text, mark = t.bold(text), t.bold("*")
			}
			if k == len(row.Cells)-1 && mark == " " {
				mark = ""
			}
			t.printf("  %s%s", text, mark)
		}
		t.printf("\n")
	}
}

func nameOf(row *replay.Row) string {
	name, isChanged := strings.CutSuffix(row.Name, replay.WhatIf)
	if row.Version != "" {
		version, _, _ := strings.Cut(strings.TrimPrefix(row.Version, "gperftools "), "-")
		name += " " + version
	}
	if isChanged {
		name += replay.WhatIf
	}
	return clean(name)
}

func (t *replayText) times() replayTable {
	table := replayTable{Title: "Time", Head: []string{"per call", "spread", "p50", "p99", "p99.9", "max", "CPU time"}}
	remote := false
	for _, row := range t.r.Rows {
		remote = remote || row.RemoteFrees > 0
	}
	if remote {
		table.Head = append(table.Head, "free by other")
	}
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
		table.Rows = append(table.Rows, replayRow{nameOf(row), cells})
	}
	return table
}

func (t *replayText) memory() replayTable {
	table := replayTable{Title: "Memory", Head: []string{"peak RSS", "mean RSS", "RSS/live", "all freed",
		"page faults"}}
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
		table.Rows = append(table.Rows, replayRow{nameOf(row), []cell{
			{bytes(m, all, func(m *replay.Resident) float64 { return m.Peak.Median }), row.Name == t.best.RSS},
			{bytes(m, all, func(m *replay.Resident) float64 { return m.Mean.Median }), row.Name == t.best.Mean},
			{perLive, false},
			{bytes(m, all, func(m *replay.Resident) float64 { return m.Freed.Median }), false},
			{humanize.Number(uint64(row.MinorFaults.Median)), false},
		}})
	}
	return table
}

func (t *replayText) systemCalls() replayTable {
	table := replayTable{Title: "System calls for memory"}
	for _, c := range t.r.Rows[0].SystemCalls {
		table.Head = append(table.Head, c.Name)
	}
	for _, row := range t.r.Rows {
		if row.SystemCalls == nil {
			continue
		}
		var cells []cell
		for _, c := range row.SystemCalls {
			cells = append(cells, cell{humanize.Number(c.Count), false})
		}
		table.Rows = append(table.Rows, replayRow{nameOf(row), cells})
	}
	return table
}

// notes say what the numbers are, and what was left out.
func (t *replayText) notes() []string {
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
	list := []string{text}
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
		list = append(list, "Not replayed: "+strings.Join(parts, "; ")+".")
	}
	return list
}

// lost says what the recording lacks; empty: nothing.
func (t *replayText) lost(s *query.Source) string {
	n := s.Reader.Health().LostEvents
	if n == 0 {
		return ""
	}
	return humanize.Plural(n, "event") + " lost while recording: the replay lacks them, and its numbers are too low"
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
