// Package table has what formats of rows and columns write: a recording as tables.
//
//	stacks    a row for each call stack, with metrics
//	frames    a row for each frame of these
//	events    a row for each event
//	timeline  a row for each of a thousand steps of equal time
//
// docs/formats.md tells the columns. Rows come one by one; what is in a row is valid until the next.
package table

import (
	"context"
	"strings"

	"github.com/heaptap/heaptap/internal/export"
)

// Kind is what the values of a column are.
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
	Null bool // there may be rows without a value
}

// Value is a value of a row; which field is set, its column's kind says.
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

// Variants are the tables, as variants of a format whose files end in extension.
func Variants(extension string) []export.Variant {
	return []export.Variant{
		{Name: "stacks", Text: "a row for each call stack, with metrics"},
		{Name: "frames", Text: "a row for each frame of these", Extension: ".frames" + extension, Fixed: true},
		{Name: "events", Text: "a row for each event", Extension: ".events" + extension, Fixed: true},
		{Name: "timeline", Text: "a row for each of 1000 steps of equal time", Extension: ".timeline" + extension, Fixed: true},
	}
}

// Of returns the table that the input's variant means.
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

// clean takes out of a text what many readers stumble over: bytes that are no UTF-8, and NUL.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func flagOf(v bool) Value {
	if v {
		return Value{Uint: 1}
	}
	return Value{}
}
