// Package csv writes tables as comma-separated values (RFC 4180, UTF-8): a line with the names of the columns, then the
// rows. A missing value is empty, a flag is 0 or 1. Text is escaped so that neither spreadsheets nor terminals
// interpret it: see package escape.
package csv

import (
	"bufio"
	"context"
	"io"
	"strconv"
	"strings"

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
	Loses:     "nothing that is in the table",
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
	var line []byte
	for i, c := range t.Columns {
		line = appendField(line, i, c.Name)
	}
	out := bufio.NewWriter(w)
	if _, err := out.Write(append(line, '\n')); err != nil {
		return err
	}
	err = t.Rows(ctx, func(values []table.Value) error {
		line = line[:0]
		for i := range values {
			line = appendField(line, i, text(t.Columns[i].Kind, &values[i]))
		}
		_, err := out.Write(append(line, '\n'))
		return err
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// appendField appends the field of a column. It quotes the field where RFC 4180 requires it, and also if it begins with
// a backslash, since some readers (ClickHouse) take an unquoted \N for a missing value. encoding/csv cannot do that.
func appendField(line []byte, column int, field string) []byte {
	if column > 0 {
		line = append(line, ',')
	}
	if field == "" || !strings.ContainsAny(field, "\",\r\n") && strings.IndexByte(" \t\\", field[0]) < 0 {
		return append(line, field...)
	}
	line = append(line, '"')
	line = append(line, strings.ReplaceAll(field, `"`, `""`)...)
	return append(line, '"')
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
