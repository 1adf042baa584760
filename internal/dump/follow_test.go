package dump

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// screen is the output of a Follower.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *screen) await(t *testing.T, what string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !strings.Contains(s.String(), what); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q does not appear; there is\n%s", what, s.String())
		}
	}
}

// TestFollow: events appear while the recording is being written, those of new threads with their ids, and in the end
// they are those of Events.
func TestFollow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out screen
	f := NewFollower(&out)
	paths := []string{filepath.Join(dir, "a.htap"), filepath.Join(dir, "b.htap")}
	var writers []*recording.Writer
	for i, path := range paths {
		f.Begin(path) // the file may appear later than its name is known
		w, err := recording.Create(path, event.Process{PID: i}, recording.Options{})
		if err != nil {
			t.Fatal(err)
		}
		writers = append(writers, w)
	}
	step := func(which, i int) {
		t.Helper()
		w := writers[which]
		w.Thread(uint32(i), event.Thread{TID: uint32(100 + i)})
		err := w.Event(&event.Event{Time: int64(i) * 100, Kind: event.Alloc, Func: event.Malloc, Thread: uint32(i),
			Size: uint64(1000*which + i),
			Ref:  event.NoRef})
		if err = errors.Join(err, w.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		step(0, i)
		out.await(t, map[int]string{0: " 100 malloc(0) = #0 ", 1: " 101 malloc(1) = #1 ", 2: " 102 malloc(2) = #2 "}[i])
	}
	step(1, 0)
	out.await(t, "==> b.htap <==\n   0.0000000 100 malloc(1000) = #0 stack 0\n")
	step(0, 3)
	out.await(t, "==> a.htap <==\n   0.0000003 103 malloc(3) = #3 stack 0\n")
	step(0, 4)
	if err := writers[0].Finish(recording.Ending{}); err != nil {
		t.Fatal(err)
	}
	f.End(paths[0])
	out.await(t, "malloc(4)")
	step(1, 1) // and is not finished
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "==> b.htap <==\n   0.0000001 101 malloc(1001) = #1 stack 0\n") {
		t.Errorf("the end is missing:\n%s", out.String())
	}
	// Without the lines between recordings, a's lines are those that Events writes.
	var got strings.Builder
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "==>") && !strings.Contains(line, "malloc(1000)") &&
			!strings.Contains(line, "malloc(1001)") {
			got.WriteString(line)
		}
	}
	var want strings.Builder
	d := New(&want, open(t, paths[0]), false)
	if err := errors.Join(d.Events(t.Context(), 0, 100), d.Flush()); err != nil {
		t.Fatal(err)
	}
	if got.String() != want.String() {
		t.Errorf("got\n%swant\n%s", got.String(), want.String())
	}
}

// TestFollowErrors: a broken pipe ends the writing and nothing else.
func TestFollowErrors(t *testing.T) {
	t.Parallel()
	path, _ := sample(t)
	f := NewFollower(full{})
	f.Begin(path)
	f.Begin(path)
	f.Begin(path + "nowhere")
	f.End(path)
	f.End(path)
	if err := f.Close(); err == nil || err.Error() != "full" {
		t.Errorf("%v", err)
	}
}
