package query

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/heaptap/heaptap/internal/event"
)

// TestJumps: reallocations of known sizes, also with their two events in different blocks of events, and other threads
// in between.
func TestJumps(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	one, two := r.thread(0), r.thread(1)
	random := rand.New(rand.NewPCG(1, 2))
	want := Jumps{}
	a, b := r.alloc(one, 0, 10, event.Malloc, 0), r.alloc(two, 0, 1000, event.Malloc, 0)
	for i := range 300 {
		r.now += 100
		switch i % 3 {
		case 0: // 256 more, and moved
			a = r.realloc(one, a, 0, 10+uint64(i/3+1)*256, false)
			want.Grown[9].add(Bucket{1, 256})
		case 1: // 7 less, in place
			b = r.realloc(two, b, 0, 1000-uint64(i/3+1)*7, true)
			want.Shrunk[3].add(Bucket{1, 7})
			want.InPlace++
		default:
			b = r.realloc(two, b, 0, 1000-uint64(i/3+1)*7, false)
			want.Same++
		}
		if random.IntN(10) == 0 {
			if err := r.w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	h, err := Distribute(t.Context(), r.source(nil), &Query{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, h.Jumps); d != "" || h.Jumps.Count() != 300 {
		t.Error(d)
	}
	var pairs []SizePair
	for i := range uint64(100) {
		large := 1000 - (i+1)*7
		pairs = append(pairs, SizePair{10 + i*256, 10 + (i+1)*256, 1, 0}, SizePair{large + 7, large, 1, 1},
			SizePair{large, large, 1, 0})
	}
	if d := cmp.Diff(pairs, h.Pairs, cmpopts.SortSlices(func(a,
		b SizePair) bool {
		return a.Old < b.Old || a.Old == b.Old && a.New < b.New
	})); d != "" {
		t.Error(d)
	}
}

// TestJumpsAcrossBlocks: a block of events may begin between the deallocation and the allocation of a reallocation.
func TestJumpsAcrossBlocks(t *testing.T) {
	t.Parallel()
	freed := event.Event{Kind: event.Free, Thread: 3, Flags: event.Realloc, Size: 100}
	made := event.Event{Kind: event.Alloc, Thread: 3, Flags: event.Realloc, Size: 130}
	other := event.Event{Kind: event.Alloc, Thread: 4, Flags: event.Realloc, Size: 1}
	var all, first, second, third blockJumps
	first.observe(&freed, false)
	second.observe(&other, true) // of a block that was not live
	third.observe(&made, true)
	third.observe(&made, true) // likewise
	for _, s := range []*blockJumps{&first, &second, &third} {
		all.add(s)
	}
	want := Jumps{}
	want.Grown[5].add(Bucket{1, 30})
	if d := cmp.Diff(want, all.Jumps); d != "" {
		t.Error(d)
	}
}

// modelJump counts the last of the events, if it is the allocation of a reallocation.
func modelJump(j *Jumps, m *Moves, events []event.Event) {
	last := len(events) - 1
	now := &events[last]
	if now.Flags&event.Realloc == 0 {
		return
	}
	for i := last - 1; i >= 0; i-- {
		old := &events[i]
		if old.Kind > event.Free || old.Thread != now.Thread || old.Flags&event.Realloc == 0 {
			continue
		}
		if old.Kind == event.Free {
			inPlace := now.Flags&event.InPlace != 0
			j.take(&jump{old: old.Size, now: now.Size, inPlace: inPlace, weight: 1})
			move := &m[bits.Len64(old.Size)][bits.Len64(now.Size)]
			if move.Count++; inPlace {
				move.InPlace++
			} else {
				move.Copied += min(old.Size, now.Size)
			}
		}
		return
	}
}
