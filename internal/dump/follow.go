package dump

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/heaptap/heaptap/internal/recording"
)

// followEvery is how often a Follower looks for more.
const followEvery = 200 * time.Millisecond

// Follower writes the events of recordings as text while they are being written. If they are of several recordings, a
// line
//
//	==> NAME <==
//
// says whose events follow, whenever they are another's than the lines before.
type Follower struct {
	w      io.Writer
	stop   chan struct{}
	wait   sync.WaitGroup
	mu     sync.Mutex // of ends
	ends   map[string]chan struct{}
	turn   sync.Mutex // of what follows, and of w: held while writing, which may take long
	latest string     // whose events were written last
	err    error
}

// NewFollower returns a Follower that writes to w.
func NewFollower(w io.Writer) *Follower {
	return &Follower{w: w, stop: make(chan struct{}), ends: make(map[string]chan struct{})}
}

// Begin begins to follow the recording at path. Neither it nor End waits for the writing.
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

// End says that the recording at path is finished.
func (f *Follower) End(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if end := f.ends[path]; end != nil {
		close(end)
		delete(f.ends, path)
	}
}

// Close writes what there is, ends, and returns the first error.
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

// trail is how far a recording was written out.
type trail struct {
	f     *Follower
	path  string
	r     *recording.Reader
	cut   uint64
	ended bool // up to the recording's end
}

// catchUp writes what is new. It reports false once nothing can be written any more.
func (t *trail) catchUp() bool {
	f := t.f
	f.turn.Lock()
	defer f.turn.Unlock()
	if t.r == nil {
		r, err := recording.Open(t.path)
		if err != nil {
			return f.err == nil // it may come
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
		_, err := fmt.Fprintf(f.w, "==> %s <==\n", printable(filepath.Base(t.path)))
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
