package query

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// TestMain makes sure that several blocks of events are decoded at a time, on any machine.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0)))
	os.Exit(m.Run())
}

// sameExpressions compares regular expressions by what they say.
var sameExpressions = cmp.Comparer(func(a, b *regexp.Regexp) bool { return fmt.Sprint(a) == fmt.Sprint(b) })

// TestThreads: three questions asked at once have the answers that each has alone.
func TestThreads(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 9))
		s, events := random(t, seed, []int{0, 1, 120, 300}[seed%4])
		q := randomQuery(rng, s, uint64(len(events)))
		got, err := Threads(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		want := &ThreadTables{}
		about := *q
		about.By = ByThread
		if want.Threads, err = Flat(t.Context(), s, &about); err != nil {
			t.Fatal(err)
		}
		about.By = ByAllocation
		if want.Calls, err = Flat(t.Context(), s, &about); err != nil {
			t.Fatal(err)
		}
		if want.Matrix, err = Cross(t.Context(), s, &about); err != nil {
			t.Fatal(err)
		}
		want.Freed = want.Matrix.Freed()
		if d := cmp.Diff(want, got, sameExpressions); d != "" {
			t.Fatalf("seed %d, %+v:\n%s", seed, q, d)
		}
	}
}

// TestDamagedBlock: if a block in the middle is damaged, what precedes it counts, nothing after it does, and Missing is
// the message of the first damage, whatever the question.
func TestDamagedBlock(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 10))
		r, frames := randomProgram(t, seed, 300)
		whole, events := r.source(frames), r.events
		var of []recording.Block
		for _, b := range whole.Reader.Blocks() {
			if b.Threads > 0 { // it is a block of events
				of = append(of, b)
			}
		}
		if len(of) < 3 {
			continue
		}
		bad := of[rng.IntN(len(of))]
		s := flipped(t, r.path, bad.Offset+bad.Size-1)
		cut := bad.FirstEvent
		for _, by := range []By{ByThread, BySizeClass, ByAllocation} {
			q := &Query{By: by, Metrics: []Metric{Bytes, Time, Copied, OwnPeak, Deallocations}}
			got, err := Flat(t.Context(), s, q)
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			if err := s.Reader.EventsBetween(t.Context(), 0, uint64(len(events)),
				func(_, _ uint64, _ *event.Event) bool { return true }); err != nil {
				said = err.Error()
			}
			if got.Missing != said || said == "" {
				t.Errorf("seed %d: %q is missing, want %q", seed, got.Missing, said)
			}
			q.Range = &Range{0, cut}
			want, err := Flat(t.Context(), whole, q)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want.Rows, got.Rows); d != "" {
				t.Errorf("seed %d, damaged from event %d of %d, by %s:\n%s", seed, cut, len(events), by, d)
			}
		}
	}
}

// flipped opens a copy of a recording with one changed byte.
func flipped(t *testing.T, path string, at int64) *Source {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[at] ^= 1
	r, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), "a.htap")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
