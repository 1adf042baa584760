package view

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/tally"
)

// Options say how a report is shown.
type Options struct {
	Top    int  // stacks per ranking; 0: 5, negative: none
	Frames int  // lines per stack at most; 0: 8, negative: all
	Width  int  // columns; 0: 100
	Color  bool // mark with colours (ANSI)
	Exact  bool // numbers in full
	// Selection says what a report is of; nil: of the whole recording.
	Selection *query.Selection
}

func (o Options) fill() Options {
	if o.Top == 0 {
		o.Top = 5
	}
	if o.Frames == 0 {
		o.Frames = 8
	}
	if o.Width == 0 {
		o.Width = 100
	}
	o.Width = max(o.Width, 60)
	return o
}

// report writes a report.
type report struct {
	renderer
	groups []profile.Group
}

func newReport(w io.Writer, p *profile.Profile, o Options) *report {
	return &report{renderer: renderer{Writer: bufio.NewWriter(w), style: style(o.Color), Options: o.fill(), p: p}}
}

// Report writes the whole report as text.
func Report(w io.Writer, p *profile.Profile, o Options) error {
	r := newReport(w, p, o)
	r.groups = p.Groups()
	r.heading()
	r.sampled()
	r.selection()
	r.warnings()
	if !r.p.OnlyCounted() {
		r.overview()
	}
	for _, m := range profile.Metrics {
		r.ranking(m)
	}
	r.mapped()
	r.unmatched()
	r.mismatches(max(r.Top, 1))
	r.pools()
	r.counts()
	r.inputs()
	r.marks()
	r.threads()
	return r.Flush()
}

