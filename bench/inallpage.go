package main

import (
	"fmt"
	"strings"
)

// smaller are goals for the recordings of programs: bytes per event, as they were before.
var smaller = map[string]float64{"cc1plus": 1.2, "python": .31}

// interpreted is the goal against heaptrack with its interpreter, on python.
const interpreted = 1. / 3

// ratio compares what runs of a program used with the bare runs in the same place.
func (r *inAll) ratio(program, variant string, p place) (f figure, failed string) {
	of := r.runs[program]
	return ratioOf(of[variant+p.name], of[bare+p.name], func(u used) float64 { return u.cpu })
}

// ratioOf compares runs with others, one by one.
func ratioOf(list, with []used, of func(used) float64) (f figure, failed string) {
	var v []float64
	for i := range min(len(list), len(with)) {
		if list[i].failed != "" {
			failed = list[i].failed
		} else if base := of(with[i]); base > 0 {
			v = append(v, of(list[i])/base)
		}
	}
	if len(v) == 0 && failed == "" {
		failed = "-"
	}
	return figureOf(v), failed
}

// cell is a program in a variant, against the bare run; of that, the CPU time.
func (r *inAll) cell(program, variant string, p place) string {
	if variant == bare {
		var v []float64
		for _, u := range r.runs[program][bare+p.name] {
			v = append(v, u.cpu)
		}
		return fmt.Sprintf("%.2f s", median(v))
	}
	f, failed := r.ratio(program, variant, p)
	if f.median == 0 {
		return failed
	}
	text := fmt.Sprintf("%.2fx", f.median)
	if raw, _ := r.ratio(program, heaptrackRaw, p); variant == exact && raw.median > 0 && f.median >= raw.median {
		text = "**" + text + "**"
	}
	return text
}

// section is the section of the page.
func (r *inAll) section() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nWritten by `make bench-all`: CPU time, user and system, of the target and of all processes "+
		"that work beside it, until the command has returned; against the bare run. On one core: all of them share "+
		"it, as with `taskset -c 0`. heaptrack -r (`--record-only`) is without the interpreter that a recording must "+
		"go through before anything can be read. %s; with heaptrack's interpreter, one, of python only. Goal: "+
		"heaptap below heaptrack -r. In bold: worse than its goal. Machine: %s; its counter takes %s ns to read "+
		"(`rdtsc`; the agent reads it once for each event).\n\n", inAllHeading, r.reps(), machine(), r.counter)
	if len(r.programs) > 0 {
		r.programTable(&b)
	}
	r.goals(&b)
	for _, w := range r.programs {
		fmt.Fprintf(&b, "- **%s**: %s\n", w.name, w.what)
	}
	for _, t := range r.tasks {
		fmt.Fprintf(&b, "- **%s**: %s\n", t.name, t.what)
	}
	for _, m := range r.missing {
		fmt.Fprintf(&b, "- Not measured here: %s.\n", m)
	}
	return b.String() + "\n"
}

// reps says how often the programs ran.
func (r *inAll) reps() string {
	n := 0
	for _, of := range r.runs {
		n = max(n, len(of[bare]))
	}
	for _, t := range r.tasks {
		n = max(n, len(t.samples[bare]))
	}
	text := fmt.Sprintf("Medians of %d runs in turn", n)
	if n == 1 {
		text = "One run of each, in turn"
	}
	if r.scale != 1 {
		text += fmt.Sprintf(", the programs with %g of their usual inputs", r.scale)
	}
	return text
}

func (r *inAll) programTable(b *strings.Builder) {
	b.WriteString("| program |")
	columns := 1
	for _, p := range places {
		for _, v := range r.variants {
			fmt.Fprintf(b, " %s%s |", v.name, p.name)
			columns++
		}
	}
	b.WriteString(" bytes per event | goal |\n|---|" + strings.Repeat("--:|", columns+1) + "\n")
	for _, w := range r.programs {
		fmt.Fprintf(b, "| %s |", w.name)
		for _, p := range places {
			for _, v := range r.variants {
				fmt.Fprintf(b, " %s |", r.cell(w.name, v.name, p))
			}
		}
		per, goal := fmt.Sprintf("%.3f", r.bytes[w.name]), "-"
		if most, ok := smaller[w.name]; ok {
			per, goal = bold(per, r.bytes[w.name] > most), fmt.Sprintf("%.2f", most)
		}
		fmt.Fprintf(b, " %s | %s |\n", per, goal)
	}
	b.WriteString("\n")
}

// goals writes the table of what has a goal of its own.
func (r *inAll) goals(b *strings.Builder) {
	b.WriteString("| what | goal | measured |\n|---|--:|--:|\n")
	for _, p := range places {
		mine, _ := r.ratio(interpretedName, exact, p)
		theirs, _ := r.ratio(interpretedName, heaptrackName, p)
		if mine.median > 0 && theirs.median > 0 {
			share := mine.median / theirs.median
			fmt.Fprintf(b, "| %s%s: CPU in all, against heaptrack with its interpreter | %.2fx | %s |\n",
				interpretedName,
				p.name, interpreted, bold(fmt.Sprintf("%.2fx", share), share > interpreted))
		}
	}
	for _, t := range r.tasks {
		b.WriteString(t.row() + "\n")
	}
	if len(r.idle) > 0 {
		share := median(r.idle)
		fmt.Fprintf(b, "| %s (`sleep`): share of a core beside it, %v to %v after its start | %.1f %% | %s |\n",
			idleName,
			idleFrom, idleFrom+idleFor, idleGoal*100, bold(fmt.Sprintf("%.2f %%", share*100), share > idleGoal))
	}
	for _, name := range []string{"/bin/true", "cc1plus"} {
		if list := r.prompts[name]; len(list) > 0 {
			fmt.Fprintf(b, "| %s: from its end until the prompt, with the summary | - | %.0f ms |\n", name,
				median(list)*1e3)
		}
	}
	b.WriteString("\n")
}

// row is a task's row in the table of goals.
func (t *task) row() string {
	what, of := "CPU in all", func(u used) float64 { return u.cpu }
	if t.wall {
		what, of = "wall time", func(u used) float64 { return u.wall }
	}
	f, _ := ratioOf(t.samples[exact], t.samples[bare], of)
	var base []float64
	for _, u := range t.samples[bare] {
		base = append(base, of(u)/float64(t.repeats))
	}
	return fmt.Sprintf("| %s: %s, against bare (%s) | %.2fx | %s |", t.name, what, duration(median(base)*1e9), t.goal,
		bold(fmt.Sprintf("%.2fx ± %.2f", f.median, f.spread), f.median > t.goal))
}
