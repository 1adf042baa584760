package view

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/query"
)

// Heights of the graphs of a timeline, in lines, and the width of the labels before them.
const (
	liveHeight  = 10
	smallHeight = 4
	labelWidth  = 10
)

// TimelineSteps returns how many steps a text graph of a width has.
func TimelineSteps(o QueryOptions) int { return o.fill().Width - labelWidth - 2 }

// Timeline draws what was live, the resident set and the rate of allocation over time, and a line for each group.
func Timeline(w io.Writer, s *query.Source, t *query.Series, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&t.Answer)
	n := len(t.Times) - 1
	if t.To == t.From && a.p.Merged == nil || n < 1 {
		a.printf("  nothing happened\n")
		return a.Flush()
	}
	rate := make([]float64, n)
	live := make([]float64, n)
	for i := range n {
		live[i] = float64(t.Top[i+1])
		if span := t.Times[i+1] - t.Times[i]; span > 0 {
			rate[i] = float64(t.All.Points[i+1].Allocations) / (float64(span) / 1e9)
		}
	}
	if a.p.Merged != nil && a.p.Merged.Imported() == "" {
		a.wrap("  ", "The most of each process in a step, summed up: no less than all of them had at one moment.",
			a.faint)
	}
	a.graph("live", live, liveHeight, func(v float64) string { return a.size(uint64(v)) })
	if rss, ok := t.Resident(s); ok {
		a.graph("resident", rss, smallHeight, func(v float64) string { return a.size(uint64(v)) })
	}
	a.graph("allocations per second", rate, smallHeight, func(v float64) string { return a.short(uint64(v)) })
	a.axis(t, n)
	a.markAxis(t, n)
	for i := range t.Rows {
		if i == 0 {
			a.printf("\n%s  %s\n", a.title("LIVE BY "+strings.ToUpper(t.Rows[0].By.String())),
				a.faint("at the end of each step"))
		}
		a.spark(&t.Rows[i], a.groupName(&t.Rows[i].Group, a.Width-labelWidth-2))
	}
	if len(t.Rows) > 0 {
		a.spark(&t.Rest, a.faint("all others"))
	}
	return a.Flush()
}

var eighths = []rune(" ▁▂▃▄▅▆▇█")

// graph draws columns of numbers, the largest as high as the graph.
func (a *answerText) graph(title string, v []float64, height int, text func(float64) string) {
	most := largest(v)
	a.printf("%s\n", a.title(strings.ToUpper(title)))
	for line := height - 1; line >= 0; line-- {
		label := ""
		switch line {
		case height - 1:
			label = text(most)
		case 0:
			label = "0"
		}
		var b strings.Builder
		for _, x := range v {
			full := 0.
			if most > 0 {
				full = x / most * float64(height*8)
			}
			k := int(min(max(full-float64(line*8), 0), 8))
			if line == 0 && x > 0 {
				k = max(k, 1) // values above 0 are visible
			}
			b.WriteRune(eighths[k])
		}
		columns := strings.TrimRight(b.String(), " ")
		if columns != "" {
			columns = " " + a.place(columns)
		}
		a.printf("%s%s\n", a.faint(padLeft(label, labelWidth)), columns)
	}
}

func largest(v []float64) float64 {
	most := 0.
	for _, x := range v {
		most = max(most, x)
	}
	return most
}

// axis writes the times below graphs.
func (a *answerText) axis(t *query.Series, n int) {
	left, right := a.duration(t.Begin), a.duration(t.Begin+t.Span)
	a.printf("%s %s\n", strings.Repeat(" ", labelWidth), a.faint(left+padLeft(right, n-runes(left))))
}

// spark writes a group's largest value and its name, and below them its values over time in one line.
func (a *answerText) spark(r *query.SeriesRow, name string) {
	live := make([]float64, len(r.Points)-1)
	for i := range live {
		live[i] = float64(r.Points[i+1].Live)
	}
	most := largest(live)
	var b strings.Builder
	for _, x := range live {
		k := 0
		if most > 0 && x > 0 {
			k = max(1, int(x/most*8))
		}
		b.WriteRune(eighths[k])
	}
	a.printf("%s %s\n", a.bold(padLeft(a.size(uint64(most)), labelWidth)), name)
	if most > 0 {
		a.printf("%s %s\n", strings.Repeat(" ", labelWidth), a.place(strings.TrimRight(b.String(), " ")))
	}
}

// TimelineCSV writes a line for each step: times in seconds, and plain numbers. The first line names the columns.
func TimelineCSV(w io.Writer, s *query.Source, t *query.Series) error {
	out := bufio.NewWriter(w)
	c := csv.NewWriter(out)
	head := []string{"time_s", "live_bytes", "live_blocks", "most_live_bytes", "allocations", "bytes", "deallocations",
		"resident_bytes"}
	a := newAnswer(io.Discard, s, QueryOptions{})
	for i := range t.Rows {
		head = append(head, "live_bytes "+a.groupName(&t.Rows[i].Group, 200))
	}
	if len(t.Rows) > 0 {
		head = append(head, "live_bytes (others)")
	}
	rss, known := t.Resident(s)
	err := c.Write(head)
	n := func(v uint64) string { return strconv.FormatUint(v, 10) }
	for i, p := range t.All.Points {
		r := ""
		if known && i > 0 {
			r = n(uint64(rss[i-1]))
		}
		row := []string{fmt.Sprintf("%.9f", float64(t.Times[i])/1e9), n(p.Live), n(p.LiveBlocks), n(t.Top[i]),
			n(p.Allocations), n(p.Bytes), n(p.Deallocations), r}
		for k := range t.Rows {
			row = append(row, n(t.Rows[k].Points[i].Live))
		}
		if len(t.Rows) > 0 {
			row = append(row, n(t.Rest.Points[i].Live))
		}
		if err == nil {
			err = c.Write(row)
		}
	}
	c.Flush()
	if err == nil {
		err = c.Error()
	}
	if err != nil {
		return err
	}
	return out.Flush()
}
