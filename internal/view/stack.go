package view

import (
	"fmt"
	"sort"
	"strings"

	"github.com/heaptap/heaptap/internal/funcname"
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

// ranking writes the stacks with the largest values of a metric.
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

// columns writes a value, its share and notes to the left of a stack's frames.
func (r *renderer) columns(value, share string, notes []string, stack uint32) {
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

// frames returns the lines of a stack, leaf first.
func (r *renderer) frames(stack uint32) []string {
	l := r.p.Fold(stack, r.Frames > 0, max(r.Frames, 0))
	list := l.List
	if l.All == 0 {
		return []string{r.faint("(no call stack)")}
	}
	limit := r.Frames
	if limit < 0 || l.All <= limit {
		limit = l.All
	}
	var lines []string
	module := ""
	line := func(x profile.Level) {
		show := x.Module
		if show == module && len(lines) > 0 {
			show = ""
		} else {
			module = show
		}
		lines = append(lines, r.frame(&x, show))
	}
	if limit == l.All {
		for _, x := range list {
			line(x)
		}
		return lines
	}
	keep := max(1, limit-2) // the leaf's side, a line that says how many are left out, the root
	for _, x := range list[:keep] {
		line(x)
	}
	lines = append(lines, r.faint(fmt.Sprintf("… %s", humanize.Plural(uint64(l.All-keep-1), "more frame"))))
	line(list[len(list)-1])
	return lines
}

// frame writes one frame: function, place and module, in columns.
func (r *renderer) frame(f *profile.Level, module string) string {
	wide := r.Width - gutter - placeWidth - moduleWidth - 2
	more := ""
	switch {
	case f.Times > 1:
		more = fmt.Sprintf(" ×%d", f.Times)
	case f.Within > 0:
		more = fmt.Sprintf(" (%d within)", f.Within)
	}
	name := ""
	if f.Function != "" {
		name = funcname.Short(f.Function, wide-runes(more)) + more
	} else {
		name = funcname.Middle(address(&f.Frame), wide)
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
			where = funcname.Middle(where, placeWidth-runes(number)) + number
		}
		where = funcname.Middle(where, placeWidth)
	}
	return name + " " + r.place(padRight(where, placeWidth)) + " " + r.faint(funcname.Middle(base(module), moduleWidth))
}

// address returns a name for code whose function is unknown.
func address(f *profile.Frame) string { return clean(f.AddressName()) }
