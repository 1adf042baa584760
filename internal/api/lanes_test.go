package api

import (
	"context"
	"errors"
	"net/http"
	"testing"
)

func lane(tab, name string) http.Header {
	h := http.Header{}
	h.Set(tabHeader, tab)
	h.Set(laneHeader, name)
	return h
}

// TestNewestWins: a request cancels the older one of its lane, whether that waits or is being answered, and no other.
func TestNewestWins(t *testing.T) {
	t.Parallel()
	l := newLanes()
	enter := func(tab, name string) (context.Context, func()) {
		t.Helper()
		ctx, leave, err := l.enter(t.Context(), lane(tab, name))
		if err != nil {
			t.Fatal(err)
		}
		return ctx, leave
	}
	first, leave := enter("a", "brush")
	defer leave()
	second, leave := enter("a", "brush")
	defer leave()
	if !errors.Is(context.Cause(first), errSuperseded) || second.Err() != nil {
		t.Errorf("first: %v, second: %v", context.Cause(first), second.Err())
	}
	// Both workers are busy: the next ones wait.
	third := make(chan error, 1)
	go func() {
		_, _, err := l.enter(t.Context(), lane("a", "brush/tree"))
		third <- err
	}()
	waitFor(t, func() bool { return len(l.classes["brush"].waiting) == 1 })
	other, leave := enter("b", "view")
	defer leave()
	again := make(chan func(), 1)
	go func() {
		if _, leave, err := l.enter(t.Context(), lane("a", "brush/tree")); err == nil {
			again <- leave
		}
	}()
	if err := <-third; !errors.Is(err, errSuperseded) {
		t.Errorf("a request that waited: %v", err)
	}
	<-l.classes["brush"].workers // a worker becomes free
	(<-again)()
	l.classes["brush"].workers <- struct{}{}
	if second.Err() != nil || other.Err() != nil {
		t.Errorf("other lanes: %v, %v", second.Err(), other.Err())
	}
}

// TestLanesEnd: nothing is left of requests that are over.
func TestLanesEnd(t *testing.T) {
	t.Parallel()
	l := newLanes()
	for range 3 {
		_, leave, err := l.enter(t.Context(), lane("a", "view"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if len(l.latest) != 0 || len(l.classes["view"].workers) != 0 {
				t.Errorf("%d lanes, %d requests are left", len(l.latest), len(l.classes["view"].workers))
			}
		}()
		leave()
	}
}

// TestBrushDoesNotWait: what follows the mouse is answered while everything else waits, and too many that wait are
// refused.
func TestBrushDoesNotWait(t *testing.T) {
	t.Parallel()
	l := newLanes()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	entered := make(chan func(), 100)
	const many = 60
	for range many {
		go func() {
			_, leave, err := l.enter(ctx, lane("", "background"))
			if err == nil {
				entered <- leave
			}
			ended <- err
		}()
	}
	background := l.classes["background"]
	most := cap(background.workers) + cap(background.waiting)
	refused := 0
	for refused < many-most {
		if err := <-ended; errors.Is(err, errBusy) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	_, leave, err := l.enter(t.Context(), lane("a", "brush"))
	if err != nil {
		t.Fatal(err)
	}
	leave()
	if _, leave, err = l.enter(t.Context(), http.Header{}); err != nil {
		t.Fatal(err)
	}
	leave()
	leave = <-entered
	cancel()
	for range cap(background.waiting) {
		<-ended
	}
	leave()
	if len(background.workers)+len(background.waiting) != 0 {
		t.Errorf("%d answered, %d wait", len(background.workers), len(background.waiting))
	}
}

// TestLaneNames: headers that name no lane are refused.
func TestLaneNames(t *testing.T) {
	t.Parallel()
	l := newLanes()
	for _, h := range []http.Header{lane("a", "other"), lane("a", "view/"), lane("a", "view/A"), lane("a b", "view"),
		lane(string(make([]byte, 65)), "view"), lane("a", "brush/"+string(make([]byte, 33)))} {
		var wrong *Error
		if _, _, err := l.enter(t.Context(), h); !errors.As(err, &wrong) || wrong.Status != http.StatusBadRequest {
			t.Errorf("%v: %v", h, err)
		}
	}
}
