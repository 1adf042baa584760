package dump

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/timeref"
)

// counter counts the bytes that are read.
type counter struct {
	r io.ReaderAt
	n atomic.Int64
}

func (c *counter) ReadAt(p []byte, off int64) (int, error) {
	c.n.Add(int64(len(p)))
	return c.r.ReadAt(p, off)
}

// TestSeek: the last percent of a recording costs about a percent of it, and its events have the same numbers as in the
// whole.
func TestSeek(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Thread(0, event.Thread{TID: 1})
	const events, each = 40_000, 100
	for i := range events {
		e := event.Event{Kind: event.Alloc, Func: event.Malloc, Time: int64(i) * 1000, Stack: uint32(i % 7),
			Size: uint64(i * 7919 % 5000), Ref: event.NoRef}
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
		if i%each == each-1 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(recording.Ending{End: events * 1000}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file := &counter{r: bytes.NewReader(b)}
	r, err := recording.NewReader(file, int64(len(b)), "a.htap")
	if err != nil {
		t.Fatal(err)
	}
	opened := file.n.Swap(0)
	m, err := timeref.Parse("99%")
	if err != nil {
		t.Fatal(err)
	}
	cut, err := m.Cut(r)
	if err != nil {
		t.Fatal(err)
	}
	var all, end bytes.Buffer
	d := New(&end, r, false)
	if err := errors.Join(d.Events(t.Context(), cut, math.MaxUint64), d.Flush()); err != nil {
		t.Fatal(err)
	}
	if n := file.n.Load(); n > int64(len(b))/50 || cut != events*99/100 {
		t.Errorf("the last percent, from cut %d on, took %d of %d bytes", cut, n, len(b))
	}
	if opened > int64(len(b))/5 {
		t.Errorf("opening took %d of %d bytes", opened, len(b))
	}
	d = New(&all, r, false)
	if err := errors.Join(d.Events(t.Context(), 0, math.MaxUint64), d.Flush()); err != nil {
		t.Fatal(err)
	}
	if bytes.Count(end.Bytes(), []byte("\n")) != events-int(cut) || !bytes.HasSuffix(all.Bytes(), end.Bytes()) {
		t.Errorf("the last percent is not the end of the whole dump:\n%s", end.String()[:200])
	}
}
