package view

import (
	"fmt"
	"io"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// LeakAnswers are what a page on leaks is made of.
type LeakAnswers struct {
	Leaks    *query.Table // by stack, without what is left out
	Left     profile.Leak // what is left out, since the runtime wants it so
	Rules    []query.Suppression
	Suspects []query.Suspect
}

// Leaks writes the stacks whose blocks were never freed, what is suppressed, and whose live bytes kept rising.
func Leaks(w io.Writer, s *query.Source, l *LeakAnswers, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&l.Leaks.Answer)
	var sum, blocks uint64
	for i := range l.Leaks.Rows {
		sum += l.Leaks.Rows[i].Total.LeakedBytes
		blocks += l.Leaks.Rows[i].Total.LeakedBlocks
	}
	a.printf("%s  %s\n", a.title("LEAKED"), a.faint(fmt.Sprintf("%s in %s at %s", a.size(sum), humanize.Plural(blocks, "block"),
		humanize.Plural(uint64(len(l.Leaks.Rows)), "call stack"))))
	rows, left := page(&a.QueryOptions, l.Leaks.Rows)
	for i := range rows {
		v := &rows[i].Total
		noun := " blocks"
		if v.LeakedBlocks == 1 {
			noun = " block"
		}
		notes := []string{a.count(v.LeakedBlocks) + noun}
		if pm := a.pm(query.Leaked, v, l.Leaks.Span); pm != "" {
			notes = append([]string{pm}, notes...)
		}
		if v.Allocations != v.LeakedBlocks {
			notes = append(notes, "of "+a.count(v.Allocations))
		}
		a.columns(a.size(v.LeakedBytes), humanize.Percent(v.LeakedBytes, sum), notes, rows[i].Stack)
	}
	a.more(left)
	a.leftOut(l)
	if len(l.Suspects) > 0 {
		a.printf("\n%s  %s\n", a.title("KEPT GROWING"), a.faint("live bytes that rose steadily over the whole range"))
		list, left := page(&a.QueryOptions, l.Suspects)
		a.printf("%s\n", a.faint(fmt.Sprintf("  %13s %11s %12s %12s", "per second", "steadiness", "began with", "ended with")))
		for i := range list {
			x := &list[i]
			a.printf("  %s %s %s %s  %s\n", a.bold(padLeft(a.size(uint64(x.Slope)), 13)), padLeft(fmt.Sprintf("%.0f %%", 100*x.Confidence), 11),
				padLeft(a.size(x.Begin), 12), padLeft(a.size(x.End), 12), a.groupName(&x.Group, max(nameWidth, a.report.Width-55)))
		}
		a.more(left)
	}
	return a.Flush()
}

// leftOut tells what is not in the list of leaks.
func (a *answer) leftOut(l *LeakAnswers) {
	if l.Left.Blocks > 0 {
		a.printf("  %s\n", a.faint(fmt.Sprintf("besides %s in %s that the runtime keeps: no leak (--runtime)", a.size(l.Left.Bytes),
			humanize.Plural(l.Left.Blocks, "block"))))
	}
	for _, r := range l.Rules {
		if r.Blocks > 0 {
			a.printf("  %s\n", a.faint(fmt.Sprintf("besides %s in %s suppressed by leak:%s", a.size(r.Bytes), humanize.Plural(r.Blocks, "block"),
				clean(r.Pattern))))
		}
	}
}

// Suggestions writes a rule for each leak, each rule once, the largest leaks first.
func Suggestions(w io.Writer, s *query.Source, l *LeakAnswers) error {
	a := newAnswer(w, s, QueryOptions{})
	type sum struct{ bytes, blocks uint64 }
	at := make(map[string]*sum)
	var order []string
	var frames []profile.Frame
	for i := range l.Leaks.Rows {
		r := &l.Leaks.Rows[i]
		frames = a.p.AppendFrames(frames[:0], r.Stack)
		rule := query.Suggest(frames, profile.Library)
		if rule == "" {
			continue
		}
		if at[rule] == nil {
			at[rule] = &sum{}
			order = append(order, rule)
		}
		at[rule].bytes += r.Total.LeakedBytes
		at[rule].blocks += r.Total.LeakedBlocks
	}
	for _, rule := range order {
		note := ""
		if rule == "leak:^main$" {
			note = "; it matches whatever main calls, too"
		}
		a.printf("# %s in %s%s\n%s\n", humanize.Size(at[rule].bytes), humanize.Plural(at[rule].blocks, "block"), note, clean(rule))
	}
	return a.Flush()
}

type jsonRule struct {
	Pattern string `json:"pattern"`
	jsonCounts
}

type jsonSuspect struct {
	Group      jsonGroup `json:"group"`
	Begin      uint64    `json:"begin_bytes"`
	End        uint64    `json:"end_bytes"`
	Slope      float64   `json:"bytes_per_second"`
	Confidence float64   `json:"confidence"`
}

// LeaksJSON writes the same as one JSON object.
func LeaksJSON(w io.Writer, s *query.Source, l *LeakAnswers, o QueryOptions) error {
	rows, left := page(&o, l.Leaks.Rows)
	j := struct {
		jsonAnswer
		Rows       []jsonTopRow  `json:"rows"`
		More       int           `json:"more"`
		Runtime    jsonCounts    `json:"runtime"`
		Suppressed []jsonRule    `json:"suppressed"`
		Suspects   []jsonSuspect `json:"suspects"`
	}{jsonAnswer: newJSONAnswer(s, &l.Leaks.Answer), Rows: []jsonTopRow{}, More: left,
		Runtime: jsonCounts{l.Left.Blocks, l.Left.Bytes}, Suppressed: []jsonRule{}, Suspects: []jsonSuspect{}}
	for _, r := range l.Rules {
		j.Suppressed = append(j.Suppressed, jsonRule{r.Pattern, jsonCounts{r.Blocks, r.Bytes}})
	}
	for i := range l.Suspects {
		x := &l.Suspects[i]
		j.Suspects = append(j.Suspects, jsonSuspect{groupJSON(s, &x.Group), x.Begin, x.End, x.Slope, x.Confidence})
	}
	return writeRows(w, &j, len(rows), func(i int) any {
		r := &rows[i]
		v := valuesJSON(&l.Leaks.Answer, &r.Total)
		return jsonTopRow{groupJSON(s, &r.Group), v, v}
	})
}
