package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// of returns the medians of a workload in a variant; ok is false if it was not measured, or never ended well.
func (r *results) of(w *workload, variant string) (m sample, ok bool) {
	var good []sample
	for _, s := range r.samples[w.name][variant] {
		if s.failed == "" {
			good = append(good, s)
		} else {
			m.failed = s.failed
		}
	}
	if len(good) == 0 {
		return m, false
	}
	pick := func(f func(sample) float64) float64 {
		v := make([]float64, len(good))
		for i, s := range good {
			v[i] = f(s)
		}
		return median(v)
	}
	m.cpuNs = pick(func(s sample) float64 { return s.cpuNs })
	m.wall = pick(func(s sample) float64 { return s.wall })
	m.complete = pick(func(s sample) float64 { return s.complete })
	m.pairs = good[0].pairs
	m.beside = pick(func(s sample) float64 { return s.beside })
	m.bytes = pick(func(s sample) float64 { return s.bytes })
	m.events = pick(func(s sample) float64 { return s.events })
	return m, true
}

// perPair is the CPU ns per pair, or over all.
func (s sample) perPair() float64 {
	if s.pairs == 0 {
		return s.cpuNs
	}
	return s.cpuNs / s.pairs
}

// added returns the ns per pair over the shim (synthetic), or the CPU against bare.
func (r *results) added(w *workload, variant string) (float64, string, bool) {
	m, ok := r.of(w, variant)
	base := "bare"
	if w.pairs > 0 {
		base = "shim"
	}
	z, okBase := r.of(w, base)
	switch {
	case m.failed != "" && !ok:
		return 0, m.failed, false
	case !ok || !okBase:
		return 0, "-", false
	case w.pairs > 0:
		a := m.perPair() - z.perPair()
		return a, fmt.Sprintf("%+.1f ns", a), true
	}
	a := m.cpuNs / z.cpuNs
	return a, fmt.Sprintf("%.2fx", a), true
}

// short is a cell of the progress line.
func (r *results) short(w *workload, variant string) string {
	if variant == "bare" || variant == "shim" && w.pairs > 0 {
		m, ok := r.of(w, variant)
		switch {
		case !ok:
			return "-"
		case w.pairs > 0:
			return fmt.Sprintf("%.1f ns", m.perPair())
		}
		return fmt.Sprintf("%.2f s", m.cpuNs/1e9)
	}
	_, s, _ := r.added(w, variant)
	return s
}

func (r *results) page() string {
	var b strings.Builder
	b.WriteString(`# What heaptap costs

Written by ` + "`make bench`" + `; do not edit. Each workload ran in all variants, in turn; the numbers are medians. *bare* is the
program alone, *shim* a preloaded library that only forwards, *heaptap* is ` + "`heaptap run`" + `, *heaptrack* Debian's with its
interpreter and compressor (` + "`heaptrack PROGRAM`" + `), *heaptrack -r* without the interpreter. The cost is the target's own CPU
time (user and system); what works beside it has columns of its own.

`)
	fmt.Fprintf(&b, "Machine: %s, %d cores, Linux %s.\n\n", cpuName(), runtime.NumCPU(), kernel())
	r.costs(&b)
	r.recording(&b)
	r.walls(&b)
	r.anatomy(&b)
	if r.large != nil {
		r.large.table(&b)
	}
	if len(r.gobench) > 0 {
		b.WriteString("\n## Parts of the recorder (Go benchmarks, one core)\n\nTraces: spools of the workloads above, recorded without a recorder, to recordings on disk: order, ledger, statistics, columns, compression, writing, and all else but the search for functions' names. Goal: 12 million events per second on each.\n\n| package | benchmark | result |\n|---|---|---|\n")
		for _, g := range r.gobench {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", g.pkg, g.name, g.values)
		}
	}
	for _, m := range r.missing {
		fmt.Fprintf(&b, "\nNot measured here: %s.\n", m)
	}
	return b.String()
}

