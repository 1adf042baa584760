package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/owncode"
	"github.com/heaptap/heaptap/internal/profile"
)

// gutter is the width of the numbers beside a stack.
const gutter = 19

// usualName is the most that the column of functions takes of a wide terminal: places that stand far from their
// functions are hard to read.
const usualName = 60

// stackWidths returns the widths of a stack's columns: function, place and module. A narrow terminal has no column for
// modules: the place of a frame without a source file is then its module.
func stackWidths(width int) (name, place, module int) {
	if width < 100 {
		place = 24
		return width - gutter - place - 1, place, 0
	}
	more := width - 100
	place, module = 22+min(more/5, 30), 15+min(more/8, 20)
	return width - gutter - place - module - 2, place, module
}

// ranking writes the groups of stacks with the largest values of a metric.
func (r *report) ranking(m *profile.Metric, groups []profile.Group) {
	total := m.Total(r.p)
	if r.Top < 0 || total == 0 || m == &profile.Temporary && r.p.Sampled() {
		return
	}
	list := profile.Rank(groups, m, r.Top)
	if len(list) == 0 {
		return
	}
	sum := humanize.Number(total)
	if m.Bytes {
		sum = r.size(total)
	}
	title := map[*profile.Metric]string{
		&profile.LiveAtPeak:  "MOST LIVE AT PEAK",
		&profile.Allocations: "MOST ALLOCATIONS",
		&profile.Bytes:       "MOST BYTES ALLOCATED",
		&profile.Temporary:   "MOST TEMPORARY ALLOCATIONS",
	}[m]
	if m == &profile.Leaked {
		title = "MOST " + strings.ToUpper(leakedWord(r.p))
	}
	r.printf("%s  %s\n", r.title(title), r.faint("of "+sum))
	opened := r.distinguish(len(list), func(i int) uint32 { return list[i].Stack }, frameText)
	for i := range list {
		r.stack(m, &list[i], total, opened[list[i].Stack]...)
	}
	r.printf("\n")
}

// distinguish returns which frames to open, by stack, so that no two of n rows look equal.
func (r *renderer) distinguish(n int, stack func(int) uint32,
	text func(*renderer, uint32, ...int) string) map[uint32][]int {
	list := make([]uint32, n)
	for i := range list {
		list[i] = stack(i)
	}
	uncounted := *r // rows that differ only in how many frames are folded look equal to people
	uncounted.uncounted, uncounted.missing = true, &missing{}
	return r.fold.Distinguish(list, func(stack uint32, opened ...int) string {
		return text(&uncounted, stack, opened...)
	})
}

// chainText returns what chain writes of a stack in a width.
func chainText(width int) func(r *renderer, stack uint32, opened ...int) string {
	return func(r *renderer, stack uint32, opened ...int) string { return r.chain(stack, width, opened...).plain }
}

// frameText is what frames writes of a stack.
func frameText(r *renderer, stack uint32, opened ...int) string {
	return strings.Join(r.frames(stack, opened...), "\n")
}

// stack writes one stack: the numbers at the left of its frames.
func (r *report) stack(m *profile.Metric, g *profile.Group, total uint64, opened ...int) {
	value := m.Of(g)
	text := r.short(value)
	if m.Bytes {
		text = r.size(value)
	}
	r.columns(text, humanize.Percent(value, total), r.notes(m, g), g.Stack, opened...)
}

