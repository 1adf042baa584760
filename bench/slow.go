package main

import (
	"fmt"
	"strings"
)

// The section on slow rivals. A separate run measures it; all other runs keep it.
const slowHeading = "## Slow rivals\n"

const slowUnmeasured = slowHeading + "\nNot measured yet: `make bench-rivals`.\n\n"

// slowSection returns the section that a run of the slow rivals writes.
func (r *results) slowSection(out string) string {
	var b strings.Builder
	b.WriteString(slowHeading + "\nWritten by `make bench-rivals`: profilers that take more than ten times the " +
		"program's time where it does little but allocate. Each ran once, on a tenth of the input (cc1plus: a small " +
		"file), beside heaptap's exact mode. Units as above; gperftools and jemalloc are compared with their " +
		"allocators without a profiler.\n\n")
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
