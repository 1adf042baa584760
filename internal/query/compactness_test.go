package query

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
)

// byteModel has the block of each byte of some address space, so it needs no idea of pages, however slow that is.
type byteModel struct {
	base  uint64
	owner []uint16 // number of the block and 1; 0: none
}

const modelBytes = 3 * HugePageSize

func (m *byteModel) paint(addr, size uint64, owner uint16) {
	at := m.owner[addr-m.base:][:size]
	for i := range at {
		at[i] = owner
	}
}

func (m *byteModel) isFree(addr, size uint64) bool {
	for _, owner := range m.owner[addr-m.base:][:size] {
		if owner != 0 {
			return false
		}
	}
	return true
}

// occupancy counts pages of a size, and what each stack pins.
func (m *byteModel) occupancy(size uint64, stackOf func(owner uint16) uint32) (Occupancy, map[uint32]Pinned) {
	o, pins := Occupancy{Size: size}, make(map[uint32]Pinned)
	for at := uint64(0); at < modelBytes; at += size {
		sum, own := uint64(0), make(map[uint32]uint64)
		for _, owner := range m.owner[at : at+size] {
			if owner != 0 {
				sum++
				own[stackOf(owner)]++
			}
		}
		if sum == 0 {
			continue
		}
		if o.InUse == 0 || sum < o.Min {
			o.Min = sum
		}
		o.InUse, o.Max, o.Bytes = o.InUse+1, max(o.Max, sum), o.Bytes+sum
		o.Tenths[min(sum*10/size, 9)]++
		for stack, n := range own {
			if sum*2 < size && (sum-n)*10 < size {
				p := pins[stack]
				p.Pages++
				if n == sum {
					p.Released += size
					p.Empty += size - n
				}
				pins[stack] = p
			}
		}
	}
	return o, pins
}

// TestCompactness compares pages in use, and who pins them, with a model of single bytes.
func TestCompactness(t *testing.T) {
	t.Parallel()
	pinned := 0
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 31))
		r, frames := newAddressRecorder(t)
		for id := uint32(1); id <= 4; id++ {
			r.w.Node(id, event.Node{PC: id})
		}
		r.thread(0)
		m := &byteModel{base: 0x7f0000000000, owner: make([]uint16, modelBytes)}
		type block struct {
			addr, size, ref uint64
			stack           uint32
			born            int64
		}
		live := make(map[uint16]block)
		var order []uint16
		inUse := func() uint64 {
			pages := make(map[uint64]bool)
			for _, b := range live {
				for p := b.addr / PageSize; p <= (b.addr+b.size-1)/PageSize; p++ {
					pages[p] = true
				}
			}
			return uint64(len(pages))
		}
		var mostPages, refs uint64
		for len(r.events) < 250 {
			r.now += 10
			if len(order) > 0 && rng.IntN(3) == 0 {
				i := rng.IntN(len(order))
				b := live[order[i]]
				r.event(event.Event{Kind: event.Free, Func: event.FreeFunc, Stack: b.stack, Size: b.size, Ref: b.ref,
					Born: b.born, Addr: b.addr})
				m.paint(b.addr, b.size, 0)
				delete(live, order[i])
				order = append(order[:i], order[i+1:]...)
				continue
			}
			size := 1 + rng.Uint64N(1<<(4+rng.IntN(9)))
			b := block{size: size, ref: refs, stack: 1 + uint32(rng.IntN(4)), born: r.now}
			if rng.IntN(30) == 0 {
				b.size = ownMapping + rng.Uint64N(HugePageSize)
			}
			b.addr = m.base + rng.Uint64N((modelBytes-b.size)/16)*16
			if !m.isFree(b.addr, b.size) {
				continue
			}
			refs++
			r.event(event.Event{Kind: event.Alloc, Func: event.Malloc, Stack: b.stack, Size: b.size, Ref: event.NoRef,
				Addr: b.addr})
			owner := uint16(b.ref + 1)
			m.paint(b.addr, b.size, owner)
			live[owner] = b
			order = append(order, owner)
			mostPages = max(mostPages, inUse())
		}
		s := r.source(frames)
		end := uint64(len(r.events))
		got, err := Compact(t.Context(), s, &Query{At: &end}, 3)
		if err != nil {
			t.Fatal(err)
		}
		stackOf := func(owner uint16) uint32 { return live[owner].stack }
		small, smallPins := m.occupancy(PageSize, stackOf)
		huge, hugePins := m.occupancy(HugePageSize, stackOf)
		if diff := cmp.Diff([]Occupancy{small, huge}, []Occupancy{got.Pages, got.HugePages}); diff != "" {
			t.Fatalf("seed %d: pages (-want +got):\n%s", seed, diff)
		}
		last := got.Steps[len(got.Steps)-1]
		if last.InUse != small.InUse || last.HugeInUse != huge.InUse || got.HighPages.InUse != mostPages {
			t.Errorf("seed %d: followed: %d and %d pages, at most %d; want %d, %d, %d", seed, last.InUse,
				last.HugeInUse, got.HighPages.InUse, small.InUse, huge.InUse, mostPages)
		}
		for i := range got.Pins {
			p := &got.Pins[i]
			if smallPins[p.Stack] != p.Small || hugePins[p.Stack] != p.Huge {
				t.Errorf("seed %d: stack %d pins %+v and %+v, want %+v and %+v", seed, p.Stack, p.Small, p.Huge,
					smallPins[p.Stack], hugePins[p.Stack])
			}
			delete(smallPins, p.Stack)
			pinned++
		}
		for stack, p := range smallPins {
			if p.Empty > 0 {
				t.Errorf("seed %d: stack %d pins %+v, which is missing", seed, stack, p)
			}
		}
		var classes [65]Amount
		for _, b := range live {
			classes[bits.Len64(b.size)].add(Amount{b.size, 1})
		}
		for _, x := range got.Classes {
			if classes[x.Class] != x.Amount {
				t.Errorf("seed %d: class %d: %+v, want %+v", seed, x.Class, x.Amount, classes[x.Class])
			}
		}
	}
	if pinned < 20 {
		t.Errorf("only %d call stacks pin pages", pinned)
	}
}

// TestHostilePlaces follows blocks that cannot be where they are said to be: they overlap, wrap around, and are huge.
func TestHostilePlaces(t *testing.T) {
	t.Parallel()
	var m pageMap
	for _, b := range [][2]uint64{{0, 8}, {^uint64(0) - 3, 100}, {16, ^uint64(0)}, {4096, 1 << 56}, {4096, 64}} {
		m.change(b[0], b[1], true)
		m.change(b[0], b[1], false)
		m.change(b[0], b[1], false)
	}
	if m.inUse != 0 || m.hugeInUse != 0 {
		t.Errorf("%d pages and %d huge ones are in use at the end", m.inUse, m.hugeInUse)
	}
	list := apart([]placed{{addr: 100, size: 50}, {addr: 90, size: 40}, {addr: 95, size: 5}, {addr: 1 << 60, size: 9},
		{addr: 200, size: 0}})
	if len(list) != 3 || list[0].end() != 130 || list[1].addr != 130 || list[1].end() != 150 || list[2].size != 1 {
		t.Errorf("apart: %+v", list)
	}
}

// TestCompactnessWithoutAddresses asks a recording that does not say where blocks were.
func TestCompactnessWithoutAddresses(t *testing.T) {
	t.Parallel()
	s, _ := random(t, 3, 100)
	if _, err := Compact(t.Context(), s, &Query{}, 0); err != errNoAddresses {
		t.Errorf("without addresses: %v", err)
	}
}
