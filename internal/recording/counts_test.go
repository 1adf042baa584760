package recording_test

import (
	"errors"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/column"
	"github.com/heaptap/heaptap/internal/recording/repair"
)

var someCounts = &event.Counts{Tick: 416_667, Rows: []event.Count{
	{Func: event.Malloc, Calls: 3},
	{TID: 7, Name: "a", Func: event.Malloc, Calls: 1 << 40, Failed: 2, Bytes: 1 << 50, Usable: 1<<50 + 9, Time: 1e12,
		Timed: 1 << 33,
		Sizes: []event.Class{{Class: 0, Calls: 5}, {Class: 1, Calls: 1 << 33}, {Class: 47, Calls: 1}},
		Times: []event.Class{{Class: 5, Calls: 1 << 33}, {Class: 31, Calls: 1}}},
	{TID: 7, Name: "a", Func: event.ReallocFunc, Frees: true, Calls: 9, Usable: 100},
	{TID: 5, Name: "b", Func: event.Delete, Frees: true, Calls: 1, Timed: 1,
		Times: []event.Class{{Class: 0, Calls: 1}}},
}}

// TestCounts: a reader returns the counts that were written last, also of a repaired recording.
func TestCounts(t *testing.T) {
	t.Parallel()
	first := &event.Counts{Tick: 1, Rows: []event.Count{{TID: 1, Func: event.Malloc, Calls: 1}}}
	r := written(t, func(w *recording.Writer) error {
		return errors.Join(w.Counts(first), w.Counts(someCounts), w.Counts(&event.Counts{}))
	})
	if got := r.Counts(); !reflect.DeepEqual(got, someCounts) {
		t.Errorf("%+v", got)
	}
	mended := filepath.Join(t.TempDir(), "b.htap")
	if _, err := repair.Write(t.Context(), r, mended, repair.Options{}); err != nil {
		t.Fatal(err)
	}
	m, err := recording.Open(mended)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if got := m.Counts(); !reflect.DeepEqual(got, someCounts) {
		t.Errorf("repaired: %+v", got)
	}
}

// TestCountsForged: what no writer makes is an error.
func TestCountsForged(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]event.Count{
		"class beyond the last": {Sizes: []event.Class{{Class: event.SizeClasses, Calls: 1}}},
		"class twice":           {Times: []event.Class{{Class: 3, Calls: 1}, {Class: 3, Calls: 1}}},
		"classes fall":          {Times: []event.Class{{Class: 3, Calls: 1}, {Class: 2, Calls: 1}}},
		"function":              {Func: 200},
	} {
		p := column.NewPayload()
		p.Reset()
		recording.EncodeCounts(p, &event.Counts{Rows: []event.Count{row}})
		var s column.Set
		if err := s.Parse(p.Bytes()); err != nil {
			t.Fatal(err)
		}
		if c, err := recording.DecodeCounts(&s); err == nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
