package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/query"
)

// regionColumns are what a table of regions tells, and what it can be sorted by.
var regionColumns = []struct {
	name  string
	value func(r *query.RegionRow) int64
	text  func(a *answer, n int64) string
}{
	{"time", func(r *query.RegionRow) int64 { return r.End - r.Begin }, func(a *answer, n int64) string { return a.duration(n) }},
	{"allocations", func(r *query.RegionRow) int64 { return int64(r.Allocations) }, (*answer).signedCount},
	{"deallocations", func(r *query.RegionRow) int64 { return int64(r.Deallocations) }, (*answer).signedCount},
	{"requested", func(r *query.RegionRow) int64 { return int64(r.Requested) }, (*answer).signedSize},
	{"added", func(r *query.RegionRow) int64 { return r.Added() }, (*answer).signedSize},
	{"highest", func(r *query.RegionRow) int64 { return r.Highest }, (*answer).signedSize},
	{"lowest", func(r *query.RegionRow) int64 { return r.Lowest }, (*answer).signedSize},
	{"largest", func(r *query.RegionRow) int64 { return int64(r.Largest) }, (*answer).signedSize},
}

func (a *answer) signedCount(n int64) string { return sign(n) + a.count(magnitude(n)) }
func (a *answer) signedSize(n int64) string  { return sign(n) + a.size(magnitude(n)) }

func sign(n int64) string {
	if n < 0 {
		return "-"
	}
	return ""
}

func magnitude(n int64) uint64 { return uint64(max(n, -n)) }

// RegionOrders are what regions can be sorted by: begin, and the columns.
func RegionOrders() []string {
	list := []string{"begin"}
	for _, c := range regionColumns {
		list = append(list, c.name)
	}
	return list
}

// SortRegions sorts by one of RegionOrders, largest first.
func SortRegions(rows []query.RegionRow, by string) {
	for _, c := range regionColumns {
		if c.name == by {
			slices.SortStableFunc(rows, func(a, b query.RegionRow) int { return cmp.Compare(c.value(&b), c.value(&a)) })
		}
	}
}

// Regions writes a line for each region. While they are in the order in which they were entered, those within others are indented.
func Regions(w io.Writer, s *query.Source, t *query.RegionTable, indented bool, o QueryOptions) error {
	a := newAnswer(w, s, o)
	a.answerHeading(&t.Answer)
	list, left := page(&a.QueryOptions, t.Rows)
	if len(list) == 0 {
		a.printf("  no regions\n")
		return a.Flush()
	}
	widths := make([]int, len(regionColumns))
	cells := make([][]string, len(list))
	for k, c := range regionColumns {
		widths[k] = runes(c.name)
		for i := range list {
			text := c.text(a, c.value(&list[i]))
			cells[i], widths[k] = append(cells[i], text), max(widths[k], runes(text))
		}
	}
	var head strings.Builder
	for k, c := range regionColumns {
		head.WriteString("  " + padLeft(c.name, widths[k]))
	}
	a.printf("%s\n", a.faint(head.String()+"  region"))
	for i := range list {
		for k, text := range cells[i] {
			a.printf("  %s", padLeft(text, widths[k]))
		}
		indent := ""
		if indented {
			indent = strings.Repeat("  ", min(list[i].Depth, 20))
		}
		open := ""
		if list[i].Open {
			open = " (never left)"
		}
		a.printf("  %s%s  %s\n", indent, clean(list[i].Title)+open, a.faint(threadName(s, list[i].Thread)))
	}
	a.more(left)
	return a.Flush()
}

type jsonRegion struct {
	Region        string `json:"region"`
	Name          string `json:"name"`
	Thread        jsonID `json:"thread"`
	Depth         int    `json:"depth"`
	Begin         int64  `json:"begin_ns"`
	End           int64  `json:"end_ns"`
	Open          bool   `json:"never_left"`
	Allocations   uint64 `json:"allocations"`
	Deallocations uint64 `json:"deallocations"`
	Requested     uint64 `json:"requested"`
	Added         int64  `json:"added"`
	Highest       int64  `json:"highest"`
	Lowest        int64  `json:"lowest"`
	Largest       uint64 `json:"largest"`
}

func regionJSON(s *query.Source, r *query.RegionRow) jsonRegion {
	return jsonRegion{r.Title, r.Name, threadJSON(s, r.Thread), r.Depth, r.Begin, r.End, r.Open, r.Allocations, r.Deallocations, r.Requested, r.Added(),
		r.Highest, r.Lowest, r.Largest}
}

// RegionsJSON writes the table as JSON.
func RegionsJSON(w io.Writer, s *query.Source, t *query.RegionTable, o QueryOptions) error {
	list, left := page(&o, t.Rows)
	j := struct {
		jsonAnswer
		More int         `json:"more"`
		Rows []jsonGroup `json:"rows"`
	}{newJSONAnswer(s, &t.Answer), left, []jsonGroup{}}
	return writeRows(w, &j, len(list), func(i int) any { return regionJSON(s, &list[i]) })
}

// RegionsTrace writes the table as a trace of Chrome's format, which Perfetto's and Chrome's viewers open: a slice for each region.
func RegionsTrace(w io.Writer, s *query.Source, t *query.RegionTable) error {
	type slice struct {
		Name     string     `json:"name"`
		Category string     `json:"cat"`
		Phase    string     `json:"ph"`
		Begin    float64    `json:"ts"` // µs
		Duration float64    `json:"dur"`
		PID      int        `json:"pid"`
		TID      uint32     `json:"tid"`
		Args     jsonRegion `json:"args"`
	}
	pid := s.Reader.Process().PID
	if _, err := io.WriteString(w, `{"displayTimeUnit":"ns","traceEvents":[`); err != nil {
		return err
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		j := regionJSON(s, r)
		b, err := json.Marshal(slice{r.Title, "region", "X", float64(r.Begin) / 1e3, float64(r.End-r.Begin) / 1e3, pid, j.Thread.TID, j})
		if err != nil {
			return err
		}
		separator := ",\n"
		if i == 0 {
			separator = "\n"
		}
		if _, err := fmt.Fprintf(w, "%s%s", separator, b); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "\n]}\n")
	return err
}
