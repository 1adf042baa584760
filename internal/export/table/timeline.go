package table

import (
	"context"

	"github.com/heaptap/heaptap/internal/export"
)

// steps is the number of steps of a timeline.
const steps = 1000

var timelineColumns = []Column{{"time_ns", Int, false}, {"live_bytes", Uint, false}, {"live_blocks", Uint, false},
	{"most_live_bytes", Uint, false}, {"allocations", Uint, false}, {"bytes", Uint, false},
	{"deallocations", Uint, false}, {"resident_bytes", Uint, true}}

// timeline returns a table with a row for each step. The first row is the beginning of the range.
func timeline(in *export.Input) *Table {
	t := &Table{Columns: timelineColumns}
	t.Rows = func(ctx context.Context, yield func([]Value) error) error {
		s, err := in.Develop(ctx, steps)
		if err != nil {
			return err
		}
		samples := in.Reader.Samples()
		resident := Value{Null: true} // the last value that was read
		row := make([]Value, len(t.Columns))
		for i, p := range s.All.Points {
			for ; len(samples) > 0 && samples[0].Time <= s.Times[i]; samples = samples[1:] {
				if rss := samples[0].RSS; rss >= 0 {
					resident = Value{Uint: uint64(rss)}
				}
			}
			row = append(row[:0], Value{Int: s.Times[i]}, uintOf(p.Live), uintOf(p.LiveBlocks), uintOf(s.Top[i]),
				uintOf(p.Allocations), uintOf(p.Bytes), uintOf(p.Deallocations), resident)
			if err := yield(row); err != nil {
				return err
			}
		}
		return nil
	}
	return t
}
