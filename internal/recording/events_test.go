package recording_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// write makes a recording of events, in batches of changing length.
func write(t testing.TB, path string, events []event.Event, opts recording.Options) {
	t.Helper()
	writeOf(t, path, event.Process{PID: 1}, events, opts)
}

func writeOf(t testing.TB, path string, p event.Process, events []event.Event, opts recording.Options) {
	t.Helper()
	w, err := recording.Create(path, p, opts)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; len(events) > 0; n = n*7%5000 + 1 {
		n := min(n, len(events))
		if err := w.Events(events[:n]); err != nil {
			t.Fatal(err)
		}
		events = events[n:]
	}
	if err := w.Finish(recording.Ending{}); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) []event.Event {
	t.Helper()
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []event.Event
	if err := r.Events(func(e *event.Event) bool { out = append(out, *e); return true }); err != nil {
		t.Fatal(err)
	}
	if !r.Complete() {
		t.Fatalf("not complete: %v", r.Damage())
	}
	return out
}

func TestEventsRoundTrip(t *testing.T) {
	t.Parallel()
	list := map[string]program{
		"odd": {threads: 5, stacks: 3000, skew: 1.2, window: 5000, burst: 3, foreign: true, repeat: .5, lifo: .5,
			realloc: .1, tick: 100, odd: true, allFrees: true},
		"many stacks":  {threads: 2, stacks: 300_000, skew: 1.01, window: 100_000, burst: 20, tick: 10},
		"many threads": {threads: 700, stacks: 30, window: 10_000, burst: 2, tick: 10_000_000},
	}
	for name, p := range programs {
		list[name] = p
	}
	for name, p := range list {
		for _, addresses := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", name, addresses), func(t *testing.T) {
				t.Parallel()
				n := 60_000
				if !addresses && name == "many stacks" || name == "cc1plus" && !testing.Short() {
					n = recording.BlockEvents + 20_000
				}
				want := p.run(1, n)
				path := filepath.Join(t.TempDir(), "a.htap")
				write(t, path, want, recording.Options{Addresses: addresses})
				got := read(t, path)
				if len(got) != len(want) {
					t.Fatalf("%d events became %d", len(want), len(got))
				}
				for i := range want {
					w := want[i]
					if !addresses && w.Kind != event.Map && w.Kind != event.Unmatched {
						w.Addr = 0
					}
					if got[i] != w {
						t.Fatalf("event %d:\n%+v became\n%+v", i, w, got[i])
					}
				}
			})
		}
	}
}
