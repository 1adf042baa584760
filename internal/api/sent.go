package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/heaptap/heaptap/internal/input"
)

// Bounds of what is sent to a session.
const (
	maxSentFile  = 256 << 20 // bytes of a file; package serve has the same
	maxSentFiles = 32
	maxSentBytes = 1 << 30 // of all files, with what is made of them
)

// Received says which recordings were made of a file that was sent.
type Received struct {
	Recordings []string `json:"recordings"` // their ids
	Matters    string   `json:"matters"`    // the id of the one that commands would choose
}

// receive takes in a file of another tool, or a recording: POST /api/v1/files?name=NAME, with the file as the body. Its
// recordings are part of the session until that ends.
func (a *API) receive(w http.ResponseWriter, r *http.Request) {
	sent, err := a.store(w, r)
	if err != nil {
		refuse(w, asError(r.Context(), err))
		return
	}
	metric := r.URL.Query().Get("metric")
	var taken atomic.Bool // by the job, or because it has not begun: somebody must remove the file
	a.begin(w, r, &job{work: func(ctx context.Context, _ *progress) (any, error) {
		if taken.Swap(true) {
			return nil, context.Canceled
		}
		put := false
		defer func() {
			if !put { // also if the conversion panics
				a.drop(sent)
			}
		}()
		set, err := a.convert(ctx, sent, metric)
		if err != nil {
			return nil, err
		}
		put = true
		return a.shelf.describeSent(set), nil
	}})
	if !taken.Swap(true) {
		a.drop(sent)
	}
}

// drop removes a file that came to nothing.
func (a *API) drop(file *input.Sent) {
	file.Close()
	a.shelf.leave()
}

// store stores the body of a request. Unless it fails, the shelf has a place for the file.
func (a *API) store(w http.ResponseWriter, r *http.Request) (_ *input.Sent, err error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		return nil, &Error{Status: http.StatusMethodNotAllowed, Code: "bad-method",
			What: r.Method + " is not allowed here", Do: "use POST, with the file as the body"}
	}
	if a.options.ReadOnly {
		return nil, &Error{Status: http.StatusForbidden, Code: "forbidden", What: "no files are taken in here",
			Do: "start heaptap without --read-only, or open the file with heaptap open"}
	}
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badParameter("", fmt.Sprintf("the query cannot be read: %v", err),
			"escape the values of parameters")
	}
	for name, values := range given {
		if name != "name" && name != "metric" || len(values) != 1 {
			return nil, badParameter(name, "files have the parameters name and metric, each once", "leave out others")
		}
	}
	if r.ContentLength > maxSentFile {
		return nil, sentTooLarge()
	}
	if err := a.shelf.wait(r.Context()); err != nil {
		return nil, err
	}
	if err := a.shelf.enterSent(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.shelf.leave()
		}
	}()
	sent, err := input.Store(given.Get("name"), http.MaxBytesReader(w, r.Body, maxSentFile))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, sentTooLarge()
	case err != nil && errors.Is(err, io.ErrUnexpectedEOF), err != nil && r.Context().Err() != nil:
		return nil, &Error{Status: statusClosed, Code: "cancelled", What: "the file did not arrive whole",
			Where: "body", Do: "send it again"}
	}
	return sent, err
}

// convert makes a run of a stored file, and puts it on the shelf.
func (a *API) convert(ctx context.Context, sent *input.Sent, metric string) (*runSet, error) {
	r, err := sent.Run(ctx, a.options.Version, metric)
	switch {
	case ctx.Err() != nil:
		if err == nil {
			r.Close()
		}
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &Error{Status: http.StatusBadRequest, Code: "unreadable", What: err.Error(), Where: "body",
			Do: "heaptap import says more about a file; docs/formats.md lists the formats"}
	}
	_ = r.LetGo() // nothing was written, and nobody may ask
	set := &runSet{arg: r.Path(), temp: true, run: r, read: time.Now()}
	a.shelf.putSent(sent, set)
	return set, nil
}

func sentTooLarge() *Error {
	return &Error{Status: http.StatusRequestEntityTooLarge, Code: "too-large", Where: "body",
		What: fmt.Sprintf("files are limited to %d MiB", maxSentFile>>20), Do: "open it with heaptap open FILE"}
}

// sent are the files that a session has taken in.
type sent struct {
	busy  bool // one is on its way
	bytes int64
	sets  []*runSet
	files []*input.Sent
}

// enterSent takes a place for a file. One is taken in at a time.
func (s *shelf) enterSent() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.sent.busy:
		return &Error{Status: http.StatusServiceUnavailable, Code: "busy", What: "another file is being taken in",
			Do: "send this one afterwards"}
	case len(s.sent.files) >= maxSentFiles || s.sent.bytes >= maxSentBytes:
		return &Error{Status: http.StatusRequestEntityTooLarge, Code: "too-large", Where: "body",
			What: fmt.Sprintf("a session takes in %d files, and %d MiB in all", maxSentFiles, maxSentBytes>>20),
			Do:   "open the others with heaptap open FILE..."}
	}
	s.sent.busy = true
	return nil
}

// leave gives back the place of a file that came to nothing.
func (s *shelf) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent.busy = false
}

// putSent adds the run that was made of a file.
func (s *shelf) putSent(file *input.Sent, set *runSet) {
	size := file.Size()
	s.enter(set)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent.busy = false
	s.sent.bytes += size
	s.sent.sets = append(s.sent.sets, set)
	s.sent.files = append(s.sent.files, file)
}

// describeSent says which recordings a run has.
func (s *shelf) describeSent(set *runSet) *Received {
	set.mu.Lock()
	defer set.mu.Unlock()
	x := &Received{Recordings: []string{}}
	for _, e := range set.entries {
		x.Recordings = append(x.Recordings, e.id)
	}
	if i, _, _ := set.run.Matters(); i >= 0 {
		x.Matters = set.entries[i].id
	}
	return x
}

// all are the runs that the user named, and those that were sent. The shelf is ready.
func (s *shelf) all() []*runSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(s.sets[:len(s.sets):len(s.sets)], s.sent.sets...)
}

// closeSent removes what was sent. Nothing may be in use.
func (s *shelf) closeSent() {
	for _, set := range s.sent.sets {
		set.run.Close()
	}
	for _, file := range s.sent.files {
		file.Close()
	}
	s.sent.sets, s.sent.files = nil, nil
}