// command returns the command line, cut to width.
func command(p *profile.Profile, width int) string {
	var words []string
	for _, a := range p.Process.Args {
		if a == "" || strings.ContainsAny(a, " \t\n\"'$\\*?;&|<>()") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	if len(words) == 0 {
		words = []string{p.Process.Exe}
		if p.Process.Exe == "" && p.Merged != nil {
			words = []string{"several programs"}
		}
		if format := p.Merged.Imported(); format != "" && p.Process.Exe == "" {
			words = []string{p.Merged.Inputs[0].File}
		}
	}
	text := []rune(clean(strings.Join(words, " ")))
	if len(text) == 0 {
		return "unknown command"
	}
	if len(text) > width {
		return string(text[:width-1]) + "…"
	}
	return string(text)
}

func (r *report) heading() {
	p := r.p
	r.printf("%s\n", r.bold(command(p, r.Width)))
	var parts []string
	if p.Process.Started > 0 {
		parts = append(parts, time.Unix(0, p.Process.Started).Format("2006-01-02 15:04:05"))
	}
	switch format := p.Merged.Imported(); {
	case format != "":
		parts = append(parts, "from "+clean(format))
	case p.Merged != nil:
		parts = append(parts, humanize.Plural(uint64(len(p.Merged.Inputs)), "recording"))
	}
	if p.Process.PID > 0 {
		parts = append(parts, fmt.Sprintf("process %d", p.Process.PID))
	}
	if p.Process.Host != "" {
		parts = append(parts, "on "+clean(p.Process.Host))
	}
	if p.Duration > 0 || p.Merged.Imported() == "" && !r.p.OnlyCounted() {
		parts = append(parts, "ran "+r.duration(p.Duration))
	}
	if r.p.OnlyCounted() {
		parts = append(parts, onlyCounted)
	} else if r.threadsKnown() {
		parts = append(parts, humanize.Plural(uint64(len(p.Threads)), "thread"))
	}
	if s := ending(p); s != "" {
		parts = append(parts, s)
	}
	r.wrap("", strings.Join(parts, " · "), r.faint)
	r.printf("\n")
}

// ending returns how the process ended.
func ending(p *profile.Profile) string {
	if !p.Ended {
		return ""
	}
	return clean(p.Ending.How())
}

func (r *report) overview() {
	p, t, v := r.p, &r.p.Totals, r.variances()
	imported := p.Merged.Imported() != "" // then a 0 may mean that the number is not known
	rss := ""
	if s, ok := p.PeakRSS(); ok && s.RSS >= 0 {
		rss = r.faint(fmt.Sprintf("   resident: %s at most", r.size(uint64(s.RSS))))
	}
	if p.Merged != nil {
		r.together()
	} else {
		r.line("peak", fmt.Sprintf("%s%s in %s %s %s%s", r.bold(r.size(t.Peak.Bytes)), r.pmSize(v.PeakBytes),
			r.counted(t.Peak.Blocks, "block", v.PeakBlocks), r.atPeak(), r.duration(t.Peak.Time), rss))
	}
	r.line("leaked", leaked(r, p))
	rate := ""
	if span := r.span(); span > 0 && t.Allocations > 0 {
		rate = r.faint(fmt.Sprintf("   %s per second", r.short(uint64(float64(t.Allocations)/(float64(span)/1e9)))))
	}
	r.line("allocations", fmt.Sprintf("%s%s of %s%s in all%s", r.bold(humanize.Number(t.Allocations)),
		r.pmCount(v.Allocations), r.size(t.Bytes), r.pmSize(v.Bytes), rate))
	if t.Allocations > 0 {
		if p.Sampled() {
			r.line("temporary", r.faint("not known: samples do not tell which came after which"))
		} else if t.Temporary > 0 || !imported {
			r.line("temporary", fmt.Sprintf("%s %s", r.bold(humanize.Number(t.Temporary)),
				r.faint(fmt.Sprintf("(%s of allocations; freed before the thread's next one)",
					humanize.Percent(t.Temporary, t.Allocations)))))
		}
		sizes := "mean " + r.size(t.Bytes/t.Allocations)
		if t.MaxSize > 0 || !imported {
			sizes = fmt.Sprintf("%s to %s, %s", r.size(t.MinSize), r.size(t.MaxSize), sizes)
		}
		if t.SlackCount > 0 && t.Bytes > 0 {
			sizes += fmt.Sprintf("; allocator's slack %s (%s)", r.size(t.Slack), humanize.Percent(t.Slack, t.Bytes))
		}
		r.line("sizes", sizes)
	}
	var more []string
	switch {
	case t.Deallocations > 0 && (imported || t.Untimed == t.Deallocations):
		more = append(more, humanize.Plural(t.Deallocations, "deallocation"))
	case t.Deallocations > 0:
		more = append(more, fmt.Sprintf("%s, mean lifetime %s", humanize.Plural(t.Deallocations, "deallocation"),
			r.duration(t.MeanLifetime())))
	}
	if t.Reallocations > 0 {
		more = append(more, fmt.Sprintf("%s (%s in place)", humanize.Plural(t.Reallocations, "reallocation"),
			humanize.Percent(t.InPlace, t.Reallocations)))
	}
	if t.Failed > 0 {
		more = append(more, humanize.Plural(t.Failed, "call")+" failed")
	}
	if t.Unrecorded > 0 {
		more = append(more, humanize.Plural(t.Unrecorded, "block")+" freed whose allocation was not recorded")
	}
	if t.Inherited > 0 {
		more = append(more, humanize.Plural(t.Inherited, "block")+" of the parent process freed")
	}
	if len(more) > 0 {
		label, line := "lifetimes", more[0]
		for _, m := range more[1:] {
			if runes(line)+runes(m)+2 > r.Width-15 {
				r.line(label, line)
				label, line = "", m
				continue
			}
			line += "; " + m
		}
		r.line(label, line)
	}
	if r.threadsKnown() {
		r.line("through", r.functions(r.Width-15))
	}
	r.stackLine()
	if s := r.mappings(); s != "" {
		r.line("mappings", s)
	}
	r.printf("\n")
}

func leaked(r *report, p *profile.Profile) string {
	own := p.Leaked.Bytes - p.Runtime.Bytes
	blocks := p.Leaked.Blocks - p.Runtime.Blocks
	text := fmt.Sprintf("%s in %s", r.bold(r.size(own)), humanize.Plural(blocks, "block"))
	if p.ErrorsKnown() {
		blocksError, bytesError := p.OwnLeak()
		text = fmt.Sprintf("%s%s in %s", r.bold(r.size(own)), r.pmSize(bytesError),
			r.counted(blocks, "block", blocksError))
	}
	if blocks == 0 {
		text = r.bold("nothing")
	}
	if p.Runtime.Blocks > 0 {
		text += r.faint(fmt.Sprintf("   besides %s in %s that the runtime keeps: no leak", r.size(p.Runtime.Bytes),
			humanize.Plural(p.Runtime.Blocks, "block")))
	}
	return text
}

// functions lists the functions that were called, as many as fit.
func (r *report) functions(width int) string {
	type called struct {
		f event.Func
		n uint64
	}
	var list []called
	for f, n := range r.p.Totals.Funcs {
		if n > 0 && event.Func(f) != event.FuncUnknown && (event.Func(f) < event.Mmap || event.Func(f) > event.Brk) {
			list = append(list, called{event.Func(f), n})
		}
	}
	for i := range list { // few: a plain sort, largest first
		for j := i; j > 0 && list[j].n > list[j-1].n; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	text := ""
	for i, c := range list {
		item := fmt.Sprintf("%s %s", c.f, r.short(c.n))
		if i > 0 {
			item = ", " + item
		}
		if runes(text)+runes(item) > width-2 {
			return text + " …"
		}
		text += item
	}
	if text == "" {
		return "nothing was called"
	}
	return text
}

// mappings returns the line on the program's own mapping changes; "" if there are none.
func (r *report) mappings() string {
	m := &r.p.Totals.Maps
	var parts []string
	for _, c := range []struct {
		name         string
		calls, bytes uint64
	}{{"mmap", m.Mmap.Calls, m.Mmap.Bytes}, {"munmap", m.Munmap.Calls, m.Munmap.Bytes},
		{"mremap", m.Mremap.Calls, m.Mremap.Bytes}, {"brk", m.Brk.Calls, m.Brk.Bytes}} {
		if c.calls > 0 {
			parts = append(parts, fmt.Sprintf("%s %s (%s)", c.name, humanize.Number(c.calls), r.size(c.bytes)))
		}
	}
	return strings.Join(parts, ", ")
}

// mapped lists the call stacks that mapped memory, those with most at the peak first.
func (r *report) mapped() {
	m := r.p.Mapped
	if r.Top < 1 || r.Selection != nil || m == nil {
		return
	}
	list := profile.MappedSites(m)
	r.printf("%s  %s\n", r.title("MAPPED"), r.faint(fmt.Sprintf("by the program, live at the peak of %s after %s; "+
		"leaked %s",
		r.size(m.PeakBytes), humanize.Duration(m.PeakTime), r.size(m.LiveBytes))))
	for _, s := range list[:min(len(list), r.Top)] {
		notes := []string{humanize.Plural(s.Calls, "call")}
		if n := s.LiveBytes(); n > 0 {
			notes = append(notes, r.size(n)+" leaked")
		}
		r.columns(r.size(s.LiveAtPeak), humanize.Percent(s.LiveAtPeak, m.PeakBytes), notes, s.Stack)
	}
	if n := len(list) - r.Top; n > 0 {
		r.printf("  %s\n", r.faint("and "+humanize.Plural(uint64(n), "more call stack")))
	}
	r.printf("\n")
}

// threads lists the threads that allocated most.
func (r *report) threads() {
	if len(r.p.Threads) < 2 || r.Top < 0 {
		return
	}
	list := busiest(r.p.Threads)
	if r.Selection != nil {
		list = slices.DeleteFunc(list, func(t profile.Thread) bool { return t.Counts == tally.Thread{} })
	}
	n := min(len(list), max(r.Top, 1))
	r.printf("%s\n", r.title("THREADS"))
	r.printf("  %s\n", r.faint(fmt.Sprintf("%-16s %9s %14s %11s %14s %18s", "name", "id", "allocations", "bytes",
		"deallocations", "of other threads'")))
	for _, t := range list[:n] {
		name := t.Name
		if name == "" {
			name = "-"
		}
		r.printf("  %s %9d %14s %11s %14s %18s\n", padRight(funcname.Middle(clean(name), 16), 16), t.TID,
			humanize.Number(t.Counts.Allocations), r.size(t.Counts.Bytes), humanize.Number(t.Counts.Deallocations),
			humanize.Number(t.Counts.Foreign))
	}
	if n < len(list) {
		r.printf("  %s\n", r.faint(fmt.Sprintf("and %s", humanize.Plural(uint64(len(list)-n), "more thread"))))
	}
	r.printf("\n")
}

func busiest(threads []profile.Thread) []profile.Thread {
	list := append([]profile.Thread(nil), threads...)
	sortBy(list, func(a, b *profile.Thread) bool { return a.Counts.Allocations > b.Counts.Allocations })
	return list
}

func base(path string) string {
	if path == "" {
		return ""
	}
	return clean(filepath.Base(path))
}

// pools writes a line for each name of the program's own pools.
func (r *report) pools() {
	if len(r.p.Pools) == 0 || r.Selection != nil {
		return
	}
	r.printf("%s  %s\n", r.title("POOLS"), r.faint("what is in them is in all numbers; the blocks that back them "+
		"are not"))
	r.printf("%s\n", r.faint(fmt.Sprintf("  %10s %10s %10s %10s %10s %10s  %s", "backing", "at most", "in use",
		"at most", "allocated", "freed", "pool")))
	for i := range r.p.Pools {
		p := &r.p.Pools[i]
		r.printf("  %s %s %s %s %s %s  %s\n", padLeft(r.size(p.Backing), 10), padLeft(r.size(p.PeakBacking), 10),
			padLeft(r.size(p.Live), 10), r.bold(padLeft(r.size(p.PeakLive), 10)), padLeft(r.short(p.Allocations), 10),
			padLeft(r.short(p.Frees), 10), clean(p.Name))
	}
	r.printf("\n")
}
