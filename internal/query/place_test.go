package query

import (
	"regexp"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
)

// TestFocusOnLine compares what goes through a source line with a count over all events.
func TestFocusOnLine(t *testing.T) {
	t.Parallel()
	focused := 0
	for seed := range uint64(8) {
		s, events := random(t, seed, 300)
		var want uint64
		for i := range events {
			on := func(f profile.Frame) bool { return f.File == "x.c" && f.Line == 2 }
			if e := &events[i]; e.Kind == event.Alloc && slices.ContainsFunc(s.Frames(e.Stack), on) {
				want += e.Size
			}
		}
		for _, pattern := range []string{`^x\.c:2$`, `x.c:2$`} {
			q := &Query{By: ByFunction, Metrics: []Metric{Bytes}, Focus: each(pattern)}
			l, err := List(t.Context(), s, q)
			if err != nil {
				t.Fatal(err)
			}
			if got := l.Total.Bytes; got != want {
				t.Errorf("seed %d: %s selects %d bytes, want %d", seed, pattern, got, want)
			}
		}
		if want > 0 {
			focused++
		}
	}
	if focused == 0 {
		t.Error("no program allocates through that line")
	}
}

// TestPlacesInPatterns: names are not searched for lines unless a pattern means one.
func TestPlacesInPatterns(t *testing.T) {
	t.Parallel()
	f := &profile.Frame{Function: "std::f", File: "./src/../a.c", Line: 31, Module: "/bin/x"}
	for pattern, want := range map[string]bool{
		"^a.c:31$": true, "a.c:3$": false, ":31": true, "31": false, "c:": false, "^std::f$": true, "::3": false,
	} {
		if got := matches(regexp.MustCompile(pattern), f); got != want {
			t.Errorf("%s: %t", pattern, got)
		}
	}
}
