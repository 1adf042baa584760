package view

import (
	"fmt"
	"io"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// Rise writes what live bytes were at the beginning of a range, by how much groups changed them, and what they were at
// the end: the lines add up.
func Rise(w io.Writer, s *query.Source, r *query.Rise, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&r.Answer)
	number := 11
	if o.Exact {
		number = 20
	}
	level := func(bytes uint64, after int64) {
		when := "after " + a.duration(after)
		if after <= 0 {
			when = "at the start"
		}
		a.printf("%s  %s\n", a.bold(padLeft(a.size(bytes), number)), a.faint("live "+when))
	}
	level(r.Begin, r.Answer.Begin)
	room := max(a.leastName(), a.Width-number-shareWidth-2)
	opened := map[uint32][]int{}
	if len(r.Rows) > 0 && r.Rows[0].By == query.ByStack {
		opened = a.distinguish(len(r.Rows), func(i int) uint32 { return r.Rows[i].Stack }, chainText(room))
	}
	all := int64(r.End - r.Begin)
	for i := range r.Rows {
		x := &r.Rows[i]
		a.printf("%s%s  %s\n", padLeft(a.change(x.Bytes), number), padLeft(shareOfChange(x.Bytes, all), shareWidth),
			a.groupName(&x.Group, room, opened[x.Stack]...))
	}
	if n := r.Others.Groups; n > 0 {
		text := humanize.Plural(uint64(n), "other")
		if r.Others.Grown > 0 && r.Others.Shrunk > 0 {
			text += fmt.Sprintf(": %s, %s", a.change(int64(r.Others.Grown)), a.change(-int64(r.Others.Shrunk)))
		}
		a.printf("%s%s  %s\n", padLeft(a.change(r.Others.Bytes()), number),
			padLeft(shareOfChange(r.Others.Bytes(), all), shareWidth), a.faint(text))
	}
	level(r.End, r.Answer.Begin+r.Answer.Span)
	a.names()
	return a.Flush()
}

// change formats a difference of bytes with its sign.
func (a *answerText) change(bytes int64) string {
	switch {
	case bytes < 0:
		return "-" + a.size(uint64(-bytes))
	case bytes > 0:
		return "+" + a.size(uint64(bytes))
	}
	return a.size(0)
}

// shareOfChange is the share of a change in all of it; "" if they have different directions.
func shareOfChange(part, all int64) string {
	if part == 0 || all == 0 || (part < 0) != (all < 0) {
		return ""
	}
	if part < 0 {
		part, all = -part, -all
	}
	return humanize.Percent(uint64(part), uint64(all))
}
