package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/api/apitest"
	"github.com/heaptap/heaptap/internal/recording/atlas"
)

// TestAtlas: questions that may be answered roughly are, as soon as there is an atlas; a curve needs one.
func TestAtlas(t *testing.T) {
	t.Parallel()
	paths := apitest.Recordings(t)
	random, merged := paths[1], paths[4]
	a := newAPI(t, random, merged)
	defer a.Close()
	var made []*opened
	a.shelf.made = func(o *opened) { made = append(made, o) }
	ask := func(set int, question string, status int, part string) {
		t.Helper()
		w := httptest.NewRecorder()
		at := "/api/v1/r/" + a.shelf.sets[set].entries[0].id + "/" + question
		a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, at, nil))
		if w.Code != status || !strings.Contains(w.Body.String(), part) {
			t.Errorf("%s: %d %.300s; want %d ... %s ...", question, w.Code, w.Body, status, part)
		}
	}
	ask(0, "top?rough=pixel&from=13%25&to=57%25&metric=allocations", 200, `"plan":"summaries"`)
	ask(0, "curve?of=parse", 503, "not-ready")
	ask(1, "curve", 503, "not-ready")
	for _, o := range made {
		a.chart(o)
	}
	ask(0, "top?rough=pixel&from=13%25&to=57%25&metric=bytes", 200, `"plan":"atlas"`)
	ask(0, "tree?rough=1s&from=13%25&to=57%25&metric=bytes", 200, `"plan":"atlas"`)
	ask(0, "top?from=13%25&to=57%25&metric=bytes", 200, `"plan":"summaries"`)
	ask(0, "top?rough=1", 400, "rough")
	ask(0, "curve?of=parse&focus=load", 200, `"most_live_bytes":`)
	ask(0, "curve?of=a(", 400, "regular expression")
	ask(1, "curve", 409, "no-curve")
	// When others need the room, it goes.
	other, err := atlas.Build(t.Context(), made[0].source.Reader, atlas.Options{})
	if err != nil {
		t.Fatal(err)
	}
	made[0].atlasBytes = maxAtlasBytes
	a.shelf.giveAtlas(made[1], other)
	if made[0].atlasBytes != 0 || made[0].atlas.Load() != atlasNone || made[1].atlas.Load() != atlasThere {
		t.Errorf("the older atlas still has %d bytes", made[0].atlasBytes)
	}
}

// TestClosedMeanwhile: a recording that was closed is not kept in memory by its turn for an atlas.
func TestClosedMeanwhile(t *testing.T) {
	t.Parallel()
	a := newAPI(t, small(t))
	defer a.Close()
	a.shelf.made = nil
	o, err := a.shelf.acquire(a.shelf.sets[0].entries[0])
	if err != nil {
		t.Fatal(err)
	}
	a.atlases.turn <- struct{}{} // another one has the turn
	ended := make(chan struct{})
	go func() {
		a.chart(o)
		close(ended)
	}()
	a.shelf.mu.Lock()
	a.shelf.retire(o)
	a.shelf.mu.Unlock()
	a.shelf.release(o)
	<-ended
	if o.atlas.Load() != atlasComing || len(a.shelf.open) != 0 || a.shelf.next != 0 {
		t.Errorf("%d are open, %d are being opened", len(a.shelf.open), a.shelf.next)
	}
}
