package main

import (
	"bytes"
	"errors"
	"io"

	"github.com/parquet-go/parquet-go"
)

// table is what was understood of a file: values as texts, null for none.
type table struct {
	Columns []column
	Rows    int64
	Facts   map[string]string
}

type column struct {
	Name, Type string
	Values     []*string
}

func readParquet(b []byte) (any, error) {
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	out := table{Rows: f.NumRows(), Facts: map[string]string{}}
	for _, kv := range f.Metadata().KeyValueMetadata {
		out.Facts[kv.Key] = kv.Value
	}
	for _, c := range f.Root().Columns() {
		out.Columns = append(out.Columns, column{Name: c.Name(), Type: c.Type().String()})
	}
	for _, g := range f.RowGroups() {
		for i, c := range g.ColumnChunks() {
			if out.Columns[i].Values, err = values(out.Columns[i].Values, c); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func values(list []*string, c parquet.ColumnChunk) ([]*string, error) {
	pages := c.Pages()
	defer pages.Close()
	for {
		p, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		page := make([]parquet.Value, p.NumValues())
		n, err := p.Values().ReadValues(page)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		for _, v := range page[:n] {
			if v.IsNull() {
				list = append(list, nil)
				continue
			}
			s := v.String()
			list = append(list, &s)
		}
	}
}
