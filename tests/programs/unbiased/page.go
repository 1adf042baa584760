package main

import (
	"fmt"
	"math"
	"runtime"
	"strings"
)

const intro = `# Sampled mode beside exact mode

Written by ` + "`make test-programs`" + `; do not edit. What sampled mode estimates should be, on average, what is true, and the standard errors that it
tells should be those that its estimates have. Here each program runs %d times in exact mode, which says what is true of each call stack, and %d times in
sampled mode, without address space randomization. Call stacks are the same if all their frames are, by module and address in it. Judged are those
that have at least %d samples on average, and a standard error of more than %.0f %% (of others, the samples are nearly all there is).

- *off*: by how many of its standard errors the mean of the estimates, summed over these call stacks, is away from the truth; must be within %d.
  Standard errors are here not those that heaptap tells but what the sizes of the allocations in exact mode promise:
  a block of n bytes has the probability p = 1 - exp(-n / mean), and adds (1 - p) / p to the variance of allocations, n² (1 - p) / p to that of bytes.
- *one by one*: the same for each call stack, as root of the mean square, which is near 1 if all is right, and the largest.
- *cover*: the share of the intervals, estimate ± 1.96 standard errors as heaptap tells them, one for each call stack and run, in which the truth
  lies; must be within 93 and 97 %% of all programs' together. Of a single program with few call stacks it may be outside: where the sizes of one call stack
  differ much, few of its allocations, of small blocks, make most of the error, and when none of them is chosen it is told too small.
- *unsteady*: call stacks that were not the same in all exact runs. That is the program's doing; the truth is then the mean of the exact runs, and what these
  differ by is part of the standard error. It tells bias from programs that do not do the same twice: of steady call stacks, all differences are sampling's.

`

func page(results []*result, exact, runs int) string {
	var b strings.Builder
	fmt.Fprintf(&b, intro, exact, runs, leastSamples, 100*leastError, farthest)
	b.WriteString("| program | call stacks | one sample per | samples in a run | metric | judged | unsteady | off | " +
		"one by one | largest | intervals | cover |\n")
	b.WriteString("|---|--:|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|\n")
	row := func(program, stacks, mean, samples string, m *metric) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %d | %d | %+.2f | %.2f | %.2f | %d | %.1f %% |\n", program, stacks,
			mean, samples, m.name, m.stacks, m.unsteady, m.off(), math.Sqrt(m.squares/float64(m.stacks)), m.outermost,
			m.intervals, 100*m.covered())
	}
	for _, r := range results {
		row(r.Name+": "+r.What, fmt.Sprint(r.stacks), fmt.Sprintf("%d bytes", r.mean), fmt.Sprintf("%.0f", r.samples),
			&r.metrics[0])
		row("", "", "", "", &r.metrics[1])
	}
	all := pooled(results)
	for m := range all {
		row(map[int]string{0: "all"}[m], "", "", "", &all[m])
	}
	fmt.Fprintf(&b, "\nMachine: %s.\n", runtime.GOARCH)
	return b.String()
}
