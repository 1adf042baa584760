package timeref

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// open makes a recording of 100 allocations, one per millisecond from 1 ms on. The first 60 are kept, the others are
// freed at once. The process ends at 200 ms.
func open(t *testing.T, finish bool) *recording.Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(100) {
		e := event.Event{Kind: event.Alloc, Func: event.Malloc, Time: (i + 1) * 1e6, Size: 10, Ref: event.NoRef}
		if i >= 60 {
			e = event.Event{Kind: event.Free, Func: event.FreeFunc, Time: (i + 1) * 1e6, Born: (i - 59) * 1e6, Size: 10,
				Ref: uint64(i - 60)}
		}
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
		if i%7 == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if finish {
		err = w.Finish(recording.Ending{End: 200e6})
	} else if err = w.Flush(); err == nil {
		err = w.Abort()
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, finish := range []bool{true, false} {
		r := open(t, finish)
		for text, want := range map[string]uint64{
			"25%": 25, "50%": 50, "12.5%": 12, "99%": 99, // of 100 ms
			"start": 0, "0": 0, "0s": 0, "0%": 0, "end": 100, "END": 100, "100%": 100, "peak": 60, "1ms": 1, "999us": 0,
			"10ms": 10, "10.9999ms": 10, "0.05s": 50, " 1h ": 100, "1m": 100,
		} {
			m, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := m.Cut(r); err != nil || got != want {
				t.Errorf("%s is the cut %d, want %d (%v)", text, got, want, err)
			}
			if again, err := Parse(m.String()); err != nil || again != m {
				t.Errorf("%s is written as %s and read as %v (%v)", text, m, again, err)
			}
		}
		if got, err := (Moment{}).Cut(r); got != 0 || err != nil {
			t.Errorf("the zero moment is %d, %v", got, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":      `"" is not a moment; write a time since the start (1.5s, 200ms, 2m), a share`,
		"+noon": `"+noon" is not a moment; write`, "%": `"%" is not a moment; write`,
		"nan%": `"nan%" is not a moment; write`, "101%": `a share is from 0% to 100%`,
		"-1%": `a share is from 0% to 100%`, "1.5": `"1.5" is not a moment: it has no unit`,
		"-1s": `lies before the start`, "1parsec": `"1parsec" is not a moment; write`,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
