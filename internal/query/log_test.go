package query

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// TestLog reads the log of random programs part by part, forwards and backwards, with random filters, and compares it
// with the events that a slow model selects.
func TestLog(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 40))
		s, events := random(t, seed, []int{0, 1, 60, 1500}[seed%4])
		q := randomQuery(rng, s, uint64(len(events)))
		q.At, q.Metrics, q.By = nil, nil, ByStack
		m := newModel(s, events, q)
		from, to := uint64(0), uint64(len(events))
		if q.Range != nil {
			from, to = q.Range.From, min(q.Range.To, to)
		}
		names := KindNames()
		var wanted []string
		for _, name := range names {
			if rng.IntN(3) == 0 {
				wanted = append(wanted, name)
			}
		}
		kinds, unknown := ParseKinds(wanted)
		if unknown != "" {
			t.Fatalf("kind %s is unknown", unknown)
		}
		kindOf := func(e *event.Event) string {
			if (e.Kind == event.Alloc || e.Kind == event.Free) && e.Flags&event.Realloc != 0 {
				return "realloc"
			}
			return e.Kind.String()
		}
		type entry struct{ number, ref uint64 }
		var want []entry
		ref := uint64(0)
		for n := range events {
			e, about := &events[n], event.NoRef
			switch e.Kind {
			case event.Alloc:
				about = ref
				ref++
			case event.Free:
				about = e.Ref
			}
			counts := m.names(e.Stack) != nil
			if about != event.NoRef {
				counts = counts && m.counts(about)
			} else {
				counts = counts && !q.filtersBlocks()
			}
			if counts && uint64(n) >= from && uint64(n) < to && (wanted == nil || slices.Contains(wanted, kindOf(e))) {
				want = append(want, entry{uint64(n), about})
			}
		}
		most := 1 + rng.IntN(40)
		var forwards, backwards []entry
		for at := uint64(0); ; {
			l, err := ReadLog(t.Context(), s, q, LogChoice{At: at, Most: most, Kinds: kinds})
			if err != nil {
				t.Fatal(err)
			}
			if len(l.Events) > most || l.Begin != from || l.End != to {
				t.Fatalf("seed %d: %d events of %d to %d; want at most %d of %d to %d", seed, len(l.Events), l.Begin,
					l.End, most, from, to)
			}
			for _, e := range l.Events {
				forwards = append(forwards, entry{e.Number, e.Ref})
				if e.Number < l.First || e.Number >= l.Next || e.Time != events[e.Number].Time {
					t.Fatalf("seed %d: event %d in a part from %d to %d", seed, e.Number, l.First, l.Next)
				}
			}
			if at = l.Next; at >= to {
				break
			}
		}
		for at := uint64(Unbounded); ; {
			l, err := ReadLog(t.Context(), s, q, LogChoice{At: at, Before: true, Most: most, Kinds: kinds})
			if err != nil {
				t.Fatal(err)
			}
			var part []entry
			for _, e := range l.Events {
				part = append(part, entry{e.Number, e.Ref})
			}
			backwards = append(part, backwards...)
			if at = l.First; at <= from {
				break
			}
		}
		if !slices.Equal(forwards, want) || !slices.Equal(backwards, want) {
			t.Fatalf("seed %d, %+v, kinds %v: %d forwards, %d backwards, want %d", seed, q, wanted, len(forwards),
				len(backwards), len(want))
		}
	}
}

// TestLogMarks: marks come among the events, each once, however many there are at one place.
func TestLogMarks(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	frames := r.code()
	r.w.Node(1, event.Node{PC: 1})
	th := r.thread(0)
	var cuts []uint64
	mark := func(n int) {
		for range n {
			cut := uint64(len(r.events))
			r.w.Mark(event.Mark{Time: r.now, Name: "m", Cut: cut})
			cuts = append(cuts, cut)
		}
	}
	mark(3)
	for i := range 50 {
		r.now += 100
		r.alloc(th, 1, 8, event.Malloc, 0)
		mark([]int{0, 0, 1, 7}[i%4])
	}
	s := r.source(frames)
	for _, most := range []int{1, 2, 5, 1000} {
		for _, before := range []bool{false, true} {
			for _, kinds := range [][]string{nil, {"mark"}} {
				set, _ := ParseKinds(kinds)
				at := uint64(0)
				if before {
					at = Unbounded
				}
				var got []uint64
				events := 0
				for range 1000 {
					c := LogChoice{At: at, Before: before, Most: most, Kinds: set}
					l, err := ReadLog(t.Context(), s, &Query{}, c)
					if err != nil {
						t.Fatal(err)
					}
					events += len(l.Events)
					for _, m := range l.Marks {
						got = append(got, m.Before)
					}
					if !before && l.Next == l.End || before && l.First == l.Begin {
						break
					}
					if at = l.Next; before {
						at = l.First
					}
				}
				slices.Sort(got)
				wantEvents := 50
				if kinds != nil {
					wantEvents = 0
				}
				if !slices.Equal(got, cuts) || events != wantEvents {
					t.Errorf("most %d, before %v, %v: %d events, %d marks %v; want %d and %d %v", most, before, kinds,
						events, len(got), got, wantEvents, len(cuts), cuts)
				}
			}
		}
	}
}
