package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// mismatches lists at most so many pairs of allocations and deallocations that do not belong together.
func (r *report) mismatches(most int) {
	list := r.p.Mismatches
	if len(list) == 0 || r.Top < 0 || r.Selection != nil {
		return
	}
	r.printf("%s  %s\n", r.title("MISMATCHED DEALLOCATIONS"),
		r.faint("of "+humanize.Plural(r.p.MismatchedBlocks(), "block")))
	most = min(most, len(list))
	for i := range list[:most] {
		r.mismatch(&list[i])
	}
	if n := len(list) - most; n > 0 {
		r.printf("  %s\n", r.faint(fmt.Sprintf("and %s: heaptap mismatches", humanize.Plural(uint64(n), "more pair"))))
	}
	r.printf("\n")
}

// mismatch writes a pair: the calls, then both call stacks.
func (r *renderer) mismatch(x *event.Pair) {
	times := ""
	if x.Count > 1 {
		times = r.faint(fmt.Sprintf("   %s times; first at %s", r.short(x.Count), r.duration(x.Time)))
	}
	r.printf("  %s%s\n", r.bold(mismatchText(x)), times)
	r.labelled("allocated by", r.frames(x.Stack))
	freed := []string{r.faint("(not recorded: heaptap run --free-stacks)")}
	if x.FreeStack != 0 {
		freed = r.frames(x.FreeStack)
	}
	r.labelled("freed by", freed)
}

// labelled writes lines with a label at the left of the first one.
func (r *renderer) labelled(label string, lines []string) {
	for _, line := range lines {
		r.printf("%s%s\n", r.faint(padRight(padLeft(label, gutter-2), gutter)), strings.TrimRight(line, " "))
		label = ""
	}
}

// mismatchText returns one line on what does not belong together. Sizes are exact: small differences matter here.
func mismatchText(x *event.Pair) string {
	what := fmt.Sprintf("%s / %s", x.Alloc, x.Free)
	switch {
	case x.Mismatch&event.MismatchSize != 0:
		return fmt.Sprintf("%s: %s freed as %s", what, humanize.Plural(x.Size, "byte"),
			humanize.Plural(x.FreeSize, "byte"))
	case x.Mismatch&event.MismatchAlignment != 0:
		return fmt.Sprintf("%s: %s freed as %s", what, alignment(x.Align), alignment(x.FreeAlign))
	}
	return fmt.Sprintf("%s of %s", what, humanize.Plural(x.Size, "byte"))
}

func alignment(n uint64) string {
	if n == 0 {
		return "no alignment"
	}
	return fmt.Sprintf("alignment %d", n)
}

// Mismatches writes the allocations and deallocations that do not belong together, both with their call stacks.
func Mismatches(w io.Writer, s *query.Source, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.printf("%s\n", a.bold(command(a.p, a.Width)))
	a.printf("%s\n\n", a.faint(fmt.Sprintf("%s, %s", humanize.Plural(a.p.MismatchedBlocks(), "mismatched deallocation"),
		humanize.Plural(uint64(len(a.p.Mismatches)), "different pair"))))
	a.incomplete(&query.Answer{})
	if text := notJudged(a.p); text != "" {
		a.printf("  %s\n\n", a.faint("not judged: "+text))
	}
	list, left := answer.Cut(a.Page, a.p.Mismatches)
	for i := range list {
		a.mismatch(&list[i])
		a.printf("\n")
	}
	a.more(left)
	return a.Flush()
}

// notJudged returns which deallocations could not be checked against the function that allocated the block; "" if
// there are none.
func notJudged(p *profile.Profile) string {
	if n := p.Totals.Inherited; n > 0 {
		return humanize.Plural(n, "deallocation") + " of blocks of the parent process"
	}
	return ""
}

// freeStacks reports whether the recording has the call stacks of unmatched deallocations.
func freeStacks(p *profile.Profile) bool {
	return slices.ContainsFunc(p.Unmatched, func(u profile.Unmatched) bool { return u.Stack != 0 })
}

// unmatched lists the deallocations that ended no block, if their call stacks are known.
func (r *report) unmatched() {
	total := r.p.Totals.Unmatched
	if r.Top < 0 || !freeStacks(r.p) {
		return
	}
	r.printf("%s  %s\n", r.title("UNMATCHED DEALLOCATIONS"), r.faint("of "+humanize.Number(total)))
	shown := r.p.Unmatched[:min(len(r.p.Unmatched), max(r.Top, 1))]
	opened := r.distinguish(len(shown), func(i int) uint32 { return shown[i].Stack }, frameText)
	for _, u := range shown {
		r.columns(r.short(u.Count), humanize.Percent(u.Count, total),
			[]string{funcname.Middle(u.Func.String(), gutter-2)}, u.Stack, opened[u.Stack]...)
	}
	if n := len(r.p.Unmatched) - r.Top; n > 0 {
		r.printf("  %s\n", r.faint("and "+humanize.Plural(uint64(n), "more call stack")))
	}
	r.printf("\n")
}
