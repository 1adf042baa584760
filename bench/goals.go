package main

import (
	"fmt"
	"strings"
)

// goal is a number for heaptap to reach: first, when a part is new; final, when it has been optimised.
type goal struct {
	workload, variant string
	// against is what to compare with: the sketch, what is added; a workload, the CPU per unit; "": the goal is about
	// the cost.
	against      string
	first, final float64
}

var goals = []goal{
	{"W1", exact, "", 15, 12},
	{"W2", exact, "", 55, 46},
	{"depth 60", exact, "", 30, 25},
	{"W1 on 2 threads", exact, "W1", 1.5, 1.2},
	{"W3", exact, "", 60, 40},
	{"W1", exact, sketch, .75, .75},
	{"depth 60", exact, sketch, .85, .85},
	{"W2", exact, sketch, .9, .9},
	{"cc1plus", exact, "", 1.25, 1.15},
	{"python", exact, "", 2.3, 1.95},
	{"sqlite", exact, "", 1.8, 1.55},
	{"W1", sampled, "", 2, 1},
	{"W1", counted, "", 8, 5},
	{"W1", monitored, "", 10, 10}, // a pair is two events
	{"W1", measured, "", 40, 40},
}

// measured returns the measured number and its spread, and a function that formats such numbers.
func (r *results) measured(g goal) (f figure, text func(float64) string, ok bool) {
	w, v := r.workload(g.workload), r.variant(g.variant)
	if w == nil {
		return f, nil, false
	}
	if g.against == sketch {
		text = func(x float64) string { return fmt.Sprintf("%.2fx of what the sketch adds", x) }
		list := r.shares(g.workload, g.variant, sketch)
		return figureOf(list), text, len(list) > 0
	}
	if g.against != "" {
		text = func(x float64) string { return fmt.Sprintf("%.2fx of %s's CPU per pair", x, g.against) }
		list := paired(r.samples[g.workload][g.variant], r.samples[g.against][g.variant],
			func(a, base float64) float64 { return a / base })
		return figureOf(list), text, len(list) > 0
	}
	if v != nil {
		f, ok = r.cost(w, v)
	}
	return f, w.costText, ok
}

// shares returns what a variant adds to the shim's CPU, divided by what another one adds, run by run.
func (r *results) shares(workload, variant, other string) (list []float64) {
	of := r.samples[workload]
	for i := range min(len(of[variant]), len(of[other]), len(of[shim])) {
		a, b, base := of[variant][i], of[other][i], of[shim][i]
		if a.failed+b.failed+base.failed == "" && b.perUnit() > base.perUnit() {
			list = append(list, (a.perUnit()-base.perUnit())/(b.perUnit()-base.perUnit()))
		}
	}
	return list
}

// goalTable writes the table that compares the results with the goals.
func (r *results) goalTable(b *strings.Builder) {
	b.WriteString("## Goals\n\nIn bold: worse than the final goal. ± is half of the distance between the quartiles " +
		"of the runs.\n\n| workload | variant | first goal | final goal | measured |\n|---|---|--:|--:|--:|\n")
	for _, g := range goals {
		f, text, ok := r.measured(g)
		if text == nil {
			continue
		}
		result := "-"
		if ok {
			result = bold(fmt.Sprintf("%s ± %s", text(f.median), r.workload(g.workload).spreadText(g, f.spread)),
				f.median > g.final)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", g.workload, g.variant, text(g.first), text(g.final), result)
	}
	if r.script != nil {
		b.WriteString(r.script.row() + "\n")
	}
	b.WriteString("\n")
}

func (w *workload) spreadText(g goal, spread float64) string {
	if w.added && g.against == "" {
		return duration(spread)
	}
	return fmt.Sprintf("%.2f", spread)
}

// bold emphasises what is worse than its goal.
func bold(text string, bad bool) string {
	if bad {
		return "**" + text + "**"
	}
	return text
}
