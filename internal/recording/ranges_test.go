package recording_test

import (
	"reflect"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/column"
)

var someRanges = []event.NamedRange{
	{Name: "table é", Thread: 3, Time: 1 << 60, Event: 1 << 62, Start: 1<<64 - 1, Size: 1<<64 - 1},
	{Name: "", Thread: 1, Time: 1<<60 - 5, Event: 1 << 62},
	{Name: "table é", Thread: 3, Time: 1 << 60, Event: 1<<62 + 1, Start: 4096, Size: 1},
}

// TestRanges: ranges are read as they were written, in their order, across blocks.
func TestRanges(t *testing.T) {
	t.Parallel()
	r := written(t, func(w *recording.Writer) error {
		for i := range someRanges {
			w.Range(someRanges[i])
			if i == 1 {
				if err := w.Flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if !reflect.DeepEqual(r.Ranges(), someRanges) {
		t.Errorf("%+v", r.Ranges())
	}
}

// TestForgedNames changes every byte of the table: there is an error, or there are ranges.
func TestForgedNames(t *testing.T) {
	t.Parallel()
	forgeries(t, func(p *column.Payload) { recording.RangeTable.Encode(p, someRanges) }, func(at int, s *column.Set) {
		list, err := recording.RangeTable.Decode(s, nil)
		for _, n := range list {
			if n.Time < 0 || err != nil && len(list) > len(someRanges) {
				t.Fatalf("byte %d: %+v", at, n)
			}
		}
	})
}
