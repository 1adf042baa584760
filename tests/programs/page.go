package programs

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
)

// Page renders results as docs/test-programs.md.
func Page(results []*Result, missing []string) string {
	var b strings.Builder
	b.WriteString(`# Programs that heaptap is tested with

Written by ` + "`make test-programs`" + `; do not edit. Each program runs without heaptap and under ` +
		"`heaptap run`" + `, with an
independent counting library (tests/count) chained behind the agent **in the same run**. What must hold:

- for every process, allocations, deallocations, bytes, failed calls, reallocations, temporary allocations, leaked
  bytes and blocks, and the peak in bytes and blocks equal those of the counting library (with several threads, the
  two may see simultaneous events in another order; the peaks then agree within 0.5 % + 4 KiB);
- unmatched deallocations, lost events and truncated stacks are 0 (node: at most one stack in a thousand is truncated,
  in V8's generated code, which has no call frame information); live at peak and leaked, summed over the stacks, equal
  the totals;
- the first seven programs know their own numbers, and find them below their own functions;
- standard output, output files and exit status are those of a run without heaptap.

`)
	fmt.Fprintf(&b, "Machine: %s, %d cores, %s.\n\n", runtime.GOARCH, runtime.NumCPU(), libc())
	b.WriteString("| program | process | allocations | deallocations | bytes | failed | leaked bytes | peak bytes | " +
		"unmatched | lost | truncated | equal to the judge |\n")
	b.WriteString("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n")
	for _, r := range results {
		failed := r.Failed()
		verdict := "yes"
		if len(failed) > 0 {
			verdict = fmt.Sprintf("**%d of %d checks fail**", len(failed), len(r.Checks))
		}
		if len(r.Rows) == 0 {
			fmt.Fprintf(&b, "| %s | | | | | | | | | | | %s |\n", r.Case.Name, verdict)
		}
		for i, row := range r.Rows {
			name, v := "", ""
			if i == 0 {
				name, v = r.Case.Name, verdict
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %d | %d | %d | %s |\n", name, row.Name,
				digits(row.Allocations), digits(row.Deallocations), digits(row.Bytes), digits(row.Failed),
				digits(row.LeakedBytes), digits(row.PeakBytes), row.Unmatched, row.Lost, row.Truncated, v)
		}
	}
	for _, m := range missing {
		fmt.Fprintf(&b, "| %s | not installed on this machine | | | | | | | | | | |\n", m)
	}
	b.WriteString("\n| program | checks | wall time without heaptap | until the recording was complete, with heaptap " +
		"and the judge | recordings |\n|---|--:|--:|--:|--:|\n")
	for _, r := range results {
		var size int64
		for _, row := range r.Rows {
			size += row.Size
		}
		fmt.Fprintf(&b, "| %s | %d | %.2f s | %.2f s | %s bytes |\n", r.Case.Name, len(r.Checks), r.Bare.Seconds(),
			r.Recorded.Seconds(), digits(uint64(size)))
	}
	for _, r := range results {
		if failed := r.Failed(); len(failed) > 0 {
			fmt.Fprintf(&b, "\n## %s: what does not hold\n\n", r.Case.Name)
			for _, f := range failed {
				fmt.Fprintf(&b, "- %s: %s, must be %s\n", f.What, f.Got, f.Want)
			}
		}
	}
	return b.String()
}

// digits formats a number with its digits in groups of three.
func digits(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func libc() string {
	out, err := exec.Command("getconf", "GNU_LIBC_VERSION").Output()
	if err != nil {
		return "libc unknown"
	}
	return strings.TrimSpace(string(out))
}
