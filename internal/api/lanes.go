package api

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// Headers by which a browser's tab says what a request is for.
const (
	tabHeader  = "X-Heaptap-Tab"  // a random name of the tab
	laneHeader = "X-Heaptap-Lane" // brush, view or background, and, after a slash, which part of the page
)

// lanes decides which requests are answered when. Each tab has lanes, in which the newest request wins: one that is
// still unanswered when the next one comes in is cancelled. Lanes are of three classes, and each has workers of its own,
// so that what follows the mouse (brush) never waits for what the user sees later (background). Requests without a lane
// are in no one's way, and count as view.
type lanes struct {
	workers map[string]chan struct{} // by class
	mu      sync.Mutex
	latest  map[string]*turn // by tab and lane
	waiting int
}

// turn is a request in a lane.
type turn struct{ cancel context.CancelCauseFunc }

// maxWaiting bounds the requests that wait for a worker.
const maxWaiting = 64

func newLanes() *lanes {
	l := &lanes{workers: map[string]chan struct{}{}, latest: map[string]*turn{}}
	for class, n := range map[string]int{"brush": 2, "view": 2, "background": 1} { // together less than maxOpen
		l.workers[class] = make(chan struct{}, n)
	}
	return l
}

var (
	tabForm  = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
	laneForm = regexp.MustCompile(`^(brush|view|background)(/[a-z0-9-]{1,32})?$`)
)

// enter waits until a request may be answered. The context that it returns is cancelled when a newer one in its lane
// comes in; leave must be called when the answer is there.
func (l *lanes) enter(ctx context.Context, h http.Header) (_ context.Context, leave func(), err error) {
	tab, lane := h.Get(tabHeader), h.Get(laneHeader)
	switch {
	case lane != "" && !laneForm.MatchString(lane):
		return nil, nil, badParameter(laneHeader, fmt.Sprintf("%q is not a lane", lane),
			"known are brush, view and background; view/tree is the lane of a part of the page")
	case tab != "" && !tabForm.MatchString(tab):
		return nil, nil, badParameter(tabHeader, "it is not the name of a tab", "use up to 64 letters, digits and dashes")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	out := func() { cancel(nil) }
	if tab != "" && lane != "" {
		out = l.supersede(tab+" "+lane, &turn{cancel})
	}
	class, _, _ := strings.Cut(lane, "/")
	if class == "" {
		class = "view"
	}
	if err := l.wait(ctx, l.workers[class]); err != nil {
		out()
		return nil, nil, err
	}
	return ctx, func() {
		<-l.workers[class]
		out()
	}, nil
}

// supersede makes a request the newest one of its lane, and returns what ends it.
func (l *lanes) supersede(lane string, t *turn) (out func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if older := l.latest[lane]; older != nil {
		older.cancel(errSuperseded)
	}
	l.latest[lane] = t
	return func() {
		t.cancel(nil)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.latest[lane] == t {
			delete(l.latest, lane)
		}
	}
}

// wait waits for a worker.
func (l *lanes) wait(ctx context.Context, worker chan struct{}) error {
	select {
	case worker <- struct{}{}:
		return nil
	default:
	}
	l.mu.Lock()
	full := l.waiting >= maxWaiting
	if !full {
		l.waiting++
	}
	l.mu.Unlock()
	if full {
		return errBusy
	}
	defer func() {
		l.mu.Lock()
		l.waiting--
		l.mu.Unlock()
	}()
	select {
	case worker <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
