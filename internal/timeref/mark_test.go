package timeref

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// TestMarks: marks are found by name and number, at their cut, or, if they have none, at their time. Texts that mean
// another time are not taken for marks.
func TestMarks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(10) {
		if i == 3 || i == 5 || i == 7 {
			w.Mark(event.Mark{Name: "load", Time: i * 1e6, Cut: uint64(i)})
		}
		if err := w.Event(&event.Event{Kind: event.Alloc, Func: event.Malloc, Time: (i + 1) / 2 * 2e6, Size: 10,
			Ref: event.NoRef}); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range []event.Mark{
		{Name: "rss>2GiB", Time: 4.5e6, Cut: event.NoCut}, {Name: "system-free<5%", Time: 2e6,
			Cut: event.NoCut}, {Name: "peak", Cut: 1, Time: 1},
		{Name: "10s", Cut: 2, Time: 2}, {Name: "a#2", Cut: 4, Time: 3e6}, {Name: "far", Cut: 1 << 60,
			Time: 1e9}, {Name: "mode exact", Time: 1e9, Cut: event.NoCut},
	} {
		w.Mark(m)
	}
	if err := w.Finish(recording.Ending{End: 2e9}); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for text, want := range map[string]uint64{
		"load": 3, "load#1": 3, "load#2": 5, "load#3": 7, "load#last": 7, "mark:load#2": 5, "rss>2GiB": 5,
		"system-free<5%": 3, "mark:peak": 1,
		"mark:10s": 2, "a#2": 4, "far": 10, "mode exact": 10, " load ": 3,
	} {
		m, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.Cut(r); err != nil || got != want {
			t.Errorf("%s is the cut %d, want %d (%v)", text, got, want, err)
		}
	}
	for _, text := range []string{"Load", "load#4", "load#0", "load#-1", "load#", "a", "a#1", "noon", "mark:10s#2"} {
		m, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var unknown *UnknownMark
		if at, err := m.Cut(r); !errors.As(err, &unknown) {
			t.Errorf("%s: %d, %v", text, at, err)
		}
	}
	names := Names(r.Marks())
	for i, name := range names {
		m, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if found, err := findMark(r, m.text); err != nil || *found != r.Marks()[i] {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
	if !slices.Contains(names, "mark:peak") || !slices.Contains(names, "load#3") {
		t.Errorf("%q", names)
	}
}
