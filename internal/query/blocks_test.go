package query

import (
	"cmp"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// TestBlocks compares lists of live blocks with a look at all events.
func TestBlocks(t *testing.T) {
	t.Parallel()
	listed := 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 12))
		s, events := random(t, seed, 30+int(seed)*20)
		for range 12 {
			q := randomQuery(rng, s, uint64(len(events)))
			q.Hide, q.By = nil, ByStack
			m := newModel(s, events, q)
			if q.At == nil && m.from == 0 && m.to == uint64(len(events)) {
				m.at = m.peak
			}
			var want []uint64
			var sum Amount
			for ref := range uint64(len(m.born)) {
				born, end := m.births[ref], uint64(len(events))
				if died, ok := m.deaths[ref]; ok {
					end = died
				} else {
					end++
				}
				if born >= m.from && born < m.to && born < m.at && end >= m.at && m.counts(ref) &&
					m.names(m.born[ref].Stack) != nil {
					want = append(want, ref)
					sum.add(Amount{m.born[ref].Size, 1})
				}
			}
			choice := BlockChoice{Order: BlockOrder(rng.IntN(int(ByLocation))), Most: 1 + rng.IntN(40)}
			slices.SortFunc(want, func(a, b uint64) int {
				switch choice.Order {
				case Largest:
					return cmp.Or(cmp.Compare(m.born[b].Size, m.born[a].Size), cmp.Compare(a, b))
				case Newest:
					return cmp.Compare(b, a)
				}
				return cmp.Compare(a, b)
			})
			want = want[:min(len(want), choice.Most)]
			got, err := FindBlocks(t.Context(), s, q, choice)
			if err != nil {
				t.Fatalf("seed %d, %+v: %v", seed, q, err)
			}
			if total := (Amount{got.Total.KeptBytes, got.Total.KeptBlocks}); total != sum {
				t.Fatalf("seed %d, %+v: %+v in all, want %+v", seed, q, total, sum)
			}
			var refs []uint64
			for i := range got.List {
				b := &got.List[i]
				refs = append(refs, b.Ref)
				e := m.born[b.Ref]
				if b.Size != e.Size || b.Born != e.Time || b.Stack != e.Stack || b.Thread != e.Thread ||
					b.Event != m.births[b.Ref] || b.Usable != e.Usable || b.Func != e.Func {
					t.Fatalf("seed %d: %+v, want %+v", seed, b, e)
				}
			}
			if !slices.Equal(refs, want) {
				t.Fatalf("seed %d, %+v, by %v: %v, want %v", seed, q, choice.Order, refs, want)
			}
			listed += len(want)
		}
	}
	if listed < 2000 {
		t.Errorf("only %d blocks", listed)
	}
}

// TestBiography compares the forms of each block, from its allocation to its end, with those that all events show.
func TestBiography(t *testing.T) {
	t.Parallel()
	most := 0
	for seed := range uint64(12) {
		s, events := random(t, seed, 300)
		m := newModel(s, events, &Query{})
		next := make(map[uint64]uint64) // by realloc
		pending := make(map[uint32]uint64)
		for n := range events {
			switch e := &events[n]; {
			case e.Flags&event.Realloc == 0:
			case e.Kind == event.Free:
				pending[e.Thread] = e.Ref
			case e.Kind == event.Alloc:
				next[pending[e.Thread]] = m.number[n]
			}
		}
		previous := make(map[uint64]uint64)
		for a, b := range next {
			previous[b] = a
		}
		for ref := range uint64(len(m.born)) {
			want := []uint64{ref}
			for a, ok := previous[ref]; ok; a, ok = previous[a] {
				want = append(want, a)
			}
			slices.Reverse(want)
			asked := len(want) - 1
			for b, ok := next[ref]; ok; b, ok = next[b] {
				want = append(want, b)
			}
			got, err := Tell(t.Context(), s, &Query{}, ref)
			if err != nil {
				t.Fatal(err)
			}
			var refs []uint64
			for i := range got.Forms {
				f := &got.Forms[i]
				refs = append(refs, f.Ref)
				died, ok := m.deaths[f.Ref]
				if ok != (f.End != nil) || ok && (f.EndEvent != died || f.End.Time != events[died].Time) {
					t.Fatalf("seed %d: #%d ended at %d, %+v, want %d", seed, f.Ref, f.EndEvent, f.End, died)
				}
			}
			if !slices.Equal(refs, want) || got.Asked != asked || got.Earlier || got.Later {
				t.Fatalf("seed %d: #%d: %v, want %v; it is number %d", seed, ref, refs, want, got.Asked)
			}
			most = max(most, len(want))
			// What the same thread allocated before and after.
			var before, after []uint64
			for other := range m.born {
				if m.born[other].Thread == m.born[ref].Thread && uint64(other) < ref {
					before = append(before, uint64(other))
				} else if m.born[other].Thread == m.born[ref].Thread && uint64(other) > ref && len(after) < neighbours {
					after = append(after, uint64(other))
				}
			}
			before = before[max(0, len(before)-neighbours):]
			if !slices.Equal(refsOf(got.Before), before) || !slices.Equal(refsOf(got.After), after) {
				t.Fatalf("seed %d: #%d: between %v and %v, want %v and %v", seed, ref, refsOf(got.Before),
					refsOf(got.After), before, after)
			}
		}
		if _, err := Tell(t.Context(), s, &Query{}, uint64(len(m.born))); err == nil {
			t.Error("a number that no allocation has: no error")
		}
		choice := BlockChoice{Most: 1, Addr: new(uint64)}
		if _, err := FindBlocks(t.Context(), s, &Query{}, choice); err != errNoAddresses {
			t.Errorf("without addresses: %v", err)
		}
	}
	if most < 3 {
		t.Errorf("at most %d forms", most)
	}
}

