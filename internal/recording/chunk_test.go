package recording

import (
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/event"
)

// TestFlushLater: a writer that has nothing yet can be flushed as well, and then may be nil.
func TestFlushLater(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := Create(path, event.Process{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool, 1)
	w.FlushLater(func() { done <- true })
	<-done
	e := event.Event{Kind: event.Alloc, Func: event.Malloc, Ref: event.NoRef}
	const flushes = 2 * maxChunks
	for range flushes {
		for range 10 {
			if err := w.Event(&e); err != nil {
				t.Fatal(err)
			}
		}
		w.FlushLater(nil)
	}
	if err := w.Finish(Ending{}); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n := len(r.events); n != flushes {
		t.Errorf("%d blocks of events, want %d", n, flushes)
	}
}

// TestNoGoroutines: however a recording ends, nothing of its writer goes on. Other tests wait meanwhile.
func TestNoGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "a.htap"), filepath.Join(dir, "none", "a.htap")} {
		for _, end := range []func(*Writer) error{func(w *Writer) error { return w.Finish(Ending{}) },
			(*Writer).Abort} {
			w, failed := Create(path, event.Process{}, Options{})
			e := event.Event{Kind: event.Alloc, Func: event.Malloc, Ref: event.NoRef}
			for range 2 * chunkEvents {
				_ = w.Event(&e)
			}
			w.FlushLater(func() {})
			if err := end(w); failed == nil && err != nil {
				t.Error(err)
			}
			if w.Handed() != 2*chunkEvents {
				t.Errorf("%d events", w.Handed())
			}
		}
	}
	for start := time.Now(); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Since(start) > 10*time.Second {
			t.Fatalf("%d goroutines, %d at first", runtime.NumGoroutine(), before)
		}
	}
}
