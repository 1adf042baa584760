package block

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/column"
)

func anyStack(uint32) bool { return true }

func randomFar(rng *rand.Rand, n int) *FarTable {
	t := &FarTable{FarHead: FarHead{FirstBlock: 1 + rng.Uint64N(100), Blocks: 1 + rng.Uint64N(Fan), FirstEvent: 7,
		Events: 9}}
	seen := make(map[FarSum]bool)
	for range n {
		s := FarSum{Stack: rng.Uint32N(20), In: rng.Uint32N(uint32(t.Blocks))}
		s.Born = uint32(rng.Uint64N(t.FirstBlock + uint64(s.In)))
		if seen[s] {
			continue
		}
		seen[s] = true
		s.Frees, s.Bytes = 1+rng.Uint64N(100), rng.Uint64N(1<<rng.IntN(40))
		t.List = append(t.List, s)
	}
	return t
}

// TestFarTable: a table comes back as it was, and one that was made coarse has the same sums.
func TestFarTable(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		want := randomFar(rng, rng.IntN(60))
		var frees, bytes uint64
		for _, s := range want.List {
			frees, bytes = frees+s.Frees, bytes+s.Bytes
		}
		if seed%2 > 0 {
			want.Coarsen(FarShift)
		}
		p := column.NewPayload()
		want.Encode(p)
		got, err := DecodeFar(p.Bytes(), 1<<20, anyStack)
		if err != nil {
			t.Fatal(err)
		}
		if got.FarHead != want.FarHead || len(want.List) > 0 && !reflect.DeepEqual(got.List, want.List) {
			t.Fatalf("seed %d: %+v, want %+v", seed, got, want)
		}
		for i := range got.List {
			s := &got.List[i]
			frees, bytes = frees-s.Frees, bytes-s.Bytes
			if first, end := got.Births(s); first >= end || end > int(got.FirstBlock)+int(s.In) {
				t.Fatalf("seed %d: born in blocks %d to %d, ended in %d", seed, first, end,
					int(got.FirstBlock)+int(s.In))
			}
			if i > 0 && got.List[i-1].compare(s) >= 0 {
				t.Fatalf("seed %d: %+v comes before %+v", seed, got.List[i-1], *s)
			}
		}
		if frees != 0 || bytes != 0 {
			t.Fatalf("seed %d: the sums differ by %d, %d bytes", seed, frees, bytes)
		}
		if len(got.List) > 0 {
			if _, err := DecodeFar(p.Bytes(), 3, anyStack); err == nil {
				t.Fatal("a table may unpack to more than there is room for")
			}
			known := func(id uint32) bool { return id != got.List[0].Stack }
			if _, err := DecodeFar(p.Bytes(), 1<<20, known); err == nil {
				t.Fatal("a stack need not be known")
			}
		}
	}
}

// FuzzFar: whatever is in a table, what is read of it is consistent.
func FuzzFar(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		p := column.NewPayload()
		t := randomFar(rng, 30)
		t.Coarsen(uint64(rng.IntN(2) * FarShift))
		t.Encode(p)
		f.Add(bytes.Clone(p.Bytes()))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := DecodeFar(b, 1<<20, anyStack)
		if err != nil {
			return
		}
		if len(x.List) > 1<<20 || x.Sums != uint64(len(x.List)) {
			t.Fatalf("%d sums of %d bytes", len(x.List), len(b))
		}
		for i := range x.List {
			if first, end := x.Births(&x.List[i]); first < 0 || first >= end || uint64(x.List[i].In) >= x.Blocks {
				t.Fatalf("%+v: born in %d to %d", x.List[i], first, end)
			}
		}
	})
}

// TestManyFarSums: what is freed in random order at many stacks has more sums than the encoder keeps. It keeps coarse
// ones, in this block and the following ones.
func TestManyFarSums(t *testing.T) {
	t.Parallel()
	x := NewEncoder(false, false)
	rng := rand.New(rand.NewPCG(3, 4))
	var sealed Sealed
	type born struct {
		ref   uint64
		stack uint32
		block int
	}
	var live []born
	ref := uint64(0)
	add := func(e event.Event) {
		x.Append(nil, []event.Full{{Event: e}})
	}
	for block := range 40 {
		for range 1000 {
			stack := 1 + rng.Uint32N(2000)
			live = append(live, born{ref, stack, block})
			add(event.Event{Kind: event.Alloc, Func: event.Malloc, Stack: stack, Size: 8, Ref: event.NoRef})
			ref++
		}
		x.Seal(&sealed)
		if len(sealed.Far.List) > 0 {
			t.Fatalf("block %d has far sums, but no deallocation", block)
		}
	}
	want := make(map[FarSum]uint64)
	for range 20000 {
		i := rng.IntN(len(live))
		b := live[i]
		live[i] = live[len(live)-1]
		live = live[:len(live)-1]
		want[FarSum{Stack: b.stack, Born: uint32(b.block >> FarShift)}]++
		add(event.Event{Kind: event.Free, Func: event.FreeFunc, Stack: b.stack, Size: 8, Ref: b.ref})
	}
	x.Seal(&sealed)
	if sealed.Far.Shift != FarShift || len(sealed.Far.List) > maxFarSums {
		t.Fatalf("shift %d, %d sums", sealed.Far.Shift, len(sealed.Far.List))
	}
	for _, s := range sealed.Far.List {
		k := FarSum{Stack: s.Stack, Born: s.Born}
		if want[k] != s.Frees || s.Bytes != 8*s.Frees {
			t.Fatalf("%+v, want %d", s, want[k])
		}
		delete(want, k)
	}
	if len(want) > 0 {
		t.Errorf("%d sums are missing", len(want))
	}
}
