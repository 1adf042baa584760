package table

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// Metrics are those of the table of stacks: all that a recording answers without reading its events.
var Metrics = []query.Metric{query.Allocations, query.Bytes, query.Deallocations, query.FreedBytes, query.Live,
	query.LiveBlocks, query.Peak, query.PeakBlocks, query.OwnPeak, query.Leaked, query.LeakedBlocks, query.Temporary,
	query.TemporaryBytes, query.ZeroSize, query.MinSize, query.MaxSize, query.Slack, query.Reallocations,
	query.MeanLifetime}

// columnName returns the name of a metric's column.
func columnName(m query.Metric) string { return strings.ReplaceAll(m.String(), "-", "_") }

// stackColumns are the columns of the table of stacks; with a group of blocks, unless that is "".
func stackColumns(group string, metrics []query.Metric) []Column {
	list := []Column{{Name: "stack", Kind: Uint}}
	if group != "" {
		list = append(list, Column{Name: group, Kind: Text})
	}
	for _, m := range metrics {
		kind := Float
		if _, integer := m.Integer(&query.Values{}); integer {
			kind = Uint
		}
		list = append(list, Column{Name: columnName(m), Kind: kind})
	}
	return append(list, Column{"function", Text, true}, Column{"file", Text, true}, Column{"line", Uint, true},
		Column{"module", Text, true}, Column{"frames", Text, false})
}

// The columns of the tables of frames and of events.
var (
	frameColumns = []Column{{"stack", Uint, false}, {"depth", Uint, false}, {"name", Text, false},
		{"function", Text, true}, {"linkage", Text, true}, {"file", Text, true}, {"line", Uint, true},
		{"module", Text, true}, {"offset", Text, true}, {"address", Text, false}, {"inlined", Flag, false}}
	eventColumns = []Column{{"event", Uint, false}, {"time_ns", Int, false}, {"kind", Text, false},
		{"function", Text, false}, {"thread", Uint, false}, {"tid", Uint, false}, {"stack", Uint, false},
		{"block", Uint, true}, {"size", Uint, false}, {"usable", Uint, true}, {"address", Text, true},
		{"born_ns", Int, true}, {"born_by", Uint, true}, {"free_stack", Uint, true}, {"alignment", Uint, true},
		{"realloc", Flag, false}, {"in_place", Flag, false}, {"temporary", Flag, false}, {"late", Flag, false},
		{"weight", Uint, false}, {"weight_bytes", Uint, false}, {"region", Text, true}}
)

// stacks returns a table with a row for each call stack, or for each call stack and group of blocks.
func stacks(ctx context.Context, in *export.Input) (*Table, error) {
	answer, err := in.Stacks(ctx)
	if err != nil {
		return nil, err
	}
	grouped := in.Query.By.OfBlocks()
	group := ""
	if grouped {
		group = in.Query.By.String()
	}
	t := &Table{Columns: stackColumns(group, answer.Metrics)}
	var row []Value
	var list []profile.Frame
	t.Rows = func(_ context.Context, yield func([]Value) error) error {
		for i := range answer.Rows {
			r := &answer.Rows[i]
			row = append(row[:0], uintOf(uint64(r.Stack)))
			if grouped {
				row = append(row, textOf(in.LabelName(r.Label)))
			}
			for _, m := range answer.Metrics {
				n, _ := m.Integer(&r.Values)
				row = append(row, Value{Uint: n, Float: m.Of(&r.Values, answer.Span)})
			}
			list = in.AppendFrames(list[:0], r.Stack)
			var leaf profile.Frame
			if len(list) > 0 {
				leaf = list[0]
			}
			row = append(row, textOf(leaf.Function), textOf(leaf.File),
				Value{Uint: uint64(leaf.Line), Null: leaf.Line == 0}, textOf(leaf.Module), textOf(joined(list)))
			if err := yield(row); err != nil {
				return err
			}
		}
		return nil
	}
	return t, nil
}

// joined returns a call stack as one text, from main on, like a folded stack.
func joined(list []profile.Frame) string {
	if len(list) == 0 {
		return export.Unknown
	}
	var names []string
	for i := range slices.Backward(list) {
		names = append(names, strings.ReplaceAll(export.FrameName(&list[i]), ";", ":"))
	}
	return strings.Join(names, ";")
}

