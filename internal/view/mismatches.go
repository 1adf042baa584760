package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// mismatches lists allocations and deallocations that do not belong together, at most so many.
func (r *report) mismatches(most int) {
	list := r.p.Mismatches
	if len(list) == 0 || r.Top < 0 || r.Selection != nil {
		return
	}
	r.printf("%s  %s\n", r.title("MISMATCHED DEALLOCATIONS"), r.faint("of "+humanize.Plural(mismatched(list), "block")))
	most = min(most, len(list))
	for i := range list[:most] {
		r.mismatch(&list[i])
	}
	if n := len(list) - most; n > 0 {
		r.printf("  %s\n", r.faint(fmt.Sprintf("and %s: heaptap mismatches", humanize.Plural(uint64(n), "more pair"))))
	}
	r.printf("\n")
}

// mismatched is how many blocks were freed wrongly.
func mismatched(list []event.Pair) (n uint64) {
	for i := range list {
		n += list[i].Count
	}
	return n
}

// mismatch writes a pair: what was done, then both call stacks.
func (r *report) mismatch(x *event.Pair) {
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
func (r *report) labelled(label string, lines []string) {
	for _, line := range lines {
		r.printf("%s%s\n", r.faint(padRight(padLeft(label, gutter-2), gutter)), strings.TrimRight(line, " "))
		label = ""
	}
}

// mismatchText says in one line what does not belong together. Sizes are in full: small differences matter here.
func mismatchText(x *event.Pair) string {
	what := fmt.Sprintf("%s / %s", x.Alloc, x.Free)
	switch {
	case x.Mismatch&event.MismatchSize != 0:
		return fmt.Sprintf("%s: %s freed as %s", what, humanize.Plural(x.Size, "byte"), humanize.Plural(x.FreeSize, "byte"))
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
	a.printf("%s\n", a.bold(command(a.p, a.report.Width)))
	a.printf("%s\n\n", a.faint(fmt.Sprintf("%s, %s", humanize.Plural(mismatched(a.p.Mismatches), "mismatched deallocation"),
		humanize.Plural(uint64(len(a.p.Mismatches)), "different pair"))))
	a.incomplete(&query.Answer{})
	if text := notJudged(a.p); text != "" {
		a.printf("  %s\n\n", a.faint("not judged: "+text))
	}
	list, left := page(&a.QueryOptions, a.p.Mismatches)
	for i := range list {
		a.mismatch(&list[i])
		a.printf("\n")
	}
	a.more(left)
	return a.Flush()
}

// notJudged says which deallocations nobody can say of whether they belong to the function that allocated the block; "" if there are none.
func notJudged(p *profile.Profile) string {
	if n := p.Totals.Inherited; n > 0 {
		return humanize.Plural(n, "deallocation") + " of blocks of the parent process"
	}
	return ""
}

type jsonMismatch struct {
	Count        uint64       `json:"count"`
	Mismatch     []string     `json:"mismatch"`
	TimeNS       int64        `json:"time_ns"`
	Thread       uint32       `json:"thread"`
	Allocation   jsonHalfPair `json:"allocation"`
	Deallocation jsonHalfPair `json:"deallocation"`
}

// jsonHalfPair is one side of a pair. Of a deallocation, size and alignment are what it was told.
type jsonHalfPair struct {
	Function  string      `json:"function"`
	Size      *uint64     `json:"size"`
	Alignment *uint64     `json:"alignment"`
	Stack     uint32      `json:"stack"`
	Frames    []jsonFrame `json:"frames"`
}

var mismatchNames = []struct {
	bit  event.Mismatch
	name string
}{{event.MismatchFunction, "function"}, {event.MismatchSize, "size"}, {event.MismatchAlignment, "alignment"}}

func jsonMismatchesOf(p *profile.Profile, pairs []event.Pair) []jsonMismatch {
	list := []jsonMismatch{}
	for i := range pairs {
		x := &pairs[i]
		j := jsonMismatch{Count: x.Count, TimeNS: x.Time, Thread: x.Thread,
			Allocation: jsonHalfPair{Function: x.Alloc.String(), Size: &x.Size}, Deallocation: jsonHalfPair{Function: x.Free.String()}}
		for _, m := range mismatchNames {
			if x.Mismatch&m.bit != 0 {
				j.Mismatch = append(j.Mismatch, m.name)
			}
		}
		if x.Align != 0 {
			j.Allocation.Alignment = &x.Align
		}
		if x.Free.Sized() {
			j.Deallocation.Size = &x.FreeSize
		}
		if x.FreeAlign != 0 {
			j.Deallocation.Alignment = &x.FreeAlign
		}
		j.Allocation.Stack, j.Allocation.Frames = x.Stack, jsonFramesOf(p, x.Stack)
		j.Deallocation.Stack, j.Deallocation.Frames = x.FreeStack, jsonFramesOf(p, x.FreeStack)
		list = append(list, j)
	}
	return list
}

func jsonFramesOf(p *profile.Profile, stack uint32) []jsonFrame {
	frames := []jsonFrame{}
	for _, f := range p.AppendFrames(nil, stack) {
		frames = append(frames, jsonFrameOf(&f))
	}
	return frames
}

// MismatchesJSON writes the same as one JSON object.
func MismatchesJSON(w io.Writer, s *query.Source, o QueryOptions) error {
	list, left := page(&o, slices.Clip(s.Profile.Mismatches))
	return writeJSON(w, &struct {
		FormatVersion int            `json:"format_version"`
		Recording     jsonRecording  `json:"recording"`
		Blocks        uint64         `json:"blocks"`
		NotJudged     uint64         `json:"not_judged"`
		Mismatches    []jsonMismatch `json:"mismatches"`
		More          int            `json:"more"`
	}{JSONVersion, jsonHead(s.Profile).Recording, mismatched(s.Profile.Mismatches), s.Profile.Totals.Inherited, jsonMismatchesOf(s.Profile, list), left})
}
