package view

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/insight"
	"github.com/heaptap/heaptap/internal/namesource"
	"github.com/heaptap/heaptap/internal/owncode"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/run"
	"github.com/heaptap/heaptap/internal/tally"
)

// Text is at least MinWidth columns wide, and at most MaxWidth: longer lines cannot be read.
const (
	MinWidth = 80
	MaxWidth = 250
)

// Options say how a report is shown.
type Options struct {
	Top    int  // stacks per ranking; 0: 5, negative: none
	Frames int  // lines per stack at most; 0: 8, fewer of stacks without own code; negative: all frames, none folded
	Brief  bool // fewer lines of stacks without own code; set by Frames 0
	Width  int  // columns, in which long lines are broken; 0: 100, in which they are not
	Color  bool // mark with colours (ANSI)
	Exact  bool // numbers in full
	// Code says which code is the user's own, beside the main executable.
	Code owncode.Rules
	// NamesOf says where the names of a file's functions can be had; nil: texts do not say it.
	NamesOf func(path string, buildID []byte) namesource.Source
	// Found is what stands out; the report says it after the first numbers.
	Found []insight.Finding
	// Recording are the words that name the recording to a command; nil: none are needed.
	Recording []string
	// Selection says what a report is of; nil: of the whole recording.
	Selection *query.Selection

	wraps bool // set by Width
}

func (o Options) fill() Options {
	if o.Top == 0 {
		o.Top = 5
	}
	if o.Frames == 0 {
		o.Frames, o.Brief = 8, true
	}
	o.wraps = o.wraps || o.Width > 0
	if o.Width == 0 {
		o.Width = 100
	}
	o.Width = min(max(o.Width, MinWidth), MaxWidth)
	return o
}

// report writes a report.
type report struct{ renderer }

func newReport(w io.Writer, p *profile.Profile, o Options) *report {
	return &report{renderer: newRenderer(w, p, o.fill())}
}

// Report writes the whole report as text.
func Report(w io.Writer, p *profile.Profile, o Options) error {
	r := newReport(w, p, o)
	groups := p.Groups()
	r.heading()
	r.sampled()
	r.selection()
	r.warnings()
	if !r.p.OnlyCounted() {
		r.overview()
	}
	r.insights()
	_, first := r.muchMapped()
	if first {
		r.mapped()
	}
	for _, m := range profile.Metrics {
		r.ranking(m, groups)
	}
	if !first {
		r.mapped()
	}
	r.unmatched()
	r.mismatches(max(r.Top, 1))
	r.pools()
	r.counts()
	r.inputs()
	r.marks()
	r.threads()
	r.names()
	return r.Flush()
}

// command returns the command line, cut to width.
func command(p *profile.Profile, width int) string {
	var words []string
	for _, a := range p.Process.Args {
		words = append(words, shellQuote(a))
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
	text := clean(strings.Join(words, " "))
	switch {
	case text == "":
		return "unknown command"
	case runes(text) > width:
		text = shorter(p, words, width)
	}
	return cutEnd(text, width)
}

// shellQuote returns a word as a shell reads it back, in quotes where it needs them.
func shellQuote(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n\"'$\\*?;&|<>()") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// shorter returns a command that is too long without its program's folder. If that is still too long, and hides what
// the program works on, it is only these two: cc1plus … table.cc.
func shorter(p *profile.Profile, words []string, width int) string {
	if i := strings.LastIndexByte(words[0], '/'); i >= 0 && i < len(words[0])-1 {
		words[0] = strings.TrimSuffix(words[0][i+1:], "'")
	}
	text := clean(strings.Join(words, " "))
	if runes(text) <= width {
		return text
	}
	label := clean(run.Label(p.Process.Exe, p.Process.Args))
	brief := clean(words[0]) + " … " + label
	if label == "" || runes(brief) > width || strings.Contains(string([]rune(text)[:width-1]), label) {
		return text
	}
	return brief
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
		parts = append(parts, ran(r, p))
	}
	if r.p.OnlyCounted() {
		parts = append(parts, onlyCounted)
	} else if r.threadsKnown() {
		parts = append(parts, humanize.Plural(uint64(len(p.Threads)), "thread"))
	}
	if s := ending(p); s != "" {
		parts = append(parts, s)
	}
	line := ""
	for i, part := range parts {
		switch {
		case i > 0 && runes(line)+3+runes(part) > r.Width:
			r.wrap("", line, r.faint)
			line = part
		case i > 0:
			line += " · " + part
		default:
			line = part
		}
	}
	r.wrap("", line, r.faint)
	r.printf("\n")
}

