package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/api/apitest"
	"github.com/heaptap/heaptap/internal/columns/columnstest"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/recording"
)

// TestGrowing: a recording that is still being written is read again, and gets a new generation, when it has grown; the
// tag of its answers changes with it.
func TestGrowing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "growing.htap")
	w, err := recording.Create(path, event.Process{PID: 1 << 22, Args: []string{"app"}}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Thread(0, event.Thread{TID: 1})
	allocate := func(n int) {
		t.Helper()
		for range n {
			e := event.Event{Time: 1000, Kind: event.Alloc, Func: event.Malloc, Size: 10, Ref: event.NoRef}
			if err := w.Event(&e); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	allocate(3)
	a := newAPI(t, path)
	defer a.Close()
	a.shelf.every = 0
	e := a.shelf.sets[0].entries[0]
	tag := ""
	ask := func() string {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "/api/v1/r/"+e.id+"/top?metric=allocations", nil)
		r.Header.Set("If-None-Match", tag)
		answer := httptest.NewRecorder()
		a.ServeHTTP(answer, r)
		tag = answer.Header().Get("ETag")
		return answer.Body.String()
	}
	has := func(text, total string) bool { return strings.Contains(text, `"total":{"allocations":`+total+`}`) }
	if first := ask(); !has(first, "3") || !e.about.Growing {
		t.Errorf("growing %v: %s", e.about.Growing, first)
	}
	opened, before := e.now, tag
	if body := ask(); body != "" || e.now != opened || tag != before || e.generation != 0 {
		t.Errorf("nothing was appended: generation %d, tag %s, before %s, sent: %s", e.generation, tag, before, body)
	}
	a.cache.put(tag, compress([]byte("kept")))
	if tag = ""; !strings.HasPrefix(ask(), "kept") || tag != before {
		t.Error("nothing was appended: the answer is not the one that was kept")
	}
	held, err := a.shelf.acquire(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	allocate(2)
	if second := ask(); !has(second, "5") || e.generation != 1 || tag == before {
		t.Errorf("generation %d, tag %s, before %s: %s", e.generation, tag, before, second)
	}
	if n := held.source.Profile.Totals.Allocations; n != 3 || len(a.shelf.open) != 2 {
		t.Errorf("what is in use has %d allocations, %d are open", n, len(a.shelf.open))
	}
	a.shelf.release(held)
	if len(a.shelf.open) != 1 {
		t.Errorf("%d are open", len(a.shelf.open))
	}
	allocate(1)
	if err := w.Finish(recording.Ending{End: 2000, Exited: true}); err != nil {
		t.Fatal(err)
	}
	if third := ask(); !has(third, "6") || e.generation != 2 || e.about.Growing {
		t.Errorf("at the end, generation %d, growing %v: %s", e.generation, e.about.Growing, third)
	}
}

// TestNothingFound: what does not exist, or is no recording, is an error at once.
func TestNothingFound(t *testing.T) {
	t.Parallel()
	other := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(other, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arg := range []string{"/nonexistent.htap", other, filepath.Dir(other), "/dev/null"} {
		if _, err := New(t.Context(), Options{Finder: &input.Finder{}, Args: []string{arg}}); err == nil {
			t.Errorf("%s: found", arg)
		}
	}
}

// TestDamaged: a recording that cannot be read is an error at once, which says which file it is.
func TestDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	damaged := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first, second := damaged("first.htap"), damaged("second.htap")
	_, err := New(t.Context(), Options{Finder: &input.Finder{}, Args: []string{first, second}})
	if err == nil || !strings.Contains(err.Error(), "first.htap") || !strings.Contains(err.Error(), "second.htap") {
		t.Errorf("all are damaged: %v", err)
	}
}

// TestUnreadable: what cannot be read is listed, with what is wrong and what to do; the others are served.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	good, dir := small(t), t.TempDir()
	damaged, missing := filepath.Join(dir, "damaged.htap"), filepath.Join(dir, "missing.htap")
	if err := os.WriteFile(damaged, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{damaged, good, missing}, {good, damaged}, {missing, good}} {
		var said []string
		a, err := New(t.Context(), Options{Args: args,
			Finder: &input.Finder{Say: func(text string) { said = append(said, text) }}})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		a.Patient()
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/session", nil))
		var s struct {
			Runs       []struct{ Matters string }
			Unreadable []Unreadable
		}
		decodeColumns(t, w.Body.Bytes(), &s)
		if w.Code != http.StatusOK || len(s.Runs) != 1 || len(s.Unreadable) != len(args)-1 || len(said) != len(args)-1 {
			t.Fatalf("%v: %d %s; said %q", args, w.Code, w.Body, said)
		}
		for i, arg := range slices.DeleteFunc(args, func(arg string) bool { return arg == good }) {
			do := map[string]string{damaged: "heaptap verify", missing: "the right path"}[arg]
			u := s.Unreadable[i]
			if u.Argument != arg || !strings.Contains(u.What, filepath.Base(arg)) || !strings.Contains(u.Do, do) {
				t.Errorf("%s: %+v", arg, u)
			}
		}
		id := s.Runs[0].Matters
		w = httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/r/"+id+"/top", nil))
		if w.Code != http.StatusOK {
			t.Errorf("the one that can be read: %d %s", w.Code, w.Body)
		}
	}
}

// decodeColumns decodes an answer.
func decodeColumns(t *testing.T, body []byte, to any) {
	t.Helper()
	b, err := json.Marshal(columnstest.Decode(t, bytes.TrimSpace(body)))
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAhead: a single recording is open before anybody asks; of several, none is.
func TestAhead(t *testing.T) {
	t.Parallel()
	all := apitest.Recordings(t)
	for _, paths := range [][]string{all[:1], all[:2]} {
		a, err := New(t.Context(), Options{Finder: &input.Finder{}, Args: paths, Ahead: true})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		isOpen := func() bool {
			a.shelf.mu.Lock()
			defer a.shelf.mu.Unlock()
			return len(a.shelf.open) == 1 && a.shelf.open[0].users == 0
		}
		if len(paths) == 1 {
			waitFor(t, isOpen)
		} else if err := a.shelf.wait(t.Context()); err != nil || a.shelf.only() != nil {
			t.Errorf("of %d recordings, one would be opened (%v)", len(paths), err)
		}
	}
}

// TestSharedOpening: requests for the same recording share its opening. One that goes away takes it from nobody, and
// waits for nothing; if all go away, the recording is open for whoever asks next.
func TestSharedOpening(t *testing.T) {
	t.Parallel()
	a := newAPI(t, small(t))
	defer a.Close()
	e := a.shelf.sets[0].entries[0]
	times := 0
	a.shelf.made = func(*opened) { times++ }
	open := func() (cancel func(), got chan *opened) {
		ctx, cancel := context.WithCancel(t.Context())
		got = make(chan *opened, 1)
		go func() {
			o, err := a.shelf.acquire(ctx, e)
			if (err == nil) != (o != nil) {
				t.Errorf("%v, %v", o, err)
			}
			got <- o
		}()
		return cancel, got
	}
	waiting := func(n int) {
		waitFor(t, func() bool {
			a.shelf.openings.mu.Lock()
			defer a.shelf.openings.mu.Unlock()
			x := a.shelf.openings.by[e]
			return n == 0 && x == nil || x != nil && x.waiters == n
		})
	}
	e.set.mu.Lock() // openings do not go on
	leave, first := open()
	_, second := open()
	waiting(2)
	leave()
	if o := <-first; o != nil {
		t.Error("who went away has the recording")
	}
	waiting(1)
	e.set.mu.Unlock()
	o := <-second
	if o == nil || times != 1 || o.users != 1 {
		t.Fatalf("opened %d times, %+v", times, o)
	}
	a.shelf.release(o)

	a.shelf.mu.Lock()
	a.shelf.retire(o)
	a.shelf.mu.Unlock()
	e.set.mu.Lock()
	leave, first = open()
	waiting(1)
	leave()
	if o := <-first; o != nil {
		t.Error("who went away has the recording")
	}
	e.set.mu.Unlock()
	if o, err := a.shelf.acquire(t.Context(), e); err != nil || o.users != 1 {
		t.Errorf("who asks next: %v", err)
	} else {
		a.shelf.release(o)
	}
	if n := len(a.shelf.open); n != 1 || a.shelf.next != 0 || a.shelf.open[0].users != 0 {
		t.Errorf("%d are open, %d are being opened", n, a.shelf.next)
	}
}
