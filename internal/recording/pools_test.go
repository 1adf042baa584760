package recording_test

import (
	"reflect"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/column"
)

var somePools = []event.Pool{
	{Name: "events é", Backing: 1 << 40, PeakBacking: 1 << 41, Live: 7, PeakLive: 1 << 50, Blocks: 2,
		Allocations: 1 << 60, Frees: 1<<60 - 2, Bytes: 1 << 63},
	{},
}

// TestPoolsTable: pools are read as they were written.
func TestPoolsTable(t *testing.T) {
	t.Parallel()
	r := written(t, func(w *recording.Writer) error { return w.Pools(append([]event.Pool{}, somePools...)) })
	if !reflect.DeepEqual(r.Pools(), somePools) {
		t.Errorf("%+v", r.Pools())
	}
}

// TestForgedPools changes every byte of the table: there is an error, or each pool is consistent.
func TestForgedPools(t *testing.T) {
	t.Parallel()
	forgeries(t, func(p *column.Payload) { recording.PoolTable.Encode(p, somePools) }, func(at int, s *column.Set) {
		list, err := recording.PoolTable.Decode(s, nil)
		for _, p := range list {
			if p.Live > p.PeakLive || p.Backing > p.PeakBacking || err != nil && len(list) > 2 {
				t.Fatalf("byte %d: %+v", at, p)
			}
		}
	})
}
