// Package csv writes tables as comma-separated values (RFC 4180, UTF-8): a line with the names of the columns, then the rows. What has no
// value is empty, a flag is 0 or 1. Text is written so that neither spreadsheets nor terminals obey it: see package escape.
package csv

import (
	"context"
	"encoding/csv"
	"io"
	"strconv"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/table"
)

// Format is comma-separated values.
var Format = export.Format{
	Name:      "csv",
	Tool:      "spreadsheets, databases, pandas, R",
	Extension: ".csv",
	Keeps:     "as tables: all metrics by call stack, the frames, every event, the timeline",
	Loses:     "nothing of what is in the table",
	Variants:  table.Variants(".csv"),
	Metrics:   table.Metrics,
	AnyKind:   true,
	By:        export.GroupingsOfStacks,
	Write:     write,
}

func write(ctx context.Context, w io.Writer, in *export.Input) error {
	t, err := table.Of(ctx, in)
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	var row []string
	for _, c := range t.Columns {
		row = append(row, c.Name)
	}
	if err := out.Write(row); err != nil {
		return err
	}
	err = t.Rows(ctx, func(values []table.Value) error {
		row = row[:0]
		for i := range values {
			row = append(row, text(t.Columns[i].Kind, &values[i]))
		}
		return out.Write(row)
	})
	out.Flush()
	if err != nil {
		return err
	}
	return out.Error()
}

func text(kind table.Kind, v *table.Value) string {
	if v.Null {
		return ""
	}
	switch kind {
	case table.Int:
		return strconv.FormatInt(v.Int, 10)
	case table.Float:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	case table.Text:
		return escape.Cell(v.Text)
	}
	return strconv.FormatUint(v.Uint, 10)
}
