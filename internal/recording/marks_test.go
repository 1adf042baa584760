package recording_test

import (
	"bytes"
	"context"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/column"
	"github.com/heaptap/heaptap/internal/recording/repair"
)

var someMarks = []event.Mark{
	{Name: "", Time: 0, Cut: 0, Thread: 2},
	{Name: "load é#2", Time: 1 << 60, Cut: 1 << 62, Thread: 1},
	{Name: "mode off", Time: 1 << 60, Cut: event.NoCut, Source: event.FromMode},
}

// TestMarks: marks are read as they were written, by rising time; those of unknown sources are left out.
func TestMarks(t *testing.T) {
	t.Parallel()
	r := written(t, func(w *recording.Writer) error {
		for i := range someMarks {
			w.Mark(someMarks[len(someMarks)-1-i])
			w.Mark(event.Mark{Name: "of a later version", Source: event.MarkSources})
			if err := w.Flush(); err != nil {
				return err
			}
		}
		return nil
	})
	want := []event.Mark{someMarks[0], someMarks[2], someMarks[1]}
	if !reflect.DeepEqual(r.Marks(), want) {
		t.Errorf("%+v", r.Marks())
	}
}

// TestMarkCuts: MarkCut returns a mark's cut, or else the cut at its time. For a cut after the recording it returns the
// end.
func TestMarkCuts(t *testing.T) {
	t.Parallel()
	b := small(t, true)
	r, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), "a.htap")
	if err != nil {
		t.Fatal(err)
	}
	_, last := r.Cuts()
	for _, c := range []struct {
		mark event.Mark
		want uint64
	}{
		{event.Mark{Cut: 7, Time: 1e9}, 7},
		{event.Mark{Cut: 1 << 40}, last},
		{event.Mark{Cut: event.NoCut, Time: 1e9}, last},
		{event.Mark{Cut: event.NoCut, Time: -1}, 0},
	} {
		if got, err := r.MarkCut(&c.mark); err != nil || got != c.want {
			t.Errorf("%+v is at %d, %v", c.mark, got, err)
		}
	}
}

// TestForgedMarks changes every byte of the table: there is an error, or marks that questions can be asked about.
func TestForgedMarks(t *testing.T) {
	t.Parallel()
	forgeries(t, func(p *column.Payload) { recording.MarkTable.Encode(p, someMarks) }, func(at int, s *column.Set) {
		list, err := recording.MarkTable.Decode(s, nil)
		for _, m := range list {
			if m.Time < 0 || m.Source >= event.MarkSources || err != nil && len(list) > 3 {
				t.Fatalf("byte %d: %+v", at, m)
			}
		}
	})
}

// TestRepairedMarks: where events are missing, a mark stays between the same events.
func TestRepairedMarks(t *testing.T) {
	t.Parallel()
	r := written(t, func(w *recording.Writer) error {
		for i := range int64(30) {
			w.Mark(event.Mark{Name: "m", Time: i * 1000, Cut: uint64(i)})
			if err := w.Event(&event.Event{Kind: event.Alloc, Func: event.Malloc, Time: i * 1000, Size: 1,
				Ref: event.NoRef}); err != nil {
				return err
			}
			if i%10 == 9 {
				if err := w.Flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	r.WithoutEventBlock(1)
	mended := filepath.Join(t.TempDir(), "b.htap")
	if _, err := repair.Write(context.Background(), r, mended, repair.Options{}); err != nil {
		t.Fatal(err)
	}
	m, err := recording.Open(mended)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if len(m.Marks()) != 30 {
		t.Fatalf("%d marks", len(m.Marks()))
	}
	for i, mark := range m.Marks() {
		want := uint64(i)
		if i >= 10 {
			want = uint64(max(10, i-10))
		}
		if mark.Cut != want {
			t.Errorf("mark %d lies after %d events, want %d", i, mark.Cut, want)
		}
	}
}
