package recording_test

import (
	"reflect"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/column"
)

var someRegions = []event.RegionNote{
	{Name: "load é", Thread: 3, Time: 1 << 60, Event: 1 << 62, Alloc: 1 << 61, Count: 4,
		IDs: [4]int64{-1, 1 << 62, 0, 7}},
	{Name: "", Thread: 1, Time: 1<<60 - 5, Event: 1 << 62, Alloc: 1 << 61},
	{Name: "", Thread: 1, Time: 1 << 60, Event: 1<<62 + 1, Alloc: 1 << 61, Leaves: 1},
	{Name: "load é", Thread: 3, Time: 1 << 60, Event: 1<<62 + 1, Alloc: 1<<61 + 1, Leaves: 1 << 31},
	{Thread: 1, Time: 1 << 60, Event: 1<<62 + 1, Alloc: 1<<61 + 1, Late: event.LateAlloc, Back: 7},
	{Thread: 3, Time: 1 << 60, Event: 1<<62 + 1, Alloc: 1<<61 + 1, Late: event.LateFree, Back: 1<<32 - 1},
}

// TestRegions: notes are read as they were written, in their order, across blocks.
func TestRegions(t *testing.T) {
	t.Parallel()
	r := written(t, func(w *recording.Writer) error {
		for i := range someRegions {
			w.Region(someRegions[i])
			if i%2 == 0 {
				if err := w.Flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if !reflect.DeepEqual(r.Regions(), someRegions) {
		t.Errorf("%+v", r.Regions())
	}
}

// TestForgedRegions changes every byte of the table: there is an error, or each note is consistent.
func TestForgedRegions(t *testing.T) {
	t.Parallel()
	forgeries(t, func(p *column.Payload) { recording.RegionTable.Encode(p, someRegions) }, func(at int, s *column.Set) {
		list, err := recording.RegionTable.Decode(s, nil)
		for _, n := range list {
			if n.Time < 0 || n.Count > event.RegionIDs || n.Alloc > n.Event || n.Late > event.LateFree || n.Late != 0 &&
				n.Leaves != 0 || err != nil && len(list) > len(someRegions) {
				t.Fatalf("byte %d: %+v", at, n)
			}
		}
	})
}