// maxRows bounds the rows of a table of frames. To stay below it, call stacks are cut, but each keeps at least
// leastRows rows.
const (
	maxRows   = 6 << 20
	leastRows = 10
)

// rowLimit returns how many frames of a call stack get rows; 0: all.
func rowLimit(in *export.Input, rows []query.StackRow) int {
	if uint64(len(rows))*uint64(in.Reader.Nodes().Len()) <= maxRows {
		return 0
	}
	depths, list := profile.NewDepths(in.Reader.Nodes()), make([]int, len(rows))
	for i := range rows {
		list[i] = int(depths.Of(rows[i].Stack))
	}
	return profile.DepthLimit(list, maxRows, leastRows)
}

// frames returns a table with a row for each frame of the call stacks. The depth of main is 0.
func frames(in *export.Input) *Table {
	t := &Table{Columns: frameColumns}
	t.Rows = func(ctx context.Context, yield func([]Value) error) error {
		answer, err := in.Stacks(ctx, query.Allocations, query.Deallocations, query.Live)
		if err != nil {
			return err
		}
		limit := rowLimit(in, answer.Rows)
		known := make(map[uint32][][]Value) // the columns after stack and depth; by pc, leaf to root
		var list [][]Value
		row := make([]Value, len(t.Columns))
		for i := range answer.Rows {
			stack := answer.Rows[i].Stack
			list = list[:0]
			left := limit
			in.PCs(stack, func(pc uint32) bool {
				if left--; left == -1 && limit > 0 {
					in.ReportCut()
					pc = export.CutPC
				}
				rows, ok := known[pc]
				if !ok {
					for _, f := range in.Frames(pc) {
						rows = append(rows, []Value{textOf(export.FrameName(&f)), textOf(f.Function), textOf(f.Linkage),
							textOf(f.File), {Uint: uint64(f.Line), Null: f.Line == 0}, textOf(f.Module),
							{Text: hex(f.Offset), Null: f.Module == ""}, {Text: hex(f.Address)}, flagOf(f.Inlined)})
					}
					known[pc] = rows
				}
				list = append(list, rows...)
				return pc != export.CutPC
			})
			for k := range slices.Backward(list) {
				row = append(append(row[:0], uintOf(uint64(stack)), uintOf(uint64(len(list)-1-k))), list[k]...)
				if err := yield(row); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return t
}

func hex(v uint64) string { return fmt.Sprintf("%#x", v) }

// events returns a table with a row for each event.
func events(in *export.Input) *Table {
	t := &Table{Columns: eventColumns}
	t.Rows = func(ctx context.Context, yield func([]Value) error) error {
		threads, regions := in.Reader.Threads(), in.RegionNames()
		row := make([]Value, len(t.Columns))
		some := func(v uint64) Value { return Value{Uint: v, Null: v == 0} }
		return in.Events(ctx, func(n, ref uint64, e *event.Event) error {
			tid := uint64(0)
			if int64(e.Thread) < int64(len(threads)) {
				tid = uint64(threads[e.Thread].TID)
			}
			has := func(f event.Flags) Value { return flagOf(e.Flags&f != 0) }
			free := e.Kind == event.Free
			blocks, bytes := e.Weight()
			row = append(row[:0], uintOf(n), Value{Int: e.Time}, Value{Text: e.Kind.String()},
				Value{Text: e.Func.String()}, uintOf(uint64(e.Thread)), uintOf(tid), uintOf(uint64(e.Stack)),
				Value{Uint: ref, Null: ref == event.NoRef}, uintOf(e.Size),
				Value{Uint: e.Usable, Null: e.Flags&event.HasUsable == 0}, address(e.Addr),
				Value{Int: e.Born, Null: !free}, Value{Uint: uint64(e.BornBy), Null: !free}, some(uint64(e.FreeStack)),
				some(e.Align), has(event.Realloc), has(event.InPlace), has(event.Temporary), has(event.Late),
				uintOf(blocks), uintOf(bytes), textOf(regions(ref, e)))
			return yield(row)
		})
	}
	return t
}

func address(v uint64) Value {
	if v == 0 {
		return Value{Null: true}
	}
	return Value{Text: hex(v)}
}
