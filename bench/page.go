package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

var pageIntro = strings.ReplaceAll(`# What heaptap costs

Written by ~make bench~; ~make bench-rivals~ writes the section on slow rivals, ~make bench-big~ that on a big
recording, ~make bench-short~ that on short processes, ~make bench-all~ that on the costs in all,
~make bench-stages~ that on the recorder's stages, ~make bench-ui~ that on the web app. Do not edit. Each workload
ran in all variants, in turn, again and again; the numbers are medians. What a variant adds is the median of the
differences run by run. The cost is the target's own CPU time (user and system); other processes have tables of their
own.

`, "~", "`")

// page returns the whole page. It takes the sections of other runs as they are.
func (r *results) page(out, slow, big, short string) string {
	var b strings.Builder
	b.WriteString(pageIntro)
	fmt.Fprintf(&b, "Machine: %s.\n\n", machine())
	show(&b, out, r.pictures())
	r.goalTable(&b)
	b.WriteString("## The target's CPU time\n\n")
	r.costs(&b)
	b.WriteString("Loops: CPU time per pair of malloc and free, threads: per thread; what is added (+) to the " +
		"shim's. Programs: CPU time against the bare run; redis: per request. jemalloc's profiler is compared with " +
		"jemalloc without it. heaptrack does a tenth of the loops.\n\n")
	r.against(&b)
	r.names(&b)
	r.scaling(&b)
	b.WriteString(slow)
	r.recording(&b)
	b.WriteString("\n" + strings.TrimSuffix(big, "\n"))
	r.walls(&b)
	if r.script != nil {
		short = r.script.section()
	}
	b.WriteString("\n" + strings.TrimSuffix(short, "\n"))
	r.anatomy(&b)
	if r.large != nil {
		r.large.table(&b)
	}
	r.benchmarks(&b)
	r.notMeasured(&b)
	return b.String()
}

func machine() string {
	return fmt.Sprintf("%s, %d cores, Linux %s", cpuName(), runtime.NumCPU(), kernel())
}

func (r *results) notMeasured(b *strings.Builder) {
	for _, m := range r.missing {
		fmt.Fprintf(b, "\nNot measured here: %s.\n", m)
	}
}

func (r *results) benchmarks(b *strings.Builder) {
	if len(r.gobench) == 0 {
		return
	}
	b.WriteString("\n## Parts of the recorder (Go benchmarks, one core)\n\nTraces: spools of the workloads above, " +
		"recorded without a recorder, to recordings on disk: order, ledger, statistics, columns, compression, " +
		"writing, and all else but the search for functions' names. Goal: 12 million events per second on each.\n\n| " +
		"package | benchmark | result |\n|---|---|---|\n")
	for _, g := range r.gobench {
		fmt.Fprintf(b, "| %s | %s | %s |\n", g.pkg, g.name, g.values)
	}
}

// recording writes the table of the recordings' sizes and the recorder's costs.
func (r *results) recording(b *strings.Builder) {
	b.WriteString("## Recorder and recording\n\nExact mode. CPU beside: all CPU time used outside the target, per " +
		"event: launcher, recorder, symbols, compression (heaptrack: interpreter and compressor). Bytes per event: " +
		"the file divided by allocations + deallocations (heaptrack: by the events that heaptap counted, per the " +
		"same work).\n\n")
	b.WriteString("| workload | events | CPU beside | million events per second of it | recording | bytes per event " +
		"| goal | heaptrack's CPU beside | its bytes per event | report opens in " +
		"|\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for i := range r.workloads {
		w := &r.workloads[i]
		m, ok := r.of(w, exact)
		if !ok || m.events == 0 {
			fmt.Fprintf(b, "| %s | %s | | | | | | | | |\n", w.name, m.failed)
			continue
		}
		target, per := "-", fmt.Sprintf("%.3f", m.bytes/m.events)
		if w.bytes > 0 {
			target = fmt.Sprintf("%.0f", w.bytes)
			if m.bytes/m.events > w.bytes {
				per = "**" + per + "**"
			}
		}
		theirs, theirBytes := "-", "-"
		if h, ok := r.of(w, heaptrackName); ok {
			events := m.events * h.units / m.units
			theirs = fmt.Sprintf("%.2f s (%.0f ns)", h.beside, h.beside/events*1e9)
			theirBytes = fmt.Sprintf("%.3f", h.bytes/events)
		}
		fmt.Fprintf(b, "| %s | %.2fM | %.2f s (%.0f ns) | %.1f | %.0f KB | %s | %s | %s | %s | %.0f ms |\n", w.name,
			m.events/1e6, m.beside, m.beside/m.events*1e9, m.events/1e6/m.beside, m.bytes/1e3, per, target, theirs,
			theirBytes, r.opens[w.name]*1e3)
	}
}

// walls writes the table of wall times.
func (r *results) walls(b *strings.Builder) {
	var shown []*variant
	for _, name := range []string{bare, shim, exact, sampled, heaptrackName, heaptrackRaw} {
		if v := r.variant(name); v != nil {
			shown = append(shown, v)
		}
	}
	b.WriteString("\n## Wall time\n\nThe target's own, and until the recording is complete (heaptrack: a tenth of " +
		"the loops).\n\n| workload |")
	for _, v := range shown {
		b.WriteString(" " + v.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(shown)) + "\n")
	for i := range r.workloads {
		w := &r.workloads[i]
		fmt.Fprintf(b, "| %s |", w.name)
		for _, v := range shown {
			m, ok := r.of(w, v.name)
			switch {
			case !ok && m.failed != "":
				b.WriteString(" " + m.failed + " |")
			case !ok:
				b.WriteString(" - |")
			case v.class == baseline:
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
