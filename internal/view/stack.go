package view

import (
	"fmt"
	"sort"
	"strings"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
)

func sortBy[T any](list []T, less func(a, b *T) bool) {
	sort.SliceStable(list, func(i, j int) bool { return less(&list[i], &list[j]) })
}

// Widths of a stack's columns: numbers, then function, place and module.
const (
	gutter      = 19
	placeWidth  = 22
	moduleWidth = 15
)

// ranking writes the stacks that come first by a metric.
func (r *report) ranking(m *profile.Metric) {
	total := m.Total(r.p)
	if r.Top < 0 || total == 0 || m == &profile.Temporary && r.p.Sampled() {
		return
	}
	list := profile.Rank(r.groups, m, r.Top)
	if len(list) == 0 {
		return
	}
	sum := humanize.Number(total)
	if m.Bytes {
		sum = r.size(total)
	}
	title := map[*profile.Metric]string{
		&profile.LiveAtPeak:  "MOST LIVE AT PEAK",
		&profile.Leaked:      "MOST LEAKED",
		&profile.Allocations: "MOST ALLOCATIONS",
		&profile.Bytes:       "MOST BYTES ALLOCATED",
		&profile.Temporary:   "MOST TEMPORARY ALLOCATIONS",
	}[m]
	r.printf("%s  %s\n", r.title(title), r.faint("of "+sum))
	for i := range list {
		r.stack(m, &list[i], total)
	}
	r.printf("\n")
}

// stack writes one stack: the numbers at the left of its frames.
func (r *report) stack(m *profile.Metric, g *profile.Group, total uint64) {
	value := m.Of(g)
	text := r.short(value)
	if m.Bytes {
		text = r.size(value)
	}
	r.columns(text, humanize.Percent(value, total), r.notes(m, g), g.Stack)
}

// columns writes a value, its share and notes at the left of a stack's frames.
func (r *report) columns(value, share string, notes []string, stack uint32) {
	left := []string{padLeft(value, 9) + padLeft(share, 8)}
	styled := []string{r.bold(padLeft(value, 9)) + padLeft(share, 8)}
	for _, note := range notes {
		note = padLeft(note, gutter-2)
		left = append(left, note)
		styled = append(styled, r.faint(note))
	}
	width := gutter // numbers in full may need more
	for _, text := range left {
		width = max(width, runes(text)+2)
	}
	lines := r.frames(stack)
	for i := 0; i < max(len(lines), len(left)); i++ {
		number, plain := strings.Repeat(" ", width), ""
		if i < len(left) {
			plain = left[i]
			number = styled[i] + strings.Repeat(" ", width-runes(plain))
		}
		frame := ""
		if i < len(lines) {
			frame = lines[i]
		}
		r.printf("%s\n", strings.TrimRight(number+frame, " "))
	}
}

// notes are the further numbers of a stack, one a line.
func (r *report) notes(m *profile.Metric, g *profile.Group) []string {
	var list []string
	if pm := r.errorNote(m, g); pm != "" {
		list = append(list, pm)
	}
	if m.Count != nil {
		n := m.Count(g)
		noun := " blocks"
		if m == &profile.Bytes {
			noun = " calls"
		}
		if n == 1 {
			noun = noun[:len(noun)-1]
		}
		list = append(list, r.short(n)+noun)
		if n > 1 {
			list = append(list, r.size(m.Of(g)/n)+" each")
		}
	} else if g.Allocations > 0 {
		list = append(list, r.size(g.Bytes/g.Allocations)+" each")
		if m == &profile.Temporary && g.Temporary != g.Allocations {
			list = append(list, "of "+r.short(g.Allocations))
		}
	}
	if g.Class == profile.Runtime {
		list = append(list, "runtime's own")
	}
	return list
}

// level is a line of a stack: a frame and those that are told with it.
type level struct {
	profile.Frame
	times  int // the same function called itself
	within int // frames of the standard library below this one, which are not shown
}

// levels are the lines of a stack, of which only so many are kept: the first ones, and the last one.
type levels struct {
	list []level
	all  int // how many there are
}

// fold makes the levels of a stack, leaf first, without the frames at the root that say nothing: a function that calls itself is one, and
// so is the standard library's way from what the program called down to the allocator, if short is set. It keeps the first so many and
// the last; 0: all. Stacks may be very deep: their frames are not all in memory.
func fold(p *profile.Profile, stack uint32, short bool, keep int) levels {
	var pcs []uint32
	p.AllPCs(stack, func(pc uint32) bool {
		pcs = append(pcs, pc)
		return true
	})
	head, frames := len(pcs), 0
	for head > 0 && frames <= startDepth {
		head--
		frames += len(p.PCFrames(pcs[head]))
	}
	var tail []profile.Frame
	for _, pc := range pcs[head:] {
		tail = append(tail, p.PCFrames(pc)...)
	}
	var l levels
	for _, pc := range pcs[:head] {
		list := p.PCFrames(pc)
		for i := range list {
			l.add(&list[i], short, keep)
		}
	}
	tail = cutStart(tail)
	for i := range tail {
		l.add(&tail[i], short, keep)
	}
	return l
}

