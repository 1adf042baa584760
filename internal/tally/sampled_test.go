package tally_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/tally"
)

// sampleOf makes half of a program's allocations samples, and the events that end these blocks.
func sampleOf(events []event.Event, s event.Sampling) []event.Event {
	var allocs uint64
	list := append([]event.Event(nil), events...)
	for i := range list {
		e := &list[i]
		ref := e.Ref
		switch e.Kind {
		case event.Alloc:
			ref = allocs
			allocs++
		case event.Free:
		default:
			continue
		}
		if ref%2 == 0 {
			e.Flags = e.Flags&^event.Temporary | event.Sampled
			s.Weigh(e, ref)
		}
	}
	return list
}

// TestSampled: what samples stand for is counted alike in blocks of any length, one by one, naively, after a rest, and
// in the binary form.
func TestSampled(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		p := newProgram(seed)
		p.run(20 + r.IntN(600))
		s := event.Sampling{Bytes: 1 << r.UintN(40)}
		if seed%4 == 0 {
			s = event.Sampling{Calls: 1 + r.Uint64N(1e6)}
		}
		events := sampleOf(p.want, s)
		one, many := tally.New(), tally.New()
		blk := many.Block()
		place := map[uint32]int{}
		var spare []tally.Local
		longest := 1 + r.IntN(200)
		left := longest
		var allocations, bytes, freed, samples uint64
		for i := range events {
			e := &events[i]
			n, b := e.Weight()
			switch e.Kind {
			case event.Alloc:
				allocations, bytes = allocations+n, bytes+b
				if e.Flags&event.Sampled != 0 {
					samples++
				}
			case event.Free:
				freed += b
			}
			one.Add(e)
			local, ok := place[e.Stack]
			if !ok {
				local = len(place)
				place[e.Stack] = local
				blk.Open(e.Stack)
			}
			blk.Add(batchOf(*e, local), 1)
			if left--; left == 0 || i == len(events)-1 {
				spare = blk.Close(e.Time, 1, spare)
				clear(place)
				left = 1 + r.IntN(longest)
			}
			if r.IntN(100) == 0 {
				one = tally.Resume(one.Summary())
			}
		}
		want := one.Summary()
		if got := many.Summary(); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: in blocks\n%+v\none by one\n%+v", seed, got, want)
		}
		all := &want.Totals
		if all.Allocations != allocations || all.Bytes != bytes || all.FreedBytes != freed || all.Samples != samples {
			t.Fatalf("seed %d: %+v, want %d allocations, %d bytes, %d freed, %d samples", seed, all, allocations, bytes,
				freed, samples)
		}
		var peak, leaked uint64
		for i := range want.Stacks {
			peak += want.Stacks[i].LiveAtPeakBytes
			leaked += want.Stacks[i].LeakedBlocks()
		}
		if peak != all.Peak.Bytes || leaked != all.LeakedBlocks() {
			t.Fatalf("seed %d: stacks sum up to %d bytes at the peak of %d, %d of %d leaked blocks", seed, peak,
				all.Peak.Bytes, leaked, all.LeakedBlocks())
		}
		back, err := tally.Unmarshal(want.Marshal())
		if err != nil || !reflect.DeepEqual(back, want) {
			t.Fatalf("seed %d: %v: the binary form gives\n%+v\nof\n%+v", seed, err, back, want)
		}
	}
}

// TestVariances: what is live varies by what its blocks do, and no more when they have ended.
func TestVariances(t *testing.T) {
	t.Parallel()
	s := event.Sampling{Bytes: 1000}
	var v, other tally.Variances
	for ref := range uint64(100) {
		a := event.Event{Kind: event.Alloc, Flags: event.Sampled, Size: 10 * ref}
		s.Weigh(&a, ref)
		v.Count(&a)
		tally.Move(&a, &v.LiveBlocks, &v.LiveBytes)
		if ref%2 == 0 {
			continue
		}
		f := event.Event{Kind: event.Free, Ref: ref, Flags: event.Sampled, Size: 10 * ref}
		s.Weigh(&f, ref)
		v.Count(&f)
		tally.Move(&f, &v.LiveBlocks, &v.LiveBytes)
	}
	exact := event.Event{Kind: event.Alloc, Size: 100}
	tally.Move(&exact, &v.LiveBlocks, &v.LiveBytes)
	if d := v.LiveBytes - (v.Bytes - v.FreedBytes); d > 1e-6*v.Bytes || d < -1e-6*v.Bytes || v.Samples != 100 ||
		v.FreedBytes <= 0 {
		t.Errorf("%+v", v)
	}
	if sum := v.Plus(&v); sum.Bytes != 2*v.Bytes || sum.Slack != 0 || v.Plus(nil) != &v ||
		(*tally.Variances)(nil).Plus(&other) != &other {
		t.Errorf("%+v", sum)
	}
	if tally.StandardError(-1e-9) != 0 || tally.StandardError(9) != 3 {
		t.Error("standard errors")
	}
}

// batchOf is a batch of one event, whose stack has that number in the block.
func batchOf(e event.Event, stack int) *event.Batch {
	if e.Kind != event.Map {
		e.Stack = uint32(stack)
	}
	return &event.Batch{Full: []event.Full{{Event: e}}}
}

// TestSampledKinds: the flag says something of allocations and of what ends them only. A forged recording may have it
// on any event.
func TestSampledKinds(t *testing.T) {
	for kind := event.Unmatched; kind < event.KindCount; kind++ {
		e := event.Event{Kind: kind, Func: event.FreeFunc, Time: 5, Stack: 1, Size: 7, Ref: event.NoRef,
			Flags: event.Sampled}
		one, blocks := tally.New(), tally.New()
		one.Add(&e)
		b := blocks.Block()
		b.Open(1)
		b.Add(batchOf(e, 0), 1)
		b.Close(5, 1, nil)
		want, got := one.Summary(), blocks.Summary()
		if !reflect.DeepEqual(got.Totals, want.Totals) || got.Totals.Deallocations != 0 {
			t.Errorf("%v: in a block\n%+v\nalone\n%+v", kind, got.Totals, want.Totals)
		}
	}
}