// columns writes a value, its share and notes to the left of a stack's frames.
func (r *renderer) columns(value, share string, notes []string, stack uint32, opened ...int) {
	left := []string{padLeft(value, 9) + padLeft(share, 8)}
	styled := []string{r.bold(padLeft(value, 9)) + padLeft(share, 8)}
	for _, note := range notes {
		note = padLeft(note, gutter-2)
		left = append(left, note)
		styled = append(styled, r.faint(note))
	}
	width := gutter // exact numbers may need more
	for _, text := range left {
		width = max(width, runes(text)+2)
	}
	lines := r.frames(stack, opened...)
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

// notes returns the other numbers of a stack, one for each line.
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

// frames returns the lines of a stack, leaf first. Of folded frames, those that were opened are shown.
func (r *renderer) frames(stack uint32, opened ...int) []string {
	l := r.fold.Fold(stack, max(r.Frames, 0), r.Brief, opened...)
	if len(l.List) == 0 {
		return []string{r.faint("(no call stack)")}
	}
	var lines []string
	module := ""
	for i := range l.List {
		x := &l.List[i]
		if x.Left > 0 {
			lines = append(lines, r.faint("… "+humanize.Plural(uint64(x.Left), "more frame")))
		}
		show := x.Module
		if show == module && len(lines) > 0 && r.Width >= 100 {
			show = ""
		} else {
			module = show
		}
		lines = append(lines, r.frame(x, show))
	}
	if l.Outside > 0 {
		lines = append(lines, r.faint("… "+humanize.Plural(uint64(l.Outside), "library frame")))
	}
	return lines
}

// counted returns what is written behind the function of a line: what else it stands for.
func (r *renderer) counted(f *profile.Level) string {
	more := ""
	if f.Times > 1 {
		more = fmt.Sprintf(" ×%d", f.Times)
	}
	if f.Within > 0 && !r.uncounted {
		more += fmt.Sprintf(" (%d within)", f.Within)
	}
	return more
}

// frame writes one frame: function, place and module, in columns. A long name takes what the place does not need.
func (r *renderer) frame(f *profile.Level, module string) string {
	r.missing.see(f.Module, f.Function)
	wide, placeWidth, moduleWidth := stackWidths(r.Width)
	column := min(wide, usualName) // long names reach beyond it
	where := ""
	switch {
	case f.File != "":
		where = base(f.File)
		if f.Line > 0 {
			number := fmt.Sprintf(":%d", f.Line)
			where = funcname.Middle(where, placeWidth-runes(number)) + number
		}
		where = funcname.Middle(where, placeWidth)
	case moduleWidth == 0 && f.Function != "":
		where = funcname.Middle(base(module), placeWidth)
	}
	more := r.counted(f)
	room := wide + placeWidth - runes(where)
	if where != "" && room > column {
		room-- // a space between the two
	}
	name := ""
	if f.Function != "" {
		name = funcname.Short(f.Function, room-runes(more)) + more
	} else {
		name = funcname.Middle(address(f.Frame), room-runes(more)) + more
	}
	taken := max(column, runes(name))
	name = padRight(name, taken)
	if f.Kind != owncode.Own {
		name = r.faint(name)
	}
	switch {
	case moduleWidth > 0 && module != "":
		where = r.place(padRight(where, placeWidth-(taken-column))) + " " +
			r.faint(funcname.Middle(base(module), moduleWidth))
	case where != "":
		where = r.place(where)
	}
	return name + " " + where
}

// Widths of the frames in a line for a whole stack.
const (
	usualLabel = 44 // at most, except of the first frame of own code
	leastLabel = 14
)

// chain returns a stack as one line: the innermost frame of own code with its place, and as many others as fit, leaf
// first. Folded frames are counted.
func (r *renderer) chain(stack uint32, width int, opened ...int) label {
	list := r.fold.Lines(stack, opened...).List
	if len(list) == 0 {
		return label{"(no call stack)", r.faint("(no call stack)")}
	}
	own := max(0, slices.IndexFunc(list, func(x profile.Level) bool { return x.Kind == owncode.Own }))
	links := links{end: len(list)}
	waiting := 0 // frames that tell the row from others, and have no place yet
	for i := range list {
		if list[i].Opened && i != own {
			waiting++
		}
	}
	add := func(i int) bool {
		at, found := links.find(i)
		if found {
			return true
		}
		room := width - links.need(i)
		if keep := waiting * (leastLabel + 2*runes(arrow) + runes(gap)); i == own && width >= 3*leastLabel/2 {
			room = max(room-keep, min(room-leastLabel-runes(arrow), 2*leastLabel))
		} else if i != own && list[i].Opened {
			room = max(room-keep, min(room, leastLabel))
		}
		if i != own {
			if room < leastLabel {
				return false
			}
			room = min(room, usualLabel)
		}
		links.list = slices.Insert(links.list, at, link{i, r.label(&list[i], max(room, 8), i == own)})
		return true
	}
	add(own)
	for i := range list {
		if list[i].Opened && i != own {
			waiting--
			add(i)
		}
	}
	add(0)
	for _, wanted := range []func(i int) bool{
		func(i int) bool { return i > own && list[i].Kind == owncode.Own }, func(i int) bool { return true },
	} {
		for i := 0; i < len(list); i++ {
			if wanted(i) && !add(i) {
				break
			}
		}
	}
	return links.join(r.style)
}

// What is between the frames of a chain, and instead of those that are left out.
const arrow, gap = " ← ", "…"

// links are the frames of a chain that are shown, in the order of the stack.
type links struct {
	list []link
	end  int // lines of the whole stack
}

type link struct {
	at int // line of the stack
	label
}

func (l *links) find(at int) (int, bool) {
	return slices.BinarySearchFunc(l.list, at, func(x link, at int) int { return x.at - at })
}

// need is the width of all links and what is between them, with one more that takes none itself.
func (l *links) need(more int) int {
	at, _ := l.find(more)
	with := links{slices.Insert(slices.Clone(l.list), at, link{at: more}), l.end}
	return runes(with.join(false).plain)
}

// join returns the links with what is between them.
func (l *links) join(s style) (out label) {
	begun := false
	add := func(plain, styled string) {
		if begun {
			out.plain, out.styled = out.plain+arrow, out.styled+s.faint(arrow)
		}
		out.plain, out.styled, begun = out.plain+plain, out.styled+styled, true
	}
	last := -1
	for _, x := range l.list {
		if x.at > last+1 {
			add(gap, s.faint(gap))
		}
		add(x.plain, x.styled)
		last = x.at
	}
	if last < l.end-1 {
		add(gap, s.faint(gap))
	}
	return out
}

type label struct{ plain, styled string }

// label returns a frame in a line: the function and, with place, file and line or the module.
func (r *renderer) label(f *profile.Level, width int, place bool) label {
	r.missing.see(f.Module, f.Function)
	more := r.counted(f)
	if runes(more) > width/2 {
		more = ""
	}
	width -= runes(more)
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
		s := funcname.Middle(address(f.Frame), width)
		return label{s + more, s + r.faint(more)}
	}
	if where != "" { // the name first: it gets what the place can spare
		full := runes(funcname.Short(f.Function, width))
		if where = " " + funcname.Middle(where, max(8, width/3, width-full-1)); width < 2*leastLabel &&
			full+runes(where) > width {
			where = ""
		}
	}
	name := funcname.Short(f.Function, max(8, width-runes(where)))
	styled := name
	if f.Kind != owncode.Own {
		styled = r.faint(name)
	}
	return label{name + where + more, styled + r.place(where) + r.faint(more)}
}

// address returns a name for code whose function is unknown.
func address(f *profile.Frame) string { return clean(f.AddressName()) }
