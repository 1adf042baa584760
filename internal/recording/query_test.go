package recording_test

import (
	"cmp"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// model answers questions by going through all events.
type model []event.Event

func (m model) changes(from, to uint64) []recording.Change {
	at := map[uint32]*recording.Change{}
	for i := from; i < to; i++ {
		e := &m[i]
		if e.Kind != event.Alloc && e.Kind != event.Free {
			continue
		}
		c := at[e.Stack]
		if c == nil {
			c = &recording.Change{Stack: e.Stack}
			at[e.Stack] = c
		}
		if e.Kind == event.Alloc {
			c.Allocs++
			c.Bytes += e.Size
			c.Top = uint64(max(int64(c.Top), int64(c.Bytes-c.FreedBytes)))
			continue
		}
		c.Frees++
		c.FreedBytes += e.Size
		if e.Flags&event.Temporary != 0 {
			c.Temporary++
		}
	}
	list := []recording.Change{}
	for _, c := range at {
		list = append(list, *c)
	}
	return byStack(list)
}

func byStack(list []recording.Change) []recording.Change {
	none := func(c recording.Change) bool { return c.Allocs|c.Frees == 0 }
	list = slices.DeleteFunc(append([]recording.Change{}, list...), none)
	slices.SortFunc(list, func(a, b recording.Change) int { return cmp.Compare(a.Stack, b.Stack) })
	return list
}

func (m model) live(cut uint64) (bytes int64) {
	for i := range cut {
		bytes += block.Delta(&m[i])
	}
	return bytes
}

// TestQueries asks random questions about random recordings, with blocks of few events so that there are summaries of
// several levels, and compares the answers with the model's.
func TestQueries(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for seed := range uint64(5 + 19/thinner) {
		rng := rand.New(rand.NewPCG(seed, 9))
		n := []int{0, 1, 40, 700, 6000}[seed%5]
		p := program{threads: 1 + rng.IntN(3), stacks: 1 + rng.IntN(40), window: 30, burst: 4,
			foreign: rng.IntN(2) == 0,
			lifo:    .5, realloc: .1, long: .1, tick: int64(1 + rng.IntN(150)), odd: false}
		events := model(p.run(seed, n))
		path := filepath.Join(t.TempDir(), "a.htap")
		w, err := recording.Create(path, event.Process{}, recording.Options{Addresses: true})
		if err != nil {
			t.Fatal(err)
		}
		longest := 1 + rng.IntN(40)
		for i := range events {
			if err := w.Event(&events[i]); err != nil {
				t.Fatal(err)
			}
			if rng.IntN(longest) == 0 {
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if seed%3 == 0 {
			err = w.Flush()
			if err == nil {
				err = w.Abort()
			}
		} else {
			err = w.Finish(recording.Ending{})
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := recording.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, last := r.Cuts(); last != uint64(n) {
			t.Fatalf("seed %d: %d cuts, want %d", seed, last, n)
		}
		for range 30 {
			a, b := rng.Uint64N(uint64(n)+1), rng.Uint64N(uint64(n)+1)
			a, b = min(a, b), max(a, b)
			got, err := timetravel.Changes(ctx, r, a, b)
			if err != nil {
				t.Fatal(err)
			}
			if want := events.changes(a, b); !slices.Equal(byStack(got.List()), want) {
				t.Fatalf("seed %d: changes %d to %d:\n%+v\n%+v", seed, a, b, byStack(got.List()), want)
			}
			live, err := timetravel.LiveAt(ctx, r, b)
			if err != nil {
				t.Fatal(err)
			}
			want := map[uint32]timetravel.Live{}
			for _, c := range events.changes(0, b) {
				if c.Allocs != c.Frees || c.Net() != 0 {
					want[c.Stack] = timetravel.Live{Stack: c.Stack, Blocks: c.Allocs - c.Frees, Bytes: uint64(c.Net())}
				}
			}
			for _, l := range live {
				if want[l.Stack] != l {
					t.Fatalf("seed %d: live at %d: %+v, want %+v", seed, b, l, want[l.Stack])
				}
			}
			if len(live) != len(want) {
				t.Fatalf("seed %d: live at %d: %d stacks, want %d", seed, b, len(live), len(want))
			}
			// The peak between two cuts, which may be one.
			bytes, cut, err := timetravel.PeakBetween(ctx, r, a, a)
			if err != nil || int64(bytes) != events.live(a) || cut != a {
				t.Fatalf("seed %d: peak between %d and %d: %d at %d, want %d (%v)", seed, a, a, bytes, cut,
					events.live(a), err)
			}
			best, at := events.live(a), a
			for c, l := a, best; c < b; c++ {
				if l += block.Delta(&events[c]); l > best {
					best, at = l, c+1
				}
			}
			if n > 0 {
				bytes, cut, err := timetravel.PeakBetween(ctx, r, a, b)
				if err != nil || a < b && (bytes != uint64(best) || cut != at) {
					t.Fatalf("seed %d: peak between %d and %d: %d at %d, want %d at %d (%v)", seed, a, b, bytes, cut,
						best, at, err)
				}
			}
			// Times.
			if n > 0 {
				x := events[rng.IntN(n)].Time + rng.Int64N(300) - 150
				cut, err := r.CutAt(x)
				wantCut := uint64(0)
				for i := range events {
					if x >= 0 && events[i].Time/recording.Quantum <= x/recording.Quantum {
						wantCut = uint64(i) + 1
					}
				}
				if err != nil || cut != wantCut {
					t.Fatalf("seed %d: the cut at %d is %d, want %d (%v)", seed, x, cut, wantCut, err)
				}
				if got, err := r.TimeAt(b); err != nil || b > 0 && got != events[b-1].Time {
					t.Fatalf("seed %d: time at cut %d: %d, want %d (%v)", seed, b, got, events[max(b, 1)-1].Time, err)
				}
			}
			i := a
			if err := r.EventsBetween(ctx, a, b, func(k, _ uint64, e *event.Event) bool {
				if k != i || e.Time != events[i].Time || e.Ref != events[i].Ref || e.Stack != events[i].Stack ||
					e.Addr != events[i].Addr {
					t.Fatalf("seed %d: event %d is %+v, want %d %+v", seed, k, *e, i, events[i])
				}
				i++
				return true
			}); err != nil || i != b {
				t.Fatalf("seed %d: events %d to %d end at %d: %v", seed, a, b, i, err)
			}
			// Levels and series.
			steps := 1 + rng.IntN(20)
			levels, err := timetravel.Levels(ctx, r, a, b, steps)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range levels {
				if int64(l.Bytes) != events.live(l.Cut) || l.Top < l.Bytes {
					t.Fatalf("seed %d: level at %d: %+v, want %d", seed, l.Cut, l, events.live(l.Cut))
				}
			}
			var all recording.Changes
			lastCut := uint64(0)
			if err := timetravel.Series(ctx, r, a, b, steps, func(cut uint64, list []recording.Change) {
				if cut < lastCut {
					t.Fatalf("seed %d: series goes back from %d to %d", seed, lastCut, cut)
				}
				lastCut = cut
				for j := range list {
					all.Add(&list[j])
				}
				if got := byStack(all.List()); !slices.Equal(got, events.changes(0, cut)) {
					t.Fatalf("seed %d: series of %d to %d in %d steps at %d is wrong", seed, a, b, steps, cut)
				}
			}); err != nil || lastCut != b {
				t.Fatalf("seed %d: series ends at %d, want %d: %v", seed, lastCut, b, err)
			}
		}
		ref := uint64(0)
		for i := range events {
			if events[i].Kind != event.Alloc {
				continue
			}
			if rng.IntN(20) == 0 {
				wantDied := uint64(0)
				for j := range events {
					if events[j].Kind == event.Free && events[j].Ref == ref {
						wantDied = uint64(j)
					}
				}
				born, died, at, diedAt, err := timetravel.History(ctx, r, ref)
				if err != nil || born == nil || at != uint64(i) || diedAt != wantDied ||
					(died != nil) != (wantDied != 0) {
					t.Fatalf("seed %d: history of %d: %v %v %d %d %v, want %d %d", seed, ref, born, died, at, diedAt,
						err, i, wantDied)
				}
			}
			ref++
		}
		cut := rng.Uint64N(uint64(n) + 1)
		var sum int64
		add := func(b *event.Block) bool { sum += int64(b.Size); return true }
		if err := timetravel.BlocksAt(ctx, r, cut, add); err != nil ||
			sum != events.live(cut) {
			t.Fatalf("seed %d: blocks at %d have %d bytes, want %d: %v", seed, cut, sum, events.live(cut), err)
		}
		r.Close()
	}
}
