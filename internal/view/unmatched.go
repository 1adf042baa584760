package view

import (
	"slices"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
)

// freeStacks says whether the recording tells where the deallocations were made that ended no block.
func freeStacks(p *profile.Profile) bool {
	return slices.ContainsFunc(p.Unmatched, func(u profile.Unmatched) bool { return u.Stack != 0 })
}

// unmatched lists the deallocations that ended no block, if it is known where they were made.
func (r *report) unmatched() {
	total := r.p.Totals.Unmatched
	if r.Top < 0 || !freeStacks(r.p) {
		return
	}
	r.printf("%s  %s\n", r.title("UNMATCHED DEALLOCATIONS"), r.faint("of "+humanize.Number(total)))
	for _, u := range r.p.Unmatched[:min(len(r.p.Unmatched), max(r.Top, 1))] {
		r.columns(r.short(u.Count), humanize.Percent(u.Count, total), []string{middle(u.Func.String(), gutter-2)},
			u.Stack)
	}
	if n := len(r.p.Unmatched) - r.Top; n > 0 {
		r.printf("  %s\n", r.faint("and "+humanize.Plural(uint64(n), "more call stack")))
	}
	r.printf("\n")
}
