package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
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
	waitFor(t, func() bool { return made[0].atlas.Load() == atlasThere && made[1].atlas.Load() == atlasNone })
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

// TestAtOnce: what the statistics of the whole run answer, they do at once; of a part of it, or of sums, nothing.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	paths := apitest.Recordings(t)
	a := newAPI(t, paths[1], paths[4])
	defer a.Close()
	for _, c := range []struct {
		set      int
		question string
		status   int
		part     string
	}{
		{0, "hist?rough=pixel", 200, `"plan":"tally"`},
		{0, "threads?rough=pixel", 200, `"plan":"tally"`},
		{0, "threads", 200, `"plan":"events"`},
		{0, "threads?rough=pixel&from=13%25", 409, "not-at-once"},
		{0, "threads?rough=pixel&size=1..", 409, "not-at-once"},
		{0, "threads?rough=pixel&focus=load", 409, "not-at-once"},
		{1, "threads?rough=pixel", 409, "not-at-once"},
		{1, "hist?rough=pixel", 409, "not-at-once"},
	} {
		w := httptest.NewRecorder()
		at := "/api/v1/r/" + a.shelf.sets[c.set].entries[0].id + "/" + c.question
		a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, at, nil))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.part) {
			t.Errorf("%s: %d %.300s; want %d ... %s ...", c.question, w.Code, w.Body, c.status, c.part)
		}
	}
}

// TestClosedMeanwhile: a recording that was closed gets no atlas.
func TestClosedMeanwhile(t *testing.T) {
	t.Parallel()
	a, all := idle(t, 1)
	o := all[0]
	a.chart(o)
	a.shelf.mu.Lock()
	a.shelf.retire(o)
	a.shelf.mu.Unlock()
	if a.chartNext() || o.atlas.Load() != atlasComing || len(a.shelf.open) != 0 || a.shelf.next != 0 {
		t.Errorf("%d are open, %d are being opened", len(a.shelf.open), a.shelf.next)
	}
}

// TestChartOrder: the atlas of the recording that was asked last comes first, and timelines come after all atlases. An
// atlas does not wait for the timeline that is being prepared.
func TestChartOrder(t *testing.T) {
	t.Parallel()
	a, all := idle(t, 3)
	for _, o := range all {
		a.chart(o)
	}
	a.shelf.release(a.shelf.use(all[0].entry)) // so it is asked last
	const chart, prepare = "atlas", "timeline"
	var got []string
	for range 3 {
		before := slices.Clone(a.atlases.charts)
		if !a.chartNext() {
			t.Fatal("nothing is done")
		}
		for i, o := range all {
			if slices.Contains(before, o) && !slices.Contains(a.atlases.charts, o) {
				got = append(got, fmt.Sprint(chart, " ", i))
			}
		}
		if n := len(a.atlases.timelines); n != len(got) {
			t.Errorf("after %d atlases, %d timelines are to be prepared", len(got), n)
		}
	}
	for len(a.atlases.timelines) > 0 {
		before := slices.Clone(a.atlases.timelines)
		a.chartNext()
		for i, o := range all {
			if slices.Contains(before, o) && !slices.Contains(a.atlases.timelines, o) {
				got = append(got, fmt.Sprint(prepare, " ", i))
			}
		}
	}
	want := "[atlas 0 atlas 2 atlas 1 timeline 0 timeline 2 timeline 1]"
	if fmt.Sprint(got) != want || a.chartNext() {
		t.Errorf("%v, want %s", got, want)
	}
	interrupted := false
	a.atlases.interrupt = func() { interrupted = true }
	if a.chart(all[1]); !interrupted {
		t.Error("a timeline is prepared while a recording waits for its atlas")
	}
}

// idle returns an API whose background does nothing, and its n open recordings, in the order in which they were asked.
func idle(t *testing.T, n int) (*API, []*opened) {
	t.Helper()
	a := newAPI(t, apitest.Recordings(t)[:n]...)
	t.Cleanup(func() { a.Close() })
	a.shelf.made = nil
	var list []*opened
	for _, set := range a.shelf.sets {
		o, err := a.shelf.acquire(t.Context(), set.entries[0])
		if err != nil {
			t.Fatal(err)
		}
		a.shelf.release(o)
		list = append(list, o)
	}
	a.end(errClosed)
	a.workers.Wait()
	a.ctx = t.Context()
	return a, list
}
