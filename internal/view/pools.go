package view

import "fmt"

// pools writes a line for each name of the program's own pools.
func (r *report) pools() {
	if len(r.p.Pools) == 0 || r.Selection != nil {
		return
	}
	r.printf("%s  %s\n", r.title("POOLS"), r.faint("what is in them is in all numbers; the blocks that back them are not"))
	r.printf("%s\n", r.faint(fmt.Sprintf("  %10s %10s %10s %10s %10s %10s  %s", "backing", "at most", "in use",
		"at most", "allocated", "freed", "pool")))
	for i := range r.p.Pools {
		p := &r.p.Pools[i]
		r.printf("  %s %s %s %s %s %s  %s\n", padLeft(r.size(p.Backing), 10), padLeft(r.size(p.PeakBacking), 10),
			padLeft(r.size(p.Live), 10), r.bold(padLeft(r.size(p.PeakLive), 10)), padLeft(r.short(p.Allocations), 10),
			padLeft(r.short(p.Frees), 10), clean(p.Name))
	}
	r.printf("\n")
}
