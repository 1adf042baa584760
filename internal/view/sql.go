package view

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"github.com/heaptap/heaptap/internal/export/table"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/sqltool"
)

// SQL writes what a question in SQL yields. Where there is a width, texts are cut so that lines fit.
func SQL(w io.Writer, s *query.Source, r *sqltool.Result, o Options) error {
	t := newRenderer(w, s.Profile, o)
	if len(r.Rows) == 0 {
		t.printf("no rows\n")
		return t.Flush()
	}
	numbers, widths := make([]bool, len(r.Names)), make([]int, len(r.Names))
	for k, name := range r.Names {
		numbers[k], widths[k] = true, runes(clean(name))
		for i := range r.Rows {
			v := r.Rows[i][k]
			numbers[k] = numbers[k] && (sqltool.IsNumber(v) || sqltool.IsMissing(v))
			widths[k] = max(widths[k], runes(clean(sqltool.Text(v))))
		}
	}
	if o.Width > 0 {
		narrow(widths, numbers, o.Width)
	}
	line := func(cell func(k int) string, look func(string) string) {
		var b strings.Builder
		for k := range r.Names {
			text := funcname.Middle(clean(cell(k)), widths[k])
			if numbers[k] {
				text = padLeft(text, widths[k])
			} else {
				text = padRight(text, widths[k])
			}
			if k > 0 {
				b.WriteString("  ")
			}
			b.WriteString(text)
		}
		t.printf("%s\n", look(strings.TrimRight(b.String(), " ")))
	}
	line(func(k int) string { return r.Names[k] }, t.faint)
	for i := range r.Rows {
		line(func(k int) string { return sqltool.Text(r.Rows[i][k]) }, func(s string) string { return s })
	}
	return t.Flush()
}

// narrow makes columns of texts narrower, the widest first, until a line fits. A column keeps a few letters.
func narrow(widths []int, numbers []bool, width int) {
	const least = 12
	for {
		all, widest := 2*(len(widths)-1), -1
		for k, n := range widths {
			all += n
			if !numbers[k] && n > least && (widest < 0 || n > widths[widest]) {
				widest = k
			}
		}
		if all <= width || widest < 0 {
			return
		}
		widths[widest] = max(least, widths[widest]-max(1, (all-width)/2))
	}
}

// SQLRows writes what a question in SQL yields as comma-separated values, with a line of names.
func SQLRows(w io.Writer, r *sqltool.Result) error {
	out := csv.NewWriter(w)
	if len(r.Rows) > 0 {
		_ = out.Write(r.Names) // Flush says what went wrong
	}
	row := make([]string, len(r.Names))
	for i := range r.Rows {
		for k, v := range r.Rows[i] {
			row[k] = sqltool.Text(v)
		}
		_ = out.Write(row)
	}
	out.Flush()
	return out.Error()
}

// SQLTables writes the tables that SQL may be about, and the questions that have names.
func SQLTables(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, v := range table.Variants("") {
		var names []string
		for _, c := range table.Columns(v.Name) {
			names = append(names, c.Name)
		}
		fmt.Fprintf(out, "%s: %s\n", v.Name, v.Text)
		text := ""
		for i, name := range names {
			if i > 0 {
				text += ","
				if len(text)+len(name) > 96 {
					fmt.Fprintf(out, "  %s\n", text)
					text = ""
				} else {
					text += " "
				}
			}
			text += name
		}
		fmt.Fprintf(out, "  %s\n\n", text)
	}
	for _, q := range sqltool.Queries {
		fmt.Fprintf(out, "--query %-12s %s\n", q.Name, q.Question)
	}
	return out.Flush()
}
