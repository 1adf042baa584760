package dump

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/run"
)

// followEvery is how often a Follower looks for new events.
const followEvery = 200 * time.Millisecond

// Follower writes the events of recordings as text while they are being written. If there are several recordings, a
// line
//
//	==> NAME <==
//
// precedes events that are from another recording than the lines before.
type Follower struct {
	w      io.Writer
	stop   chan struct{}
	wait   sync.WaitGroup
	mu     sync.Mutex // protects ends
	ends   map[string]chan struct{}
	turn   sync.Mutex // protects the following fields and w; held while writing, which may take long
	latest string     // recording of the latest lines
	err    error
}

// NewFollower returns a Follower that writes to w.
func NewFollower(w io.Writer) *Follower {
	return &Follower{w: w, stop: make(chan struct{}), ends: make(map[string]chan struct{})}
}

// Begin begins to follow the recording at path. Neither Begin nor End waits for the writer.
func (f *Follower) Begin(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ends[path] != nil {
		return
	}
	end := make(chan struct{})
	f.ends[path] = end
	f.wait.Go(func() { f.follow(path, end) })
}

// End says that the recording at path is complete.
func (f *Follower) End(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if end := f.ends[path]; end != nil {
		close(end)
		delete(f.ends, path)
	}
}

// Close writes everything that is left, ends, and returns the first error.
func (f *Follower) Close() error {
	close(f.stop)
	f.wait.Wait()
	return f.err
}

func (f *Follower) follow(path string, end <-chan struct{}) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	t := trail{f: f, path: path}
	defer t.close()
	for last := false; !last; {
		select {
		case <-tick.C:
		case <-end:
			last = true
		case <-f.stop:
			last = true
		}
		if !t.catchUp() {
			return
		}
	}
}

// trail is how far a recording has been written out.
type trail struct {
	f     *Follower
	path  string
	r     *recording.Reader
	cut   uint64
	ended bool // the recording's end was reached
}

// name is what the recording is called between the events of several: the file; in a run, the program.
func (t *trail) name() string {
	if run.Of(t.path) == "" {
		return filepath.Base(t.path)
	}
	p := t.r.Process()
	return fmt.Sprintf("%s (process %d)", filepath.Base(p.Exe), p.PID)
}

// catchUp writes what is new. It returns false once nothing more can be written.
func (t *trail) catchUp() bool {
	f := t.f
	f.turn.Lock()
	defer f.turn.Unlock()
	if t.r == nil {
		r, err := run.OpenRecording(t.path)
		if err != nil {
			return f.err == nil // the file may appear later
		}
		t.r = r
	} else if _, err := t.r.Refresh(); err != nil {
		f.fail(err)
		return false
	}
	_, last := t.r.Cuts()
	_, ended := t.r.Ending()
	if f.err != nil || last <= t.cut && (!ended || t.ended) {
		return f.err == nil
	}
	if f.latest != t.path && f.latest != "" {
		_, err := fmt.Fprintf(f.w, "==> %s <==\n", printable(t.name()))
		f.fail(err)
	}
	f.latest = t.path
	d := New(f.w, t.r, false)
	d.goesOn, t.ended = !ended, ended
	f.fail(d.Events(context.Background(), t.cut, last))
	f.fail(d.Flush())
	t.cut = last
	return f.err == nil
}

func (f *Follower) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

func (t *trail) close() {
	if t.r != nil {
		t.r.Close()
	}
}
