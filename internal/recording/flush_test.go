package recording_test

import (
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// TestFlushLater: a writer that has no events yet can be flushed, too, and then may be nil.
func TestFlushLater(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool, 1)
	w.FlushLater(func() { done <- true })
	<-done
	e := event.Event{Kind: event.Alloc, Func: event.Malloc, Ref: event.NoRef}
	const flushes = 3 * recording.MaxJobs
	for range flushes {
		for range 10 {
			if err := w.Event(&e); err != nil {
				t.Fatal(err)
			}
		}
		w.FlushLater(nil)
	}
	if err := w.Finish(recording.Ending{}); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n := len(eventBlocks(r)); n != flushes {
		t.Errorf("%d blocks of events, want %d", n, flushes)
	}
}

// TestNoGoroutines: however a recording ends, the writer's goroutines end. It does not run in parallel to other tests.
func TestNoGoroutines(t *testing.T) {
	const events = 5000
	before := runtime.NumGoroutine()
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "a.htap"), filepath.Join(dir, "none", "a.htap")} {
		finish := func(w *recording.Writer) error { return w.Finish(recording.Ending{}) }
		for _, end := range []func(*recording.Writer) error{finish, (*recording.Writer).Abort} {
			w, failed := recording.Create(path, event.Process{}, recording.Options{})
			e := event.Event{Kind: event.Alloc, Func: event.Malloc, Ref: event.NoRef}
			for range events {
				_ = w.Event(&e)
			}
			w.FlushLater(func() {})
			if err := end(w); failed == nil && err != nil {
				t.Error(err)
			}
			if w.Handed() != events {
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
