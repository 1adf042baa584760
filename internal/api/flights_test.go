package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// held is work that ends when it is released or cancelled.
type held struct {
	begun   atomic.Int32
	ended   atomic.Int32
	release chan string
}

func (h *held) start() func(context.Context, *progress) (string, error) {
	return func(ctx context.Context, p *progress) (string, error) {
		h.begun.Add(1)
		defer h.ended.Add(1)
		select {
		case text := <-h.release:
			return text, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// TestFlights: who asks the same at the same time shares the work. One that goes away takes it from nobody; the work is
// cancelled when the last one has gone, and who then comes begins anew.
func TestFlights(t *testing.T) {
	t.Parallel()
	taken := 0
	f := flights[string, string]{patient: true, landed: func(_ string, n int) { taken = n }}
	h := &held{release: make(chan string)}
	type got struct {
		text string
		err  error
	}
	ask := func(key string) (cancel context.CancelCauseFunc, answer chan got) {
		ctx, cancel := context.WithCancelCause(t.Context())
		answer = make(chan got, 1)
		go func() {
			text, err := f.do(ctx, key, &progress{}, h.start)
			answer <- got{text, err}
		}()
		return cancel, answer
	}
	waiters := func(key string, n int) {
		t.Helper()
		waitFor(t, func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.by[key] != nil && f.by[key].waiters == n
		})
	}
	gone := errors.New("gone")
	leave, first := ask("a")
	waiters("a", 1)
	_, second := ask("a")
	waiters("a", 2)
	_, third := ask("a")
	waiters("a", 3)
	leave(gone)
	if x := <-first; !errors.Is(x.err, gone) {
		t.Errorf("who went away: %v", x)
	}
	h.release <- "x"
	if x, y := <-second, <-third; x.text != "x" || y.text != "x" || h.begun.Load() != 1 || taken != 2 {
		t.Errorf("%v and %v from %d pieces of work, taken by %d", x, y, h.begun.Load(), taken)
	}
	// All go.
	leaveA, first := ask("a")
	waiters("a", 1)
	leaveB, second := ask("a")
	waiters("a", 2)
	leaveA(gone)
	leaveB(gone)
	if x, y := <-first, <-second; !errors.Is(x.err, gone) || !errors.Is(y.err, gone) || h.ended.Load() != 2 {
		t.Errorf("%v, %v: %d have ended", x, y, h.ended.Load())
	}
	_, first = ask("a")
	_, second = ask("b")
	waiters("a", 1)
	waiters("b", 1)
	h.release <- "y"
	h.release <- "y"
	if x, y := <-first, <-second; x.text != "y" || y.text != "y" || h.begun.Load() != 4 {
		t.Errorf("%v, %v after %d pieces of work", x, y, h.begun.Load())
	}
	if f.wait(); len(f.by) != 0 {
		t.Errorf("%d are left", len(f.by))
	}
	_, err := f.do(t.Context(), "c", nil, func() func(context.Context, *progress) (string, error) {
		return func(context.Context, *progress) (string, error) { panic("index out of range") }
	})
	if err == nil || !strings.Contains(err.Error(), "index out of range") {
		t.Errorf("a fault: %v", err)
	}
}

// TestSharedAnswers: identical requests are computed once, in whichever lanes they are. If a newer request supersedes
// one of them, only that one gets no answer.
func TestSharedAnswers(t *testing.T) {
	t.Parallel()
	a := newAPI(t, small(t))
	defer a.Close()
	var times atomic.Int32
	release := make(chan struct{})
	slow := Question{Name: "slow", Parameters: []string{"limit"}}
	slow.answer = func(ctx context.Context, _ *call) (any, error) {
		times.Add(1)
		select {
		case <-release:
			return &Notes{"the answer"}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	e := a.shelf.sets[0].entries[0]
	ask := func(tab, lane, limit string) chan *httptest.ResponseRecorder {
		asked, canonical, err := slow.read("limit=" + limit)
		if err != nil {
			t.Fatal(err)
		}
		j := &job{entry: e, question: &slow, canonical: canonical, asked: asked}
		j.work = func(ctx context.Context, p *progress) (any, error) { return a.answer(ctx, j, p) }
		done := make(chan *httptest.ResponseRecorder, 1)
		go func() {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set(tabHeader, tab)
			r.Header.Set(laneHeader, lane)
			a.begin(w, r, j)
			done <- w
		}()
		return done
	}
	waiters := func(want string) {
		t.Helper()
		waitFor(t, func() bool {
			a.shared.mu.Lock()
			defer a.shared.mu.Unlock()
			var got []string
			for _, limit := range []string{"1", "2"} {
				for key, x := range a.shared.by {
					if key.canonical == "limit="+limit {
						got = append(got, fmt.Sprint(x.waiters))
					}
				}
			}
			return strings.Join(got, " ") == want
		})
	}
	first := ask("a", "brush", "1")
	waiters("1")
	second := ask("b", "view", "1")
	waiters("2")
	third := ask("a", "brush", "2") // supersedes the first
	w := <-first
	if !strings.Contains(w.Body.String(), `"superseded"`) {
		t.Errorf("the first: %d %s", w.Code, w.Body)
	}
	waiters("1 1")
	fourth := ask("a", "brush", "2") // the same again: the newest has the answer
	if w = <-third; !strings.Contains(w.Body.String(), `"superseded"`) {
		t.Errorf("the third: %d %s", w.Code, w.Body)
	}
	close(release)
	for _, done := range []chan *httptest.ResponseRecorder{second, fourth} {
		if w := <-done; !strings.Contains(w.Body.String(), "the answer") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if n := times.Load(); n < 2 || n > 3 { // the last one may come when its predecessor has just gone
		t.Errorf("computed %d times", n)
	}
	waitFor(t, func() bool { return len(a.lanes.classes["brush"].workers) == 0 })
}
