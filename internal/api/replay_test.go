package api

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/notes"
	"github.com/heaptap/heaptap/internal/recording"
)

// shownReplay is Replayed as the columns have it: numbers as texts.
type shownReplay struct {
	Replay *struct {
		Calls      json.RawMessage
		Verdict    string
		TimesNS    []json.RawMessage `json:"times_ns"`
		Live       []json.RawMessage `json:"live_bytes"`
		Allocators []struct {
			Name    string
			PeakRSS json.RawMessage   `json:"peak_rss_bytes"`
			CPU     json.RawMessage   `json:"cpu_ns"`
			TimesNS []json.RawMessage `json:"times_ns"`
			RSS     []json.RawMessage `json:"rss_bytes"`
		}
	}
	Why string
}

func numeric(t *testing.T, text json.RawMessage) (v float64) {
	t.Helper()
	if len(text) == 0 { // a column of zeros is left out
		return 0
	}
	if _, err := fmt.Sscan(strings.Trim(string(text), `"`), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestReplay: the server shows what heaptap replay --save has kept of this recording, and nothing that is larger than
// what that writes, or is of another recording.
func TestReplay(t *testing.T) {
	t.Parallel()
	path := small(t)
	a := newAPI(t, path)
	defer a.Close()
	ask := func() (r shownReplay) {
		t.Helper()
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/r/"+a.shelf.sets[0].entries[0].id+"/replay", nil))
		if w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		decodeColumns(t, w.Body.Bytes(), &r)
		return r
	}
	if r := ask(); r.Replay != nil || r.Why != "" {
		t.Errorf("nothing was saved: %+v", r)
	}
	rec, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	p := rec.Process()
	rec.Close()
	save := func(s *answer.SavedReplay) {
		t.Helper()
		text, err := json.Marshal(s)
		if err == nil {
			err = notes.Replay.Write(path, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	good := answer.SavedReplay{FormatVersion: answer.Version, PID: p.PID, StartedNS: p.Started, Calls: 7, Verdict: "v",
		TimesNS: []int64{1, 2}, Live: []uint64{3, 4}, Allocators: []answer.SavedReplayResult{
			{Name: "glibc", PeakRSS: 100, TimesNS: []int64{1, 2}, RSS: []float64{50, 100}}}}
	save(&good)
	if r := ask(); r.Replay == nil || numeric(t, r.Replay.Calls) != 7 || len(r.Replay.Allocators) != 1 ||
		numeric(t, r.Replay.Allocators[0].PeakRSS) != 100 || len(r.Replay.Allocators[0].RSS) != 2 {
		t.Errorf("%+v", r)
	}

	other := good
	other.PID++
	save(&other)
	if r := ask(); r.Replay != nil || !strings.Contains(r.Why, "of another recording") {
		t.Errorf("%+v", r)
	}

	hostile := good
	hostile.Verdict = strings.Repeat("x", 100_000)
	hostile.TimesNS, hostile.Live = []int64{5, -1, 3}, []uint64{1}
	hostile.Allocators = make([]answer.SavedReplayResult, 1000)
	hostile.Allocators[0] = answer.SavedReplayResult{Name: strings.Repeat("\xff", 9000), PeakRSS: -1e300, CPU: 1e300,
		TimesNS: make([]int64, 5000), RSS: make([]float64, 4000)}
	save(&hostile)
	r := ask().Replay
	if r == nil || len(r.Verdict) > 1000 || len(r.TimesNS) != len(r.Live) || len(r.Allocators) > 100 {
		t.Fatalf("%.300v", r)
	}
	x := r.Allocators[0]
	if len(x.Name) > 2000 || numeric(t, x.PeakRSS) != 0 || numeric(t, x.CPU) > 1e19 ||
		len(x.TimesNS) != len(x.RSS) || len(x.RSS) > 1000 {
		t.Errorf("%.300v", x)
	}

	for _, text := range []string{"", "{", "[]", `{"allocators":3}`, strings.Repeat("[", 100_000), `{"pid":"x"}`} {
		if err := os.WriteFile(path+".replay", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := ask(); r.Replay != nil || r.Why == "" {
			t.Errorf("%.20q: %+v", text, r)
		}
	}
	// A link is not followed.
	elsewhere := filepath.Join(t.TempDir(), "x")
	if err := os.Rename(path+".replay", elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, path+".replay"); err != nil {
		t.Fatal(err)
	}
	if r := ask(); r.Replay != nil || r.Why == "" {
		t.Errorf("%+v", r)
	}
}
