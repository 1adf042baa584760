package clickhouse

import (
	"context"
	"fmt"
	"strings"

	"github.com/heaptap/heaptap/internal/export/table"
)

// The columns with which every table begins, and those that a table of many rows adds to identify its rows.
var (
	keys = []column{{"recording", "String"}, {"started", "DateTime"}, {"host", "String"}, {"program", "String"},
		{"build", "String"}}
	places = []column{{"batch", "UInt32"}, {"seq", "UInt64"}}
)

type column struct{ name, typ string }

// typeOf returns a column's type in SQL.
func typeOf(c table.Column) string {
	typ := map[table.Kind]string{table.Uint: "UInt64", table.Int: "Int64", table.Float: "Float64", table.Text: "String",
		table.Flag: "UInt8"}[c.Kind]
	if c.Null {
		return "Nullable(" + typ + ")"
	}
	return typ
}

// columnsOf returns the columns of a table of rows.
func columnsOf(t *table.Table) []column {
	list := append(append([]column{}, keys...), places...)
	for _, c := range t.Columns {
		list = append(list, column{c.Name, typeOf(c)})
	}
	return list
}

// ensure creates a table, and its database, unless they exist. An existing table is used as it is: it may be
// distributed, have a TTL or further columns.
func (s *Server) ensure(ctx context.Context, name string, columns []column, order string) error {
	if s.tables == nil {
		rows, err := s.query(ctx, "SELECT name FROM system.tables WHERE database = "+literal(s.database))
		if err != nil {
			return err
		}
		s.tables = make(map[string]bool)
		for _, row := range rows {
			s.tables[row[0]] = true
		}
	}
	if s.tables[name] {
		return nil
	}
	var list []string
	for _, c := range columns {
		list = append(list, c.name+" "+c.typ)
	}
	create := fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s) ENGINE = ReplacingMergeTree() PARTITION BY "+
		"toYYYYMM(started) ORDER BY (%s)", s.table(name), strings.Join(list, ", "), order)
	err := s.execute(ctx, create)
	if isFailure(err, unknownDatabase) {
		if err = s.execute(ctx, "CREATE DATABASE IF NOT EXISTS "+quoted(s.database)); err == nil {
			err = s.execute(ctx, create)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot create table %s.%s: %w", s.database, name, err)
	}
	s.tables[name] = true
	return nil
}
