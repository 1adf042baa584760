// Package parquet writes tables as Apache Parquet files.
//
// A file has groups of rows, each with a chunk for every column. A chunk is a page of data, compressed with Zstandard;
// a chunk of texts has a page with the distinct texts before it. The footer, written last, says where the chunks are.
// Counts are unsigned, flags are booleans, texts are UTF-8. Rows stream: only one group is in memory.
package parquet

import (
	"context"
	"io"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/table"
)

// Format is Parquet.
var Format = export.Format{
	Name:      "parquet",
	Tool:      "DuckDB, pandas, Polars, Spark, ClickHouse",
	Extension: ".parquet",
	Binary:    true,
	Keeps:     "as tables: all metrics by call stack, the frames, every event, the timeline",
	Loses:     "nothing that is in the table",
	Variants:  table.Variants(".parquet"),
	Metrics:   table.Metrics,
	AnyKind:   true,
	By:        export.GroupingsOfStacks,
	Write:     write,
}

// A group of rows ends when it reaches one of these bounds.
const (
	groupRows  = 1 << 17
	groupBytes = 64 << 20
)

func write(ctx context.Context, w io.Writer, in *export.Input) error {
	t, err := table.Of(ctx, in)
	if err != nil {
		return err
	}
	f, err := newFile(w, t.Columns, in.Reader.Process().Recorder, in.Facts())
	if err != nil {
		return err
	}
	err = t.Rows(ctx, func(row []table.Value) error {
		for i := range row {
			f.columns[i].add(&row[i])
		}
		f.rows++
		if f.rows == groupRows || f.size() >= groupBytes {
			f.endGroup()
		}
		return f.err
	})
	if err != nil {
		return err
	}
	return f.finish()
}
