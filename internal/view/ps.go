package view

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/humanize"
)

// psRows is how many programs Run shows at most, beside those that started them.
const psRows = 30

// psDeepest is the last level that is indented.
const psDeepest = 12

// tree is a run's programs, as Run shows them.
type tree struct {
	*answer.Run
	Options
	style    style
	w        *bufio.Writer
	children [][]int // by program
	most     []int64 // largest resident set of a program and all below it
	shown    []bool
	lines    sparklines // without columns: there are no timelines
}

// Run writes the tree of a run's programs, the largest first. Small ones are folded into one line, unless all is set.
func Run(w io.Writer, r *answer.Run, all bool, o Options) error {
	t := &tree{Run: r, Options: o.fill(), style: style(o.Color), w: bufio.NewWriter(w)}
	t.heading()
	roots := t.link()
	hidden, sum := t.fold(all)
	t.lines.over(r, t.Width)
	if len(r.Programs) > 0 {
		fmt.Fprintf(t.w, "%s\n", t.style.faint(fmt.Sprintf("  %9s  %9s  %8s  %7s  %sprocess (peaks)", "resident",
			"live", "ran", "pid", t.lines.axis())))
	}
	for _, i := range roots {
		t.write(i, 0)
	}
	if hidden > 0 {
		fmt.Fprintf(t.w, "  %s\n", t.style.faint(fmt.Sprintf("%s, %s in all (--all)",
			humanize.Plural(uint64(hidden), "small process"), humanize.Size(uint64(sum)))))
	}
	return t.w.Flush()
}

func (t *tree) heading() {
	fmt.Fprintf(t.w, "%s\n", t.style.bold(cutEnd(clean(strings.Join(t.Command, " ")), t.Width)))
	parts := []string{clean(t.Run.Run)}
	if t.StartedNS > 0 {
		parts = append(parts, time.Unix(0, t.StartedNS).Format("2006-01-02 15:04:05"))
	}
	if t.Host != "" {
		parts = append(parts, "on "+clean(t.Host))
	}
	if t.Rank != "" {
		parts = append(parts, "rank "+clean(t.Rank))
	}
	parts = append(parts, humanize.Plural(uint64(len(t.Programs)), "program"))
	if t.Live {
		parts = append(parts, "still running")
	}
	fmt.Fprintf(t.w, "%s\n\n", t.style.faint(strings.Join(parts, " · ")))
	if t.Damage != "" {
		fmt.Fprintf(t.w, "the run is not complete: %s\n\n", clean(t.Damage))
	}
}

// link finds each program's children, sorted by the largest resident set below, and returns the roots.
func (t *tree) link() (roots []int) {
	n := len(t.Programs)
	t.children, t.most, t.shown = make([][]int, n), make([]int64, n), make([]bool, n)
	for i := n - 1; i >= 0; i-- { // children come after what started them
		t.most[i] = max(t.most[i], t.Programs[i].PeakResidentBytes)
		if p := t.Programs[i].Parent; p >= 0 && p < i {
			t.children[p] = append(t.children[p], i)
			t.most[p] = max(t.most[p], t.most[i])
		} else {
			roots = append(roots, i)
		}
	}
	sort := func(list []int) {
		slices.SortFunc(list, func(a, b int) int {
			return cmp.Or(cmp.Compare(t.most[b], t.most[a]), cmp.Compare(a, b))
		})
	}
	sort(roots)
	for _, c := range t.children {
		sort(c)
	}
	return roots
}

// fold decides which programs are shown: those with at least a tenth of the largest resident set, at most psRows, the
// one that the user named, and what started them. It returns how many others there are, and the sum of their peaks of
// live bytes.
func (t *tree) fold(all bool) (hidden int, sum int64) {
	order := make([]int, len(t.Programs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(t.Programs[b].PeakResidentBytes, t.Programs[a].PeakResidentBytes), cmp.Compare(a, b))
	})
	for k, i := range order {
		p := &t.Programs[i]
		if !all && !p.Named && (k >= psRows || p.PeakResidentBytes < t.Programs[order[0]].PeakResidentBytes/10) {
			continue
		}
		for at := i; at >= 0 && at < len(t.shown) && !t.shown[at]; at = t.Programs[at].Parent {
			t.shown[at] = true
		}
	}
	for i := range t.Programs {
		if !t.shown[i] {
			hidden++
			sum += t.Programs[i].PeakLiveBytes
		}
	}
	return hidden, sum
}

// write writes a program and what it started.
func (t *tree) write(i, depth int) {
	p := &t.Programs[i]
	if !t.shown[i] { // nothing below it is shown either
		return
	}
	name := p.Name
	if p.Label != "" {
		name += " " + p.Label
	}
	name = clean(name)
	if p.Executed {
		name = "→ " + name
	}
	notes := ""
	switch {
	case p.Running:
		notes = "still running"
	case p.Signal > 0:
		notes = fmt.Sprintf("killed by signal %d", p.Signal)
	case p.ExitCode != 0:
		notes = fmt.Sprintf("exit status %d", p.ExitCode)
	case p.Forked:
		notes = "forked"
	}
	if notes != "" {
		notes = "  " + notes
	}
	const least = 12                      // columns of the name
	numbers := 43 + runes(t.lines.axis()) // columns left of the name
	deepest := (t.Width - numbers - least - runes(notes)) / 2
	indent := strings.Repeat("  ", max(0, min(depth, psDeepest, deepest)))
	name = cutEnd(name, max(least, t.Width-numbers-runes(indent)-runes(notes)))
	if p.Named {
		name = t.style.bold(name)
	}
	ran := ""
	if p.EndedNS > p.StartedNS && p.StartedNS > 0 {
		ran = humanize.Duration(p.EndedNS - p.StartedNS)
	}
	resident := "?"
	if p.PeakResidentBytes > 0 {
		resident = humanize.Size(uint64(p.PeakResidentBytes))
	}
	fmt.Fprintf(t.w, "  %s  %s  %s  %7d  %s%s%s%s\n", t.style.bold(padLeft(resident, 9)),
		padLeft(humanize.Size(uint64(p.PeakLiveBytes)), 9), padLeft(ran, 8), p.PID, t.lines.of(p), indent, name,
		t.style.faint(notes))
	for _, c := range t.children[i] {
		t.write(c, depth+1)
	}
}

// Runs writes the runs in a folder.
func Runs(w io.Writer, r *answer.Runs, o Options) error {
	o = o.fill()
	s := style(o.Color)
	out := bufio.NewWriter(w)
	for _, e := range r.Runs {
		notes := ""
		if e.Live {
			notes += " · still running"
		}
		if !e.Ours {
			notes += " · of another user"
		}
		when := strings.Repeat(" ", 19)
		if e.StartedNS > 0 {
			when = time.Unix(0, e.StartedNS).Format("2006-01-02 15:04:05")
		}
		name := padRight(clean(e.Run), 24)
		text := cutEnd(clean(strings.Join(e.Command, " ")), max(20, o.Width-runes(name)-runes(notes)-24))
		fmt.Fprintf(out, "%s  %s  %s%s\n", s.faint(when), s.bold(name), text, s.faint(notes))
	}
	return out.Flush()
}
