package api

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	a.cache.by[tag].Value.(*kept).body = compress([]byte("kept"))
	if tag = ""; !strings.HasPrefix(ask(), "kept") || tag != before {
		t.Error("nothing was appended: the answer is not the one that was kept")
	}
	held, err := a.shelf.acquire(e)
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

// TestDamaged: a recording that cannot be read is an error of the requests, which says which file it is.
func TestDamaged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "damaged.htap")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), Options{Finder: &input.Finder{}, Args: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/session", nil))
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "damaged.htap") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