// ran says how long the process ran, or that it still runs.
func ran(r *report, p *profile.Profile) string {
	if p.Live {
		return "still running, " + r.duration(p.Duration) + " recorded"
	}
	return "ran " + r.duration(p.Duration)
}

// leakedWord is what the blocks are called that were not freed: of a process that runs, they are not leaked yet.
func leakedWord(p *profile.Profile) string {
	if p.Live {
		return "live now"
	}
	return profile.Leaked.Name
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
	if p.Merged != nil {
		r.together()
	} else {
		r.line("peak", fmt.Sprintf("%s%s in %s %s %s", r.bold(r.size(t.Peak.Bytes)), r.pmSize(v.PeakBytes),
			r.counted(t.Peak.Blocks, "block", v.PeakBlocks), r.atPeak(), r.duration(t.Peak.Time)))
		r.resident()
		r.pageReadings()
	}
	r.line(leakedWord(p), leaked(r, p))
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
	own, blocks := p.Leaked.Bytes, p.Leaked.Blocks
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
	slices.SortStableFunc(list, func(a, b called) int { return cmp.Compare(b.n, a.n) })
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

// mapped lists the call stacks that mapped memory: those that had most in memory first, if that was read; else those
// with most at the peak of what was mapped.
func (r *report) mapped() {
	m := r.p.Mapped
	if r.Top < 1 || r.Selection != nil || m == nil {
		return
	}
	list := profile.MappedSites(m)
	set := r.telling()
	resident := set.OfStacks()
	head := fmt.Sprintf("%s mapped at most, after %s; leaked %s", r.size(m.PeakBytes), humanize.Duration(m.PeakTime),
		r.size(m.LiveBytes))
	if set != nil {
		sum, _ := set.Sum(event.ResidentMapping)
		head = fmt.Sprintf("%s in memory after %s; ", r.size(sum), humanize.Duration(set.Time)) + head
		slices.SortStableFunc(list, func(a, b tally.Site) int {
			return cmp.Compare(resident[b.Stack], resident[a.Stack])
		})
	}
	r.printf("%s  %s\n", r.title("MAPPED"), r.faint(head))
	shown := list[:min(len(list), r.Top)]
	opened := r.distinguish(len(shown), func(i int) uint32 { return shown[i].Stack }, frameText)
	for _, s := range shown {
		value, of := s.LiveAtPeak, m.PeakBytes
		notes := []string{humanize.Plural(s.Calls, "call")}
		if set != nil {
			value, of = resident[s.Stack], set.Bytes
			notes = append(notes, r.size(s.OwnPeak)+" mapped")
		}
		if n := s.LiveBytes(); n > 0 {
			notes = append(notes, r.size(n)+" leaked")
		}
		r.columns(r.size(value), humanize.Percent(value, of), notes, s.Stack, opened[s.Stack]...)
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
	wide := []int{16, 9, 14, 11, 14, 18}
	if r.Width < 100 {
		wide = []int{13, 8, 12, 10, 13, 17}
	}
	row := func(name string, cells ...string) string {
		line := padRight(funcname.Middle(clean(name), wide[0]), wide[0])
		for i, text := range cells {
			line += " " + padLeft(text, wide[i+1])
		}
		return line
	}
	r.printf("  %s\n", r.faint(row("name", "id", "allocations", "bytes", "deallocations", "of other threads'")))
	for _, t := range list[:n] {
		name := t.Name
		if name == "" {
			name = "-"
		}
		r.printf("  %s\n", row(name, fmt.Sprint(t.TID), humanize.Number(t.Counts.Allocations), r.size(t.Counts.Bytes),
			humanize.Number(t.Counts.Deallocations), humanize.Number(t.Counts.Foreign)))
	}
	if n < len(list) {
		r.printf("  %s\n", r.faint(fmt.Sprintf("and %s", humanize.Plural(uint64(len(list)-n), "more thread"))))
	}
	r.printf("\n")
}

func busiest(threads []profile.Thread) []profile.Thread {
	list := slices.Clone(threads)
	slices.SortStableFunc(list, func(a, b profile.Thread) int {
		return cmp.Compare(b.Counts.Allocations, a.Counts.Allocations)
	})
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
