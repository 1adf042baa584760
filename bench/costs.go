package main

import (
	"fmt"
	"strings"
)

// costs writes the table of the target's costs: a row for each workload, a column for each variant.
func (r *results) costs(b *strings.Builder) {
	b.WriteString("| workload |")
	for _, v := range r.variants {
		b.WriteString(" " + v.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(r.variants)) + "\n")
	for i := range r.workloads {
		w := &r.workloads[i]
		fmt.Fprintf(b, "| %s |", w.name)
		for k := range r.variants {
			fmt.Fprintf(b, " %s |", r.cell(w, &r.variants[k]))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// names writes the legend of the table of costs.
func (r *results) names(b *strings.Builder) {
	for _, v := range r.variants {
		fmt.Fprintf(b, "- *%s*: %s\n", v.name, v.what)
	}
	b.WriteString("\n")
	for _, w := range r.workloads {
		fmt.Fprintf(b, "- **%s**: %s\n", w.name, w.what)
	}
	b.WriteString("\n")
}

// scaling writes the table of how threads slow each other down.
func (r *results) scaling(b *strings.Builder) {
	list := r.threaded()
	if len(list) < 2 {
		return
	}
	b.WriteString("### Threads\n\nThe CPU time per pair against that on one thread, in the same variant: 1.00x if " +
		"threads do not hinder each other.\n\n| variant |")
	for _, w := range list {
		b.WriteString(" " + threadsText(w.threads) + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(list)) + "\n")
	for _, v := range r.variants {
		one, ok := r.of(list[0], v.name)
		if !ok {
			continue
		}
		fmt.Fprintf(b, "| %s | %s |", v.name, duration(one.perUnit()))
		for _, w := range list[1:] {
			against := paired(r.samples[w.name][v.name], r.samples[list[0].name][v.name],
				func(a, base float64) float64 { return a / base })
			if len(against) == 0 {
				b.WriteString(" - |")
				continue
			}
			fmt.Fprintf(b, " %.2fx |", median(against))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// against writes how many times as much heaptrack adds as heaptap does; for whole programs, in addition to the bare
// run.
func (r *results) against(b *strings.Builder) {
	theirs, mine := r.variant(heaptrackName), r.variant(exact)
	if theirs == nil {
		return
	}
	var list []string
	for i := range r.workloads {
		w := &r.workloads[i]
		t, ok := r.cost(w, theirs)
		m, okMine := r.cost(w, mine)
		none := 0.0
		if !w.added {
			none = 1
		}
		if ok && okMine && m.median > none && t.median > none {
			list = append(list, fmt.Sprintf("%s %.1fx", w.name, (t.median-none)/(m.median-none)))
		}
	}
	if len(list) > 0 {
		fmt.Fprintf(b, "What heaptrack adds against what heaptap's exact mode adds: %s.\n\n", strings.Join(list, ", "))
	}
}
