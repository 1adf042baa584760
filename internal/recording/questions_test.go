package recording_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// TestQuestionsAtOnce: many goroutines may ask a reader at once; each gets the same answers as if it were alone.
func TestQuestionsAtOnce(t *testing.T) {
	t.Parallel()
	file := levels(t, 40, true)
	r, err := recording.NewReader(bytes.NewReader(file), int64(len(file)), "x.htap")
	if err != nil {
		t.Fatal(err)
	}
	_, n := r.Cuts()
	want := questions(r, n)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 5 {
				if got := questions(r, n); !reflect.DeepEqual(got, want) {
					t.Error("other answers")
				}
				if _, err := r.Recount(); err != nil || !r.Complete() {
					t.Error(err, r.Damage())
				}
			}
		})
	}
	wait.Wait()
}

// TestQuestionsOddEvents: events that change nothing do not change the answers, and live blocks have all their fields.
func TestQuestionsOddEvents(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		events := model(oddEvents(seed, 500))
		path := filepath.Join(t.TempDir(), "a.htap")
		w, err := recording.Create(path, event.Process{}, recording.Options{Addresses: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range events {
			if events[i].Kind <= event.Free {
				events[i].Size %= 1 << 40
			}
			err := w.Event(&events[i])
			if i%9 == 0 {
				err = errors.Join(err, w.Flush())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Finish(recording.Ending{}); err != nil {
			t.Fatal(err)
		}
		r, err := recording.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		n := uint64(len(events))
		best, at := int64(-1), uint64(0)
		for c := range n + 1 {
			if l := events.live(c); l > best {
				best, at = l, c
			}
		}
		if bytes, cut, err := timetravel.PeakBetween(t.Context(), r, 0, n); err != nil || bytes != uint64(best) ||
			cut != at {
			t.Errorf("seed %d: peak %d at %d, want %d at %d (%v)", seed, bytes, cut, best, at, err)
		}
		for cut := uint64(0); cut <= n; cut += 61 {
			c, err := timetravel.Changes(t.Context(), r, cut/2, cut)
			if err != nil || !slices.Equal(byStack(c.List()), events.changes(cut/2, cut)) {
				t.Fatalf("seed %d: changes %d to %d: %v", seed, cut/2, cut, err)
			}
			var want, got []event.Block
			for i, e := range events[:cut] {
				switch e.Kind {
				case event.Alloc:
					ref := uint64(0)
					for _, before := range events[:i] {
						if before.Kind == event.Alloc {
							ref++
						}
					}
					want = append(want, event.Block{Addr: e.Addr, Size: e.Size, Stack: e.Stack, Thread: e.Thread,
						Ref: ref, Born: e.Time,
						Sampled: e.Flags&event.Sampled != 0})
				case event.Free:
					want = slices.DeleteFunc(want, func(b event.Block) bool { return b.Ref == e.Ref })
				}
			}
			err = timetravel.BlocksAt(t.Context(), r, cut, func(b *event.Block) bool {
				got = append(got, *b)
				return true
			})
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("seed %d: blocks at %d:\n%+v\nwant\n%+v (%v)", seed, cut, got, want, err)
			}
		}
	}
}

// TestQuestionsCanceled: if the context is cancelled, there is no answer.
func TestQuestionsCanceled(t *testing.T) {
	t.Parallel()
	file := levels(t, 40, true)
	r, err := recording.NewReader(bytes.NewReader(file), int64(len(file)), "x.htap")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, n := r.Cuts()
	_, changes := timetravel.Changes(ctx, r, 0, n)
	_, live := timetravel.LiveAt(ctx, r, n/2-1)
	_, levels := timetravel.Levels(ctx, r, 0, n, 1000)
	series := timetravel.Series(ctx, r, 0, n, 3, func(uint64, []recording.Change) {})
	for what, err := range map[string]error{"changes": changes, "live": live, "levels": levels, "series": series,
		"events": r.EventsBetween(ctx, 0, n, func(_, _ uint64, _ *event.Event) bool { return true }),
		"walk":   r.Walk(ctx, 0, n, func(_, _ uint64, _ *event.Event) bool { return true }),
		"blocks": timetravel.BlocksAt(ctx, r, n, func(*event.Block) bool { return true })} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