// costs is the table of what the target pays.
func (r *results) costs(b *strings.Builder) {
	b.WriteString("## The target's CPU time\n\nSynthetic: CPU ns per pair of malloc and free, and what is added to the shim's. Real programs: CPU time against bare.\n\n")
	b.WriteString("| workload | bare | shim | heaptap | goal | heaptrack | heaptrack -r | heaptrack / heaptap |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for i := range r.workloads {
		w := &r.workloads[i]
		ours, text, ok := r.added(w, "heaptap")
		target, good := "", true
		switch {
		case w.goal.addedNs > 0:
			target, good = fmt.Sprintf("+%.0f ns", w.goal.addedNs), ours <= w.goal.addedNs
		case w.goal.ratio > 0:
			target, good = fmt.Sprintf("%.2fx", w.goal.ratio), ours <= w.goal.ratio
		}
		if w.name == "W1 on 2 threads" {
			target, good = r.scaling(w)
		}
		if ok && !good {
			text = "**" + text + "**"
		}
		theirs, theirText, okTheirs := r.added(w, "heaptrack")
		_, raw, _ := r.added(w, "heaptrack -r")
		against := "-"
		if ok && okTheirs && w.pairs > 0 && ours > 0 {
			against = fmt.Sprintf("%.1fx", theirs/ours)
		} else if ok && okTheirs && w.pairs == 0 && ours > 1 {
			against = fmt.Sprintf("%.1fx", (theirs-1)/(ours-1))
		}
		shim := r.short(w, "shim")
		fmt.Fprintf(b, "| %s: %s | %s | %s | %s | %s | %s | %s | %s |\n", w.name, w.what, r.short(w, "bare"), shim, text, target,
			theirText, raw, against)
	}
	b.WriteString("\nIn bold: worse than its goal. The last column compares what is added (for real programs: to the bare run).\n")
}

// scaling says how the cost per event on two threads compares with one thread.
func (r *results) scaling(two *workload) (string, bool) {
	for i := range r.workloads {
		if one := &r.workloads[i]; one.name == "W1" {
			a, ok1 := r.of(one, "heaptap")
			b, ok2 := r.of(two, "heaptap")
			if ok1 && ok2 {
				x := b.perPair() / a.perPair()
				return fmt.Sprintf("%.2fx of W1's CPU per pair, goal 1.5x", x), x <= 1.5
			}
		}
	}
	return "1.5x of W1's CPU per pair", true
}

// recording is the table of what is written and what the recorder costs.
func (r *results) recording(b *strings.Builder) {
	b.WriteString("\n## Recorder and recording\n\nCPU beside: all CPU time used outside the target, per event: launcher, recorder, symbols, compression (heaptrack: interpreter and compressor). Bytes per event: the file divided by allocations + deallocations (heaptrack: by the events that heaptap counted, per the same work).\n\n")
	b.WriteString("| workload | events | CPU beside | million events per second of it | recording | bytes per event | goal | heaptrack's CPU beside | its bytes per event | report opens in |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for i := range r.workloads {
		w := &r.workloads[i]
		m, ok := r.of(w, "heaptap")
		if !ok || m.events == 0 {
			fmt.Fprintf(b, "| %s | %s | | | | | | | | |\n", w.name, m.failed)
			continue
		}
		target := "-"
		if w.goal.bytes > 0 {
			target = fmt.Sprintf("%.0f", w.goal.bytes)
		}
		per := fmt.Sprintf("%.3f", m.bytes/m.events)
		if w.goal.bytes > 0 && m.bytes/m.events > w.goal.bytes {
			per = "**" + per + "**"
		}
		theirs, theirBytes := "-", "-"
		if h, ok := r.of(w, "heaptrack"); ok {
			events := m.events
			if w.pairs > 0 {
				events *= h.pairs / m.pairs
			}
			theirs = fmt.Sprintf("%.2f s (%.0f ns)", h.beside, h.beside/events*1e9)
			theirBytes = fmt.Sprintf("%.3f", h.bytes/events)
		}
		fmt.Fprintf(b, "| %s | %.2fM | %.2f s (%.0f ns) | %.1f | %.0f KB | %s | %s | %s | %s | %.0f ms |\n", w.name, m.events/1e6, m.beside,
			m.beside/m.events*1e9, m.events/1e6/m.beside, m.bytes/1e3, per, target, theirs, theirBytes, r.opens[w.name]*1e3)
	}
}

// walls is the table of wall times.
func (r *results) walls(b *strings.Builder) {
	b.WriteString("\n## Wall time\n\nThe target's own, and until the recording is complete (rivals: a tenth of the synthetic work).\n\n| workload |")
	for _, v := range r.variants {
		b.WriteString(" " + v.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(r.variants)) + "\n")
	for i := range r.workloads {
		w := &r.workloads[i]
		fmt.Fprintf(b, "| %s |", w.name)
		for _, v := range r.variants {
			m, ok := r.of(w, v.name)
			switch {
			case !ok && m.failed != "":
				b.WriteString(" " + m.failed + " |")
			case !ok:
				b.WriteString(" - |")
			case v.name == "bare" || v.name == "shim":
				fmt.Fprintf(b, " %.2f s |", m.wall)
			default:
				fmt.Fprintf(b, " %.2f s, complete %.2f s |", m.wall, m.complete)
			}
		}
		b.WriteString("\n")
	}
}

func cpuName() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for _, line := range strings.Split(string(text), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func kernel() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(text))
}
