// Package table turns recordings into tables, for formats of rows and columns.
//
//	stacks    a row for each call stack, with metrics
//	frames    a row for each frame of these
//	events    a row for each event
//	timeline  a row for each of a thousand steps of equal time
//
// docs/formats.md lists the columns. Rows come one by one; a row is valid until the next one.
package table

import (
	"context"
	"strings"

	"github.com/heaptap/heaptap/internal/export"
)

// Kind is the type of a column's values.
type Kind uint8

// The kinds.
const (
	Uint Kind = iota
	Int       // signed
	Float
	Text
	Flag // Uint is 0 or 1
)

// Column is a column of a table.
type Column struct {
	Name string
	Kind Kind
	Null bool // values may be missing
}

// Value is a value of a row. Its column's kind says which field is set.
type Value struct {
	Null  bool
	Uint  uint64
	Int   int64
	Float float64
	Text  string
}

// Table is a table of a recording.
type Table struct {
	Columns []Column
	// Rows yields the rows in order.
	Rows func(ctx context.Context, yield func(row []Value) error) error
}

// Variants returns the tables as variants of a format with that file extension.
func Variants(extension string) []export.Variant {
	return []export.Variant{
		{Name: "stacks", Text: "a row for each call stack, with metrics"},
		{Name: "frames", Text: "a row for each frame of these", Extension: ".frames" + extension, Fixed: true},
		{Name: "events", Text: "a row for each event", Extension: ".events" + extension, Fixed: true},
		{Name: "timeline", Text: "a row for each of 1000 steps of equal time", Extension: ".timeline" + extension,
			Fixed: true},
	}
}

// Columns are the columns of the table that a variant names; of stacks, those with Metrics.
func Columns(variant string) []Column {
	switch variant {
	case "frames":
		return frameColumns
	case "events":
		return eventColumns
	case "timeline":
		return timelineColumns
	}
	return stackColumns("", Metrics)
}

// Of returns the table that the input's variant names.
func Of(ctx context.Context, in *export.Input) (*Table, error) {
	switch in.Variant {
	case "frames":
		return frames(in), nil
	case "events":
		return events(in), nil
	case "timeline":
		return timeline(in), nil
	}
	return stacks(ctx, in)
}

func uintOf(v uint64) Value { return Value{Uint: v} }

func textOf(v string) Value { return Value{Text: clean(v), Null: v == ""} }

// clean replaces what many readers reject in a text: NUL and invalid UTF-8.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func flagOf(v bool) Value {
	if v {
		return Value{Uint: 1}
	}
	return Value{}
}
