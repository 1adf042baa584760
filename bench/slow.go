package main

import (
	"fmt"
	"strings"
)

// The section on slow rivals is measured by a run of its own, and kept by the others.
const slowHeading = "## Slow rivals\n"

const slowUnmeasured = slowHeading + "\nNot measured yet: `make bench-rivals`.\n\n"

// slowSection is what a run of the slow rivals writes.
func (r *results) slowSection(out string) string {
	var b strings.Builder
	b.WriteString(slowHeading + "\nWritten by `make bench-rivals`: profilers that take more than ten times the program's time where it does little but allocate. Each ran once, on a tenth of the " +
		"input (cc1plus: a small file), beside heaptap's exact mode. Units as above; gperftools and jemalloc are compared with their allocators without a profiler.\n\n")
	fmt.Fprintf(&b, "Machine: %s.\n\n", machine())
	show(&b, out, r.slowPictures())
	r.costs(&b)
	for _, v := range r.variants {
		fmt.Fprintf(&b, "- *%s*: %s\n", v.name, v.what)
	}
	r.notMeasured(&b)
	b.WriteString("\n")
	return b.String()
}

// findSection returns where a section of a page is: from its heading to the next of the same level.
func findSection(page, heading string) (from, to int, ok bool) {
	from = strings.Index("\n"+page, "\n"+heading)
	if from < 0 {
		return len(page), len(page), false
	}
	to = strings.Index(page[from+len(heading):], "\n## ")
	if to < 0 {
		return from, len(page), true
	}
	return from, from + len(heading) + to + 1, true
}

// keptSlow is the section on slow rivals of a page that there is already.
func keptSlow(page string) string {
	from, to, ok := findSection(page, slowHeading)
	if !ok {
		return slowUnmeasured
	}
	return page[from:to]
}

// withSlow is a page with another section on slow rivals; at its end, if it had none.
func withSlow(page, slow string) string {
	from, to, _ := findSection(page, slowHeading)
	return page[:from] + slow + page[to:]
}
