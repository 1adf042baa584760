package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/heaptap/heaptap/internal/lazy"
)

// Headers by which a browser's tab says what a request is for.
const (
	tabHeader  = "X-Heaptap-Tab"  // a random name of the tab
	laneHeader = "X-Heaptap-Lane" // brush, view or background, and, after a slash, which part of the page
)

// lanes decides which requests are answered when. Each tab has lanes, in which the newest request wins: one that is
// still unanswered when the next one comes in is cancelled. Lanes are of three classes, and each has its own workers:
// what follows the mouse (brush) never waits for what the user sees later (background). Requests without a lane cancel
// nothing, and count as view.
type lanes struct {
	classes map[string]*class
	mu      sync.Mutex
	latest  map[string]*turn // by tab and lane
}

// class is the workers of one class of lanes.
type class struct {
	workers chan struct{} // has an element for each request that is being answered
	waiting chan struct{} // and this one for each that waits for that
}

// turn is a request in a lane.
type turn struct{ cancel context.CancelCauseFunc }

// newLanes makes the classes. A page asks several questions at once; one that takes long must not keep short ones of
// the reader's next click waiting. All workers together are fewer than the recordings that may be open, and 64
// requests may wait.
func newLanes() *lanes {
	of := func(workers, waiting int) *class {
		return &class{make(chan struct{}, workers), make(chan struct{}, waiting)}
	}
	return &lanes{latest: map[string]*turn{},
		classes: map[string]*class{"brush": of(2, 16), "view": of(4, 32), "background": of(1, 16)}}
}

var (
	tabForm  = lazy.Regexp(`^[A-Za-z0-9-]{1,64}$`)
	laneForm = lazy.Regexp(`^(brush|view|background)(/[a-z0-9-]{1,32})?$`)
)

// enter waits until a request may be answered. The context that it returns is cancelled when a newer one in its lane
// comes in; leave must be called when the answer is there.
func (l *lanes) enter(ctx context.Context, h http.Header) (_ context.Context, leave func(), err error) {
	tab, lane := h.Get(tabHeader), h.Get(laneHeader)
	switch {
	case lane != "" && !laneForm().MatchString(lane):
		return nil, nil, badParameter(laneHeader, fmt.Sprintf("%q is not a lane", lane),
			"known are brush, view and background; view/tree is the lane of a part of the page")
	case tab != "" && !tabForm().MatchString(tab):
		return nil, nil, badParameter(tabHeader, "it is not the name of a tab",
			"use up to 64 letters, digits and dashes")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	out := func() { cancel(nil) }
	if tab != "" && lane != "" {
		out = l.supersede(tab+" "+lane, &turn{cancel})
	}
	name, _, _ := strings.Cut(lane, "/")
	c := l.classes[cmp.Or(name, "view")]
	if err := c.wait(ctx); err != nil {
		out()
		return nil, nil, err
	}
	return ctx, func() {
		<-c.workers
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
func (c *class) wait(ctx context.Context) error {
	select {
	case c.workers <- struct{}{}:
		return nil
	default:
	}
	select {
	case c.waiting <- struct{}{}:
		defer func() { <-c.waiting }()
	default:
		return errBusy
	}
	select {
	case c.workers <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
