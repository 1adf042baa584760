// Package jsonl writes tables as JSON Lines: an object on a line for each row. Missing values are left out.
package jsonl

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/csv"
	"github.com/heaptap/heaptap/internal/export/table"
)

// Format is JSON Lines: the tables of csv.
var Format = export.Format{
	Name:      "jsonl",
	Tool:      "databases, jq, pandas",
	Extension: ".jsonl",
	Keeps:     csv.Format.Keeps,
	Loses:     csv.Format.Loses,
	Variants:  table.Variants(".jsonl"),
	Metrics:   csv.Format.Metrics,
	AnyKind:   true,
	By:        csv.Format.By,
	Write:     write,
}

func write(ctx context.Context, w io.Writer, in *export.Input) error {
	t, err := table.Of(ctx, in)
	if err != nil {
		return err
	}
	var line bytes.Buffer
	text := json.NewEncoder(&line)
	text.SetEscapeHTML(false)
	return t.Rows(ctx, func(values []table.Value) error {
		line.Reset()
		sep := byte('{')
		for i := range values {
			v := &values[i]
			if v.Null {
				continue
			}
			line.WriteByte(sep)
			sep = ','
			line.WriteString(`"` + t.Columns[i].Name + `":`)
			b := line.AvailableBuffer()
			switch t.Columns[i].Kind {
			case table.Uint:
				line.Write(strconv.AppendUint(b, v.Uint, 10))
			case table.Int:
				line.Write(strconv.AppendInt(b, v.Int, 10))
			case table.Float:
				line.Write(strconv.AppendFloat(b, v.Float, 'g', -1, 64))
			case table.Flag:
				line.Write(strconv.AppendBool(b, v.Uint != 0))
			case table.Text:
				if err := text.Encode(v.Text); err != nil {
					return err
				}
				line.Truncate(line.Len() - 1) // its line break
			}
		}
		line.WriteString("}\n")
		_, err := w.Write(line.Bytes())
		return err
	})
}
