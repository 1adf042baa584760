package clickhouse

import (
	"context"
	"strings"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/query"
)

// facts are the columns of the table recordings.
var facts = []column{
	{"name", "String"}, {"command", "String"}, {"executable", "String"}, {"pid", "UInt32"}, {"arch", "String"},
	{"selected", "String"}, {"started_ns", "Int64"}, {"duration_ns", "Int64"}, {"ending", "String"},
	{"threads", "UInt32"}, {"heaptap", "String"}, {"missing", "String"}, {"allocations", "UInt64"}, {"bytes", "UInt64"},
	{"deallocations", "UInt64"}, {"freed", "UInt64"}, {"peak", "UInt64"}, {"peak_blocks", "UInt64"},
	{"peak_ns", "Nullable(Int64)"}, {"leaked", "UInt64"}, {"leaked_blocks", "UInt64"}, {"temporary", "UInt64"},
	{"temporary_bytes", "UInt64"},
}

// totals are the metrics in the table recordings. The column peak_ns comes between them.
var totals = []query.Metric{query.Allocations, query.Bytes, query.Deallocations, query.FreedBytes, query.Peak,
	query.PeakBlocks, query.Leaked, query.LeakedBlocks, query.Temporary, query.TemporaryBytes}

// recording inserts the row of the table recordings, which marks the recording as complete.
func (p *pusher) recording(ctx context.Context) error {
	t, err := p.in.Stacks(ctx, totals...)
	if err != nil {
		return err
	}
	process, ending := p.in.Reader.Process(), ""
	if e, ok := p.in.Reader.Ending(); ok {
		ending = export.EndingText(&e)
	}
	var r rows
	p.keys(&r)
	r.text(p.in.Name)
	r.text(strings.Join(process.Args, " "))
	r.text(process.Exe)
	r.uint(uint64(process.PID))
	r.text(process.Arch)
	r.text(strings.Join(p.in.Asked, " "))
	r.int(process.Started)
	r.int(t.Span)
	r.text(ending)
	r.uint(uint64(len(p.in.Reader.Threads())))
	r.text(process.Recorder)
	r.text(strings.Join(p.in.Reader.Damage(), "; "))
	for _, m := range totals {
		v, _ := m.Integer(&t.Total)
		r.uint(v)
		if m == query.PeakBlocks {
			if at, known := p.in.PeakTime(&t.Answer); known {
				r.int(at)
			} else {
				r.null()
			}
		}
	}
	r.end()
	columns := namesOf(append(append([]column{}, keys...), facts...))
	_, err = p.Server.insert(ctx, "recordings", columns, "recording = "+literal(p.ID), "1", r.b)
	return err
}