// add adds the next frame.
func (l *levels) add(f *profile.Frame, short bool, keep int) {
	if k := len(l.list) - 1; k >= 0 {
		last := &l.list[k]
		if last.Function == f.Function && f.Function != "" && last.Module == f.Module {
			last.times++
			return
		}
		if short && library(last.Function) && library(f.Function) {
			*last = level{Frame: *f, times: 1, within: last.within + last.times}
			return
		}
	}
	if l.all++; keep > 0 && len(l.list) > keep {
		l.list = l.list[:keep]
	}
	l.list = append(l.list, level{Frame: *f, times: 1})
}

// library reports whether a function belongs to the standard library of its language.
func library(function string) bool {
	for _, p := range []string{"std::", "__gnu_cxx::", "alloc::", "core::", "<alloc::", "<core::", "<std::", "__rdl_",
		"__rust_", "__rg_"} {
		if strings.HasPrefix(function, p) {
			return true
		}
	}
	// Instances of templates come with their return type: "void std::f<int>(int)".
	_, name, ok := strings.Cut(function, " ")
	return ok && strings.HasPrefix(name, "std::") && !strings.HasPrefix(function, "operator ")
}

// frames are the lines of a stack, leaf first.
func (r *report) frames(stack uint32) []string {
	l := fold(r.p, stack, r.Frames > 0, max(r.Frames, 0))
	list := l.list
	if l.all == 0 {
		return []string{r.faint("(no call stack)")}
	}
	limit := r.Frames
	if limit < 0 || l.all <= limit {
		limit = l.all
	}
	var lines []string
	module := ""
	line := func(x level) {
		show := x.Module
		if show == module && len(lines) > 0 {
			show = ""
		} else {
			module = show
		}
		lines = append(lines, r.frame(&x, show))
	}
	if limit == l.all {
		for _, x := range list {
			line(x)
		}
		return lines
	}
	keep := max(1, limit-2) // the leaf's side, a line that says how many are left out, the root
	for _, x := range list[:keep] {
		line(x)
	}
	lines = append(lines, r.faint(fmt.Sprintf("… %s", humanize.Plural(uint64(l.all-keep-1), "more frame"))))
	line(list[len(list)-1])
	return lines
}

// frame writes one frame: function, place and module, in columns.
func (r *report) frame(f *level, module string) string {
	wide := r.Width - gutter - placeWidth - moduleWidth - 2
	more := ""
	switch {
	case f.times > 1:
		more = fmt.Sprintf(" ×%d", f.times)
	case f.within > 0:
		more = fmt.Sprintf(" (%d within)", f.within)
	}
	name := ""
	if f.Function != "" {
		name = FunctionName(f.Function, wide-runes(more)) + more
	} else {
		name = middle(address(&f.Frame), wide)
	}
	name = padRight(name, wide)
	if f.Function == "" {
		name = r.faint(name)
	}
	where := ""
	if f.File != "" {
		where = base(f.File)
		if f.Line > 0 {
			number := fmt.Sprintf(":%d", f.Line)
			where = middle(where, placeWidth-runes(number)) + number
		}
		where = middle(where, placeWidth)
	}
	return name + " " + r.place(padRight(where, placeWidth)) + " " + r.faint(middle(base(module), moduleWidth))
}

// address names code whose function is unknown.
func address(f *profile.Frame) string {
	if f.Module == "" {
		return fmt.Sprintf("%#x", f.Address)
	}
	return fmt.Sprintf("%s+%#x", base(f.Module), f.Offset)
}

// startFunctions are what runs before main and before a thread's function: the same on every stack.
var startFunctions = map[string]bool{
	"_start": true, "__libc_start_main": true, "__libc_start_main_impl": true, "__libc_start_call_main": true,
	"call_init": true, "__libc_csu_init": true, "clone": true, "__clone": true, "clone3": true, "__clone3": true,
	"start_thread": true, "_dl_start_user": true, "thread_start": true, "__libc_start_main@@GLIBC_2.34": true,
}

// startDepth is how far from the root start functions are looked for: what lies between has no name.
const startDepth = 6

// cutStart leaves out the frames at the root that say nothing, as long as others remain.
func cutStart(list []profile.Frame) []profile.Frame {
	end := len(list)
	for i := len(list) - 1; i >= max(1, len(list)-startDepth); i-- {
		name, _, _ := strings.Cut(list[i].Function, "@")
		switch {
		case startFunctions[name]:
			end = i
		case name != "":
			return list[:end]
		}
	}
	return list[:end]
}
