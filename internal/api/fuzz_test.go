package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/profile/profiletest"
)

// FuzzRequest: whatever is asked, there is an answer or an error in JSON, and no fault.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{"top?by=line&metric=peak,live&at=50%25", "tree?up&threshold=0&depth=3", "tree?of=a|b",
		"timeline?top=3&steps=7&by=size", "source?file=0&line=2", "report?from=10%25&to=90%25&lifetime=..1ms",
		"leaks?runtime&skip=1&limit=2", "globals?module=[", "regions?sort=highest&region=load/7", "about?x",
		"../session", "memory?at=mark:x", "%2e%2e/%2e%2e/top?focus=%ff(", "top?thread=%22a,b%22,c&hide=.",
		"curve?of=a"} {
		path, query, _ := strings.Cut(s, "?")
		f.Add(path, query)
	}
	path := f.TempDir() + "/server.htap"
	profiletest.Server(f, path)
	a, err := New(f.Context(), Options{Finder: &input.Finder{}, Args: []string{path}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { a.Close() })
	if err := a.shelf.wait(f.Context()); err != nil {
		f.Fatal(err)
	}
	id := a.shelf.sets[0].entries[0].id
	f.Fuzz(func(t *testing.T, path, query string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL = &url.URL{Path: "/api/v1/r/" + id + "/" + path, RawQuery: query}
		a.ServeHTTP(w, r)
		switch {
		case w.Code >= 300 && w.Code < 400: // a path that is not clean
			return
		case w.Header().Get("Retry-After") != "" && strings.Contains(w.Body.String(), `"not-ready"`): // a curve
			return
		case w.Code >= http.StatusInternalServerError:
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		lines := strings.Split(strings.TrimSuffix(w.Body.String(), "\n"), "\n")
		var answer struct {
			Answer json.RawMessage
			Error  string
			What   string
		}
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &answer); err != nil {
			t.Fatal(err)
		}
		failed := answer.Error != ""
		if failed == (w.Code == http.StatusOK) && len(lines) == 1 || failed && answer.What == "" {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
