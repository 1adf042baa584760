package recording_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// TestMoves compares what changed, and how much was live at most, between any two events of a block with the events.
// Blocks of which there are no moves are decoded, with the same result.
func TestMoves(t *testing.T) {
	t.Parallel()
	moves, none := 0, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var events []event.Event
		var live []int
		for n := range rng.IntN(80) {
			time := int64(100 * n)
			switch k := rng.IntN(10); {
			case k == 0 || seed%10 == 0:
				events = append(events, event.Event{Time: time, Kind: event.Fail, Func: event.Malloc, Stack: 1, Size: 9,
					Ref: event.NoRef})
			case k < 6 || len(live) == 0:
				size := rng.Uint64N(1000)
				if seed%7 == 0 && rng.IntN(40) == 0 {
					size = math.MaxUint32 + rng.Uint64N(9)
				}
				live = append(live, len(events))
				events = append(events, alloc(time, rng.Uint32N(3), size))
			default:
				i := rng.IntN(len(live))
				ref := uint64(0)
				for _, e := range events[:live[i]] {
					if e.Kind == event.Alloc {
						ref++
					}
				}
				e := free(time, ref, events[live[i]])
				if rng.IntN(3) == 0 {
					e.Flags |= event.Temporary
				}
				events = append(events, e)
				live = append(live[:i], live[i+1:]...)
			}
		}
		if len(events) == 0 {
			continue
		}
		r, err := recording.Open(writeBlocks(t, event.Process{PID: 1}, &recording.Ending{}, events))
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.EventBlocks().Moves(0)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := r.EventBlocks().Moves(0); again != m || err != nil {
			t.Fatalf("the moves were not kept: %v", err)
		}
		if m == nil {
			none++
		} else {
			moves++
		}
		for range 20 {
			a, b := rng.Uint64N(uint64(len(events))+1), rng.Uint64N(uint64(len(events))+1)
			from, to := min(a, b), max(a, b)
			var want recording.Changes
			most, at, now := int64(-1), uint64(0), int64(0)
			for i := range events[:to] {
				if now > most && uint64(i) >= from {
					most, at = now, uint64(i)
				}
				now += block.Delta(&events[i])
				if uint64(i) >= from {
					want.AddEvent(&events[i])
				}
			}
			if now > most {
				most, at = now, to
			}
			got, err := timetravel.Changes(t.Context(), r, from, to)
			if err != nil || !reflect.DeepEqual(byStack(got.List()), byStack(want.List())) {
				t.Fatalf("seed %d, %d to %d: %+v, want %+v: %v", seed, from, to, got.List(), want.List(), err)
			}
			bytes, cut, err := timetravel.PeakBetween(t.Context(), r, from, to)
			if err != nil || bytes != uint64(most) || cut != at {
				t.Fatalf("seed %d, peak between %d and %d: %d at %d, want %d at %d: %v", seed, from, to, bytes, cut,
					most, at, err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if moves < 30 || none < 2 {
		t.Errorf("%d blocks had moves, %d had none", moves, none)
	}
}

// TestMomentsOfLongBlocks: times are right also in a block that lasts longer than 32 bits can hold.
func TestMomentsOfLongBlocks(t *testing.T) {
	t.Parallel()
	for _, gap := range []int64{200, 1 << 45} {
		events := []event.Event{alloc(1000, 1, 1), alloc(1000+gap, 1, 2), alloc(1000+2*gap, 2, 3),
			alloc(1000+2*gap, 2, 3)}
		r, err := recording.Open(writeBlocks(t, event.Process{PID: 1}, &recording.Ending{}, events))
		if err != nil {
			t.Fatal(err)
		}
		for cut := 1; cut <= len(events); cut++ {
			at, err := r.TimeAt(uint64(cut))
			if want := events[cut-1].Time / recording.Quantum * recording.Quantum; err != nil || at != want {
				t.Errorf("gap %d: cut %d is at %d, want %d: %v", gap, cut, at, want, err)
			}
		}
		for time, want := range map[int64]uint64{0: 0, 1000: 1, 1000 + gap - 100: 1, 1000 + gap: 2, 1000 + 2*gap: 4} {
			if cut, err := r.CutAt(time); err != nil || cut != want {
				t.Errorf("gap %d: %d is cut %d, want %d: %v", gap, time, cut, want, err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
