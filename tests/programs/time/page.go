package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

const intro = `# The metric time beside a profiler

Written by ` + "`make test-programs`" + `; do not edit. ` + "`heaptap top --metric time`" +
	` estimates where a program spends its time
from the gaps between its allocations ([definitions.md](definitions.md#time)). Here each program runs under
` + "`perf record -e cpu-clock --call-graph dwarf`" + ` without heaptap, and under ` + "`heaptap run`" +
	`. The comparison is about functions,
by name and file, that have more than 1 % of the whole in both. perf's share is that of the samples in which the
function is on the stack; heaptap's is that of the function's total. *missed* counts functions with more than 1 % of
the samples but less, or nothing, in heaptap: they, and the functions that they call, allocate little, and their time
counts for the function that allocates next. *of these* leaves out functions that mostly wrap allocators (xmalloc,
sqlite3Malloc, where that calls the allocator itself): their time is the time before their call.

*without heaptap* is the wall time until the program had ended, *with* the length of the recording. *time* is the
metric's total. The agent's own time in each gap is subtracted: what it measured per allocation and per deallocation
in that run.

`

func page(results []*result) string {
	var b strings.Builder
	b.WriteString(intro)
	fmt.Fprintf(&b, "Machine: %s, %d cores.\n\n", runtime.GOARCH, runtime.NumCPU())
	b.WriteString("| program | samples | functions | missed | Spearman | Kendall | of these | Spearman | Kendall | " +
		"events | agent: allocation | deallocation | without heaptap | with | time |\n")
	b.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range results {
		others := slices.DeleteFunc(slices.Clone(r.pairs), func(p pair) bool { return p.allocator })
		fmt.Fprintf(&b, "| %s: %s | %d | %d | %d | %.2f | %.2f | %d | %.2f | %.2f | %.2fM | %.0f ns | %.0f ns | %.2f "+
			"s | %.2f s | %.2f s |\n", r.Name, r.What, r.samples, len(r.pairs), r.missing, spearman(r.pairs),
			kendall(r.pairs), len(others), spearman(others), kendall(others), float64(r.events)/1e6, r.alloc, r.free,
			r.bare, r.recorded, r.total)
	}
	for _, r := range results {
		fmt.Fprintf(&b, "\n## %s\n\nThe functions on which the two differ most, and those with most samples but the "+
			"whole.\n\n", r.Name)
		b.WriteString("| function | file | perf | heaptap |\n|---|---|--:|--:|\n")
		for _, p := range r.notable() {
			fmt.Fprintf(&b, "| %s | %s | %.1f %% | %.1f %% |\n", short(p.name), p.module, 100*p.perf, 100*p.heaptap)
		}
	}
	return b.String()
}

// notable returns the pairs that differ most, and some of the largest, sorted by size.
func (r *result) notable() []pair {
	const each = 8
	list := slices.Clone(r.pairs)
	slices.SortFunc(list, func(a, b pair) int { return compareShares(apart(b), apart(a), a, b) })
	out := list[:min(each, len(list))]
	rest := slices.Clone(list[len(out):])
	slices.SortFunc(rest, func(a, b pair) int { return compareShares(b.perf, a.perf, a, b) })
	rest = slices.DeleteFunc(rest, func(p pair) bool { return p.perf > .9 })
	out = append(slices.Clone(out), rest[:min(each, len(rest))]...)
	slices.SortFunc(out, func(a, b pair) int { return compareShares(b.perf, a.perf, a, b) })
	return out
}

func apart(p pair) float64 { return max(p.perf-p.heaptap, p.heaptap-p.perf) }

func compareShares(x, y float64, a, b pair) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return strings.Compare(a.name, b.name)
}

// short shortens a name to fit into a table.
func short(name string) string {
	name = strings.ReplaceAll(name, "|", "\\|")
	if r := []rune(name); len(r) > 60 {
		name = string(r[:57]) + "..."
	}
	return "`" + name + "`"
}
