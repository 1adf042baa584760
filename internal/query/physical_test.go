package query

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
)

// TestPhysical compares what live blocks fill of the pages in memory with a model of single bytes: blocks of all sizes,
// areas that have blocks, had some, and never had one, and blocks outside of all areas.
func TestPhysical(t *testing.T) {
	t.Parallel()
	absent, unknown, empty := uint64(0), uint64(0), uint64(0)
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 77))
		r, frames := recordAddresses(t)
		m := &byteModel{base: 0x7f0000000000, owner: make([]uint16, modelBytes)}
		once := make([]bool, modelBytes/PageSize)
		for refs := uint64(0); refs < 60; {
			size := 1 + rng.Uint64N(1<<(4+rng.IntN(14)))
			addr := m.base + rng.Uint64N((modelBytes-size)/16)*16
			if !m.isFree(addr, size) {
				continue
			}
			r.now += 10
			r.event(event.Event{Kind: event.Alloc, Func: event.Malloc, Stack: 1, Size: size, Ref: event.NoRef,
				Addr: addr})
			if size < ownMapping {
				for p := (addr - m.base) / PageSize; p <= (addr+size-1-m.base)/PageSize; p++ {
					once[p] = true
				}
			}
			if rng.IntN(3) == 0 {
				r.now += 10
				r.event(event.Event{Kind: event.Free, Func: event.FreeFunc, Stack: 1, Size: size, Ref: refs,
					Born: r.now - 10, Addr: addr})
			} else {
				m.paint(addr, size, uint16(refs+1))
			}
			refs++
		}
		reading := event.PageReading{Time: r.now + 5, Took: 3, PageSize: PageSize}
		want := Physical{Time: reading.Time, Exact: true, Pages: Occupancy{Size: PageSize}, Readings: 1, Cost: 3}
		for at := uint64(0); at < modelBytes; {
			pages := 1 + rng.Uint64N(150)
			end := min(at+pages*PageSize, modelBytes)
			if rng.IntN(4) == 0 {
				for ; at < end; at++ {
					if m.owner[at] != 0 {
						want.Unknown++
					}
				}
				continue
			}
			reading.Areas = append(reading.Areas, event.AddrRange{Start: m.base + at, End: m.base + end})
			used := false
			for i := at; i < end; i++ {
				used = used || m.owner[i] != 0 || once[i/PageSize]
			}
			run := false
			for ; at < end; at += PageSize {
				if rng.IntN(6) == 0 {
					run = !run
				}
				bytes := uint64(0)
				for _, owner := range m.owner[at : at+PageSize] {
					if owner != 0 {
						bytes++
					}
				}
				if !run {
					want.Absent += bytes
					continue
				}
				from := m.base + at
				if n := len(reading.Resident); n > 0 && reading.Resident[n-1].End == from {
					reading.Resident[n-1].End += PageSize
				} else {
					reading.Resident = append(reading.Resident, event.AddrRange{Start: from, End: from + PageSize})
				}
				if !used {
					continue
				}
				o := &want.Pages
				if o.InUse == 0 || bytes < o.Min {
					o.Min = bytes
				}
				o.InUse, o.Max, o.Bytes = o.InUse+1, max(o.Max, bytes), o.Bytes+bytes
				o.Tenths[min(bytes*10/PageSize, 9)]++
				if bytes == 0 {
					want.Empty++
				}
			}
		}
		r.w.PageReading(reading)
		s := r.source(frames)
		end := uint64(len(r.events))
		got, err := Compact(t.Context(), s, &Query{At: &end}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got.Physical); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
		absent, unknown, empty = absent+want.Absent, unknown+want.Unknown, empty+want.Empty
	}
	if absent == 0 || unknown == 0 || empty == 0 {
		t.Errorf("%d bytes are not in memory, %d not known, %d pages empty: nothing was compared", absent, unknown,
			empty)
	}
}

// TestStepsInMemory: each step has the allocator's pages in memory of the latest reading until then; the last one has
// those that are compared with the live blocks.
func TestStepsInMemory(t *testing.T) {
	t.Parallel()
	const base, other, pages, steps = 0x7f0000000000, 0x7f1000000000, 300, 40
	r, frames := recordAddresses(t)
	type reading struct {
		time  int64
		pages uint64
	}
	var readings []reading
	rng := rand.New(rand.NewPCG(2, 8))
	for ref := range uint64(pages) {
		r.now += 1000
		r.event(event.Event{Kind: event.Alloc, Func: event.Malloc, Stack: 1, Size: 4000, Ref: event.NoRef,
			Addr: base + ref*PageSize})
		if rng.IntN(2) == 0 {
			r.event(event.Event{Kind: event.Free, Func: event.FreeFunc, Stack: 1, Size: 4000, Ref: ref, Born: r.now,
				Addr: base + ref*PageSize})
		}
		if ref%23 != 22 {
			continue
		}
		// Half of the mapping is an area of its own; in another one, no block ever is.
		p := event.PageReading{Time: r.now + 500, PageSize: PageSize, Areas: []event.AddrRange{
			{Start: base, End: base + pages/2*PageSize}, {Start: base + pages/2*PageSize, End: base + pages*PageSize},
			{Start: other, End: other + pages*PageSize}}}
		count := uint64(0)
		for i := range uint64(pages) {
			for _, from := range []uint64{base, other} {
				if rng.IntN(3) > 0 {
					continue
				}
				if from == base {
					count++
				}
				at := from + i*PageSize
				p.Resident = event.TogglePages(p.Resident, []event.AddrRange{{Start: at, End: at + PageSize}})
			}
		}
		readings = append(readings, reading{p.Time, count})
		r.w.PageReading(p)
	}
	s := r.source(frames)
	end := uint64(len(r.events))
	got, err := Compact(t.Context(), s, &Query{At: &end}, steps)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[uint64]bool)
	for i, m := range got.Steps[:steps] {
		var want *uint64
		for k := range readings {
			if readings[k].time <= m.Time {
				want = &readings[k].pages
			}
		}
		if diff := cmp.Diff(want, m.InMemory); diff != "" {
			t.Fatalf("step %d at %d (-want +got):\n%s", i, m.Time, diff)
		}
		if want != nil {
			seen[*want] = true
		}
	}
	if last := got.Steps[steps]; last.InMemory == nil || *last.InMemory != got.Physical.Pages.InUse {
		t.Errorf("the last step has %v pages, want %d", last.InMemory, got.Physical.Pages.InUse)
	}
	if len(seen) < 8 || got.Steps[0].InMemory != nil {
		t.Errorf("only %d readings were seen; the first step has %v", len(seen), got.Steps[0].InMemory)
	}
}