func refsOf(list []Block) (refs []uint64) {
	for i := range list {
		refs = append(refs, list[i].Ref)
	}
	return refs
}

// TestBlocksInSpace asks what lies at an address, and beside a block.
func TestBlocksInSpace(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 13))
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{PID: 7}, recording.Options{Addresses: true})
	if err != nil {
		t.Fatal(err)
	}
	w.Thread(0, event.Thread{TID: 100})
	type block struct{ ref, addr, size, died uint64 }
	var all []*block
	at := make(map[int]*block)
	for n := range uint64(3000) {
		e := event.Event{Time: int64(n) * 100, Ref: event.NoRef}
		if place := rng.IntN(200); at[place] == nil {
			b := &block{uint64(len(all)), 0x10000 + uint64(place)*128, 1 + rng.Uint64N(128), 1 << 60}
			e.Kind, e.Func, e.Addr, e.Size = event.Alloc, event.Malloc, b.addr, b.size
			all, at[place] = append(all, b), b
		} else {
			b := at[place]
			e.Kind, e.Func, e.Addr, e.Size, e.Ref = event.Free, event.FreeFunc, b.addr, b.size, b.ref
			b.died = n
			delete(at, place)
		}
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
		if n%500 == 499 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(recording.Ending{End: 3000 * 100, Exited: true}); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 60 {
		ref := rng.IntN(len(all))
		got, err := Tell(t.Context(), s, &Query{}, uint64(ref))
		if err != nil {
			t.Fatal(err)
		}
		b, born := all[ref], got.Forms[0].Event
		var below, above uint64
		for _, o := range all[:ref] {
			switch {
			case o.died < born: // it is gone
			case o.addr < b.addr:
				below = max(below, o.addr)
			case above == 0 || o.addr < above:
				above = o.addr
			}
		}
		for want, found := range map[uint64]*Block{below: got.Below, above: got.Above} {
			if (want == 0) != (found == nil) || found != nil && found.Addr != want {
				t.Fatalf("#%d at %#x: beside %+v, want %#x", ref, b.addr, found, want)
			}
		}
		// What holds an address, at some moment.
		cut := rng.Uint64N(3001)
		addr := 0x10000 + rng.Uint64N(200*128)
		var want []uint64
		for _, o := range all {
			f, err := Tell(t.Context(), s, &Query{}, o.ref)
			if o.addr <= addr && addr < o.addr+o.size && err == nil && f.Forms[0].Event < cut && o.died >= cut {
				want = append(want, o.ref)
			}
			if o.ref > 100 {
				break
			}
		}
		list, err := FindBlocks(t.Context(), s, &Query{At: &cut}, BlockChoice{Most: 9, Addr: &addr})
		if err != nil {
			t.Fatal(err)
		}
		if refs := refsOf(list.List); len(refs) > 1 || len(want) > 0 && !slices.Equal(refs, want) ||
			len(refs) == 1 && (all[refs[0]].addr > addr || all[refs[0]].addr+all[refs[0]].size <= addr ||
				all[refs[0]].died < cut) {
			t.Fatalf("at %#x, cut %d: %v, want %v", addr, cut, refs, want)
		}
		// What holds addresses of a range: what is among all that are live, and in the range.
		near, err := FindBlocks(t.Context(), s, &Query{At: &cut},
			BlockChoice{Order: ByLocation, Most: MostBlocks, Addr: &addr, AddrTo: addr + 1000})
		if err != nil {
			t.Fatal(err)
		}
		// All that are live then, the lowest address first.
		list, err = FindBlocks(t.Context(), s, &Query{At: &cut}, BlockChoice{Order: ByLocation, Most: MostBlocks})
		if err != nil {
			t.Fatal(err)
		}
		if sum := list.Total.KeptBlocks; uint64(len(list.List)) != sum || !slices.IsSortedFunc(list.List,
			func(a, b Block) int { return cmp.Compare(a.Addr, b.Addr) }) {
			t.Fatalf("%d blocks of %d, by address: %v", len(list.List), sum, refsOf(list.List))
		}
		inRange := slices.DeleteFunc(list.List, func(b Block) bool {
			return b.Addr+max(b.Size, b.Usable, 1) <= addr || b.Addr > addr+1000
		})
		if !slices.Equal(near.List, inRange) || near.Total.KeptBlocks != uint64(len(inRange)) {
			t.Fatalf("from %#x, cut %d: %v, want %v", addr, cut, refsOf(near.List), refsOf(inRange))
		}
	}
}
