package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording"
)

// inBlocks writes a recording with many small blocks of events. A rare stack allocates in three of them.
func inBlocks(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "blocks.htap")
	process := event.Process{PID: 31, Exe: "/bin/app", Args: []string{"app"}}
	w, err := recording.Create(path, process, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Thread(0, event.Thread{TID: 31, Name: "app"})
	frames := make(map[uint32][]event.Frame)
	for pc, name := range []string{"main", "often", "rare"} {
		id := uint32(pc + 1)
		w.PC(id, event.PC{Addr: uint64(id) << 12})
		w.Node(id, event.Node{Parent: min(1, id-1), PC: id})
		frames[id] = []event.Frame{{Function: name, File: name + ".c", Line: 7}}
	}
	for n := range 8000 {
		e := event.Event{Time: int64(n) * 1000, Kind: event.Alloc, Stack: 2, Size: uint64(n % 100), Ref: event.NoRef}
		if n%3200 == 7 {
			e.Stack = 3
		}
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
		if n%40 == 39 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Symbols(frames); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(recording.Ending{End: 8_000_000, Exited: true}); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEstimates: rough answers to what only events tell are estimates if they are sums. All others are exact.
func TestEstimates(t *testing.T) {
	t.Parallel()
	a, err := New(t.Context(), Options{Finder: &input.Finder{}, Args: []string{inBlocks(t)},
		Sample: &query.Sample{Events: 1500, Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.patience = time.Hour // answers come without progress, however slow the machine is
	if err := a.shelf.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	get := func(question string) string {
		t.Helper()
		w := httptest.NewRecorder()
		at := "/api/v1/r/" + a.shelf.sets[0].entries[0].id + "/" + question
		r := httptest.NewRequest(http.MethodGet, at, nil)
		r.Header.Set("Accept", "application/json")
		a.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", question, w.Code, w.Body)
		}
		return w.Body.String()
	}
	const sums = "top?size=..50&metric=allocations,bytes"
	for _, exact := range []string{sums, "top?rough=pixel&metric=bytes", "top?rough=pixel&size=..50&metric=bytes,peak",
		"tree?rough=pixel&size=..50", "top?rough=pixel&size=..50&lifetime=1s..&metric=bytes",
		"top?rough=pixel&size=..50&metric=bytes&to=10%25", "hist?size=..50", "threads?size=..50"} {
		if text := get(exact); strings.Contains(text, `"estimate"`) || strings.Contains(text, "_margin") {
			t.Errorf("%s is estimated: %.600s", exact, text)
		}
	}
	for _, rough := range []string{sums + "&rough=pixel", "tree?rough=pixel&size=..50&metric=bytes",
		"tree?rough=pixel&size=..50&metric=bytes&up", "tree?rough=pixel&size=..50&metric=bytes&of=often",
		"top?rough=1ms&by=thread&size=..50&metric=bytes"} {
		text := get(rough)
		if !strings.Contains(text, `"estimate":{"share":0.`) || !strings.Contains(text, "bytes_margin") {
			t.Errorf("%s is not estimated: %.600s", rough, text)
		}
	}
	hist := get("hist?size=..50&rough=pixel&heat=time,lifetime")
	if !strings.Contains(hist, `"estimate":{"share":0.`) || !strings.Contains(hist, `"margins":{"sizes":`) {
		t.Errorf("the histogram is not estimated: %.600s", hist)
	}
	for _, exact := range []string{"change?size=..50&metric=bytes&from=10%25&to=90%25", "rise?size=..50"} {
		if one, two := get(exact), get(exact+"&rough=pixel"); one != two {
			t.Errorf("%s is estimated: %.600s", exact, two)
		}
	}
	if one, two := get(sums+"&rough=pixel"), get(sums+"&rough=pixel"); one != two {
		t.Error("the same question has two estimates")
	}
	var got struct {
		Estimate struct {
			Share, Confidence, Blocks json.Number
			OfBlocks                  json.Number `json:"of_blocks"`
		}
		Total map[string]*json.Number
		Rows  []struct {
			Group struct{ Function string }
			Total map[string]*json.Number
		}
	}
	ask(t, a, sums+"&rough=pixel", &got)
	number := func(n json.Number) float64 {
		x, err := n.Float64()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	e := got.Estimate
	if blocks := number(e.Blocks); number(e.OfBlocks) != 200 || blocks < 20 || blocks > 60 ||
		number(e.Confidence) != query.Confidence || number(e.Share) != blocks/200 {
		t.Errorf("%+v", e)
	}
	const truth = 51 * 80 // allocations of up to 50 bytes
	if n, m := number(*got.Total["allocations"]), number(*got.Total["allocations_margin"]); n-m > truth ||
		n+m < truth || m > truth/2 {
		t.Errorf("%g ± %g allocations, want %d", n, m, truth)
	}
	rare := false
	for _, r := range got.Rows {
		margin := r.Total["bytes_margin"]
		switch r.Group.Function {
		case "rare":
			rare = true
			if margin != nil {
				t.Errorf("rare ± %s", *margin)
			}
		default:
			if margin == nil {
				t.Errorf("%s has no interval", r.Group.Function)
			}
		}
	}
	if !rare {
		t.Error("rare is not among the rows: its blocks differ from all others, and are strata of their own")
	}
}
