package main

import (
	"fmt"
	"math"
	"runtime"
	"strings"
)

const intro = `# Sampled mode beside exact mode

Written by ` + "`make test-programs`" +
	`; do not edit. On average, the estimates of sampled mode should equal the truth, and
the reported standard errors should be those of the estimates. Here each program runs %d times in exact mode, which
gives the true values of each call stack, and %d times in sampled mode, without address space randomization. Two call
stacks are the same if all their frames are, by module and offset. A call stack is judged if it has at least %d
samples on average and a standard error of more than %.0f %% (otherwise nearly all of its allocations are samples).

- *off*: the distance of the mean estimate, summed over these call stacks, from the truth, in standard errors. It must
  be at most %d. The standard errors here are not those that heaptap reports. They follow from the sizes of the
  allocations in exact mode: a block of n bytes has the probability p = 1 - exp(-n / mean), and adds (1 - p) / p to
  the variance of allocations, and n² (1 - p) / p to that of bytes.
- *one by one*: the same for each call stack: the root mean square, which should be near 1; *largest*: the largest.
- *cover*: the share of the intervals (estimate ± 1.96 reported standard errors; one for each call stack and run) that
  contain the truth. It must be between 93 and 97 %% for all programs together. A single program with few call stacks
  may be outside: if the sizes of a call stack's allocations differ much, a few small ones cause most of the error,
  and if none of these is sampled, the reported error is too small.
- *unsteady*: call stacks that differed between exact runs, because the program did. The truth is then the mean of the
  exact runs, and their variance is part of the standard error. Differences of steady call stacks come from sampling
  alone.

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
