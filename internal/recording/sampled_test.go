package recording_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
	"github.com/heaptap/heaptap/internal/tally"
)

// sampledEvents returns a program's events, in which one allocation of three is sampled.
func sampledEvents(seed uint64, n int) []event.Event {
	return program{threads: 3, stacks: 9, window: 25, burst: 4, foreign: true, lifo: .5, realloc: .1, long: .1,
		tick:    100,
		sampled: true}.run(seed, n)
}

var samplings = []event.Sampling{{Bytes: 1 << 10}, {Bytes: 1 << 40}, {Bytes: 1}, {Calls: 3}, {}}

// TestSampledWeights: a reader gives the events the weights that the writer counted, wherever it begins to read, and
// whether the kind of sampling was known from the beginning or only later.
func TestSampledWeights(t *testing.T) {
	t.Parallel()
	for i, sampling := range samplings {
		events := sampledEvents(uint64(i), 5000)
		path := filepath.Join(t.TempDir(), "a.htap")
		later := i%2 == 1
		p := event.Process{PID: 1, Sampling: sampling}
		if later {
			p.Sampling = event.Sampling{}
		}
		w, err := recording.Create(path, p, recording.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if later {
			w.Sampling(sampling)
		}
		for k := range events {
			if err := w.Event(&events[k]); err != nil {
				t.Fatal(err)
			}
			if k%700 == 0 {
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Finish(recording.Ending{}); err != nil {
			t.Fatal(err)
		}
		r, err := recording.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Process(); got.Sampling != sampling || got.PID != 1 {
			t.Errorf("%v: the recording says %+v", sampling, got)
		}
		naive := naiveWeights(events, sampling)
		n := 0
		counted := tally.New()
		if err := r.Events(func(e *event.Event) bool {
			if blocks, bytes := e.Weight(); blocks != naive[n][0] || bytes != naive[n][1] {
				t.Fatalf("%v: event %d stands for %d blocks, %d bytes, want %d", sampling, n, blocks, bytes, naive[n])
			}
			counted.Add(e)
			n++
			return true
		}); err != nil || n != len(events) {
			t.Fatal(n, err)
		}
		stored, err := r.Tally()
		if err != nil || !reflect.DeepEqual(stored, counted.Summary()) {
			t.Errorf("%v: the writer has counted %+v, the reader %+v (%v)", sampling, stored.Totals, counted.Totals(),
				err)
		}
		if stored.Totals.Samples == 0 || stored.Totals.LeakedBytes() > 1<<62 {
			t.Errorf("%v: %+v", sampling, stored.Totals)
		}
		weighedChanges(t, r, naive, events)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// naiveWeights returns the weights of events by the definition.
func naiveWeights(events []event.Event, s event.Sampling) [][2]uint64 {
	var list [][2]uint64
	var allocs uint64
	for _, e := range events {
		ref := e.Ref
		if e.Kind == event.Alloc {
			ref = allocs
			allocs++
		}
		if e.Flags&event.Sampled == 0 {
			list = append(list, [2]uint64{1, e.Size})
			continue
		}
		s.Weigh(&e, ref)
		n, b := e.Weight()
		list = append(list, [2]uint64{n, b})
	}
	return list
}

// weighedChanges compares summaries, heads and decoded events with sums of weights.
func weighedChanges(t *testing.T, r *recording.Reader, weights [][2]uint64, events []event.Event) {
	t.Helper()
	for from := 0; from <= len(events); from += 611 {
		for to := from; to <= len(events); to += 397 {
			var bytes, blocks int64
			for k := from; k < to; k++ {
				switch events[k].Kind {
				case event.Alloc:
					blocks += int64(weights[k][0])
					bytes += int64(weights[k][1])
				case event.Free:
					blocks -= int64(weights[k][0])
					bytes -= int64(weights[k][1])
				}
			}
			c, err := timetravel.Changes(t.Context(), r, uint64(from), uint64(to))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range c.List() {
				blocks -= int64(s.Allocs - s.Frees)
				bytes -= s.Net()
			}
			if blocks != 0 || bytes != 0 {
				t.Fatalf("events %d to %d: changes differ by %d blocks, %d bytes", from, to, blocks, bytes)
			}
		}
	}
}

func TestSampledRoundTrip(t *testing.T) {
	t.Parallel()
	events := sampledEvents(5, 30_000)
	path := filepath.Join(t.TempDir(), "a.htap")
	writeOf(t, path, event.Process{Sampling: event.Sampling{Bytes: 4096}}, events, recording.Options{Addresses: true})
	got := read(t, path)
	for i := range events {
		if got[i] != events[i] { // Writer.Event has weighed them
			t.Fatalf("event %d:\n%+v became\n%+v", i, events[i], got[i])
		}
	}
}

// TestSampledDamage: the events of a damaged block before the damage have weights, too.
func TestSampledDamage(t *testing.T) {
	t.Parallel()
	events := sampledEvents(7, 60)
	for i := range events {
		if events[i].Kind == event.Alloc {
			events[i].Align = 64 // which is rare, and lies elsewhere in the block
		}
	}
	path := filepath.Join(t.TempDir(), "a.htap")
	sampling := event.Sampling{Bytes: 4096}
	w, err := recording.Create(path, event.Process{Sampling: sampling}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if err := w.Event(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Flush(), w.Abort()); err != nil { // an index would know that the block is damaged
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	cut := 0
	for range 4000 / thinner {
		b := bytes.Clone(whole)
		b[rng.IntN(len(b))] = byte(rng.IntN(256))
		r, err := recording.NewReader(bytes.NewReader(fixChecksums(b)), int64(len(b)), "a")
		if err != nil || r.Process().Sampling != sampling {
			continue
		}
		n := 0
		err = r.Walk(t.Context(), 0, math.MaxUint64, func(_, ref uint64, e *event.Event) bool {
			n++
			want := *e
			if sampling.Weigh(&want, ref); *e != want {
				t.Fatalf("%+v, want %+v", *e, want)
			}
			return true
		})
		if err != nil && n > 0 {
			cut++
		}
	}
	if cut == 0 {
		t.Errorf("only %d blocks ended early", cut)
	}
}
