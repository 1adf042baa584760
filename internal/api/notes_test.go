package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/notes"
)

// TestNotes: notes that were written are read, and nobody overwrites those of another.
func TestNotes(t *testing.T) {
	t.Parallel()
	path := small(t)
	a := newAPI(t, path)
	defer a.Close()
	at := "/api/v1/r/" + a.shelf.sets[0].entries[0].id + "/notes"
	send := func(h http.Handler, method, body, match string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, at, strings.NewReader(body))
		if match != "" {
			r.Header.Set("If-Match", match)
		}
		h.ServeHTTP(w, r)
		return w
	}
	expect := func(w *httptest.ResponseRecorder, status int, part string) string {
		t.Helper()
		if w.Code != status || !strings.Contains(w.Body.String(), part) {
			t.Errorf("%d %.200s; want %d ... %s ...", w.Code, w.Body, status, part)
		}
		return w.Header().Get("ETag")
	}
	none := expect(send(a, "GET", "", ""), 200, `"text":""`)
	first := expect(send(a, "POST", `{"text":"<b>one"}`, none), 200, `"text":"<b>one"`)
	if text, err := notes.Read(path); err != nil || string(text) != "<b>one" {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Stat(path + ".notes"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	expect(send(a, "POST", `{"text":"two"}`, none), 412, "changed")
	expect(send(a, "POST", `{"text":"two"}`, first), 200, "two")
	expect(send(a, "POST", `{"text":"three"}`, ""), 200, "three")
	large, err := json.Marshal(Notes{strings.Repeat("x", notes.Max+1)})
	if err != nil {
		t.Fatal(err)
	}
	expect(send(a, "POST", string(large), ""), 413, "too-large")
	expect(send(a, "POST", `{"text":"`+strings.Repeat("x", 3*notes.Max), ""), 413, "too-large")
	expect(send(a, "POST", `{"other":1}`, ""), 400, "other")
	expect(send(a, "POST", `text`, ""), 400, "body")
	expect(send(a, "DELETE", "", ""), 405, "DELETE")
	expect(send(a, "GET", "", ""), 200, "three")
	readOnly, err := New(t.Context(), Options{Finder: &input.Finder{}, Args: []string{path}, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	expect(send(readOnly, "POST", `{"text":"four"}`, ""), 403, "--read-only")
	expect(send(readOnly, "GET", "", ""), 200, "three")
}
