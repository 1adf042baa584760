package query

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// TestFilmResident compares what is in memory of each cell with the pages of the reading that counts at a moment: the
// latest one until then; in a single picture, the latest one before the next event.
func TestFilmResident(t *testing.T) {
	t.Parallel()
	const base, pages, looked, moments = 0x7f0000000000, 900, 700, 20
	r, frames := recordAddresses(t)
	rng := rand.New(rand.NewPCG(4, 4))
	var readings []event.PageReading
	in := map[uint64]bool{}
	for ref := range uint64(pages) {
		r.now += 1000
		at := base + ref*PageSize
		r.event(event.Event{Kind: event.Alloc, Func: event.Malloc, Stack: 1, Size: 4000, Ref: event.NoRef,
			Addr: at + 16})
		if ref%3 != 0 {
			r.now += 1000
			r.event(event.Event{Kind: event.Free, Func: event.FreeFunc, Stack: 1, Size: 4000, Ref: ref,
				Born: r.now - 1000, Addr: at + 16})
		}
		in[at] = true
		for range 3 {
			in[base+rng.Uint64N(ref+1)*PageSize] = rng.IntN(2) == 0
		}
		if ref%40 == 20 {
			p := event.PageReading{Time: r.now + 500, PageSize: PageSize,
				Areas: []event.AddrRange{{Start: base, End: base + looked*PageSize}}}
			for page := uint64(base); page < base+looked*PageSize; page += PageSize {
				if in[page] {
					p.Resident = event.TogglePages(p.Resident, []event.AddrRange{{Start: page, End: page + PageSize}})
				}
			}
			readings = append(readings, p)
			r.w.PageReading(p)
		}
	}
	s := r.source(frames)
	lacking := 0
	check := func(f *HeapFilm, i int, want *event.PageReading) {
		t.Helper()
		p := &f.Pictures[i]
		if len(p.Resident) != len(f.Capacity) {
			t.Fatalf("picture %d says of %d cells what is in memory, of %d", i, len(p.Resident), len(f.Capacity))
		}
		bytes, absent := make([]float64, len(f.Capacity)), make([]float64, len(f.Capacity))
		for page := uint64(base); page < base+pages*PageSize; page += PageSize {
			if cell, ok := f.Find(page); ok && event.InRanges(want.Resident, page) {
				bytes[cell] += PageSize
			} else if ok && event.InRanges(want.Areas, page) {
				absent[cell] += PageSize
			}
		}
		for cell, n := range bytes {
			if share := math.Ceil(255 * n / float64(max(f.Capacity[cell], 1))); uint8(share) != p.Resident[cell] {
				t.Fatalf("picture %d at %d, cell %d: %d, expected %v", i, p.Time, cell, p.Resident[cell], share)
			}
			capacity := float64(max(f.Capacity[cell], 1))
			if share := math.Floor(255 * absent[cell] / capacity); uint8(share) != p.Absent[cell] {
				t.Fatalf("picture %d at %d, cell %d: %d, expected %v absent", i, p.Time, cell, p.Absent[cell], share)
			}
			lacks := capacity == PageSize && p.Fill[cell] > 0 && absent[cell] > 0
			if got := p.LacksMemory(cell); capacity == PageSize && got != lacks || got && absent[cell] == 0 {
				t.Fatalf("picture %d at %d, cell %d: lacks memory: %v", i, p.Time, cell, got)
			} else if got {
				lacking++
			}
		}
	}
	for _, cells := range []int{2000, 300} { // of a page each, and of several
		f, err := Film(t.Context(), s, &Query{}, HeapWish{Moments: moments, Cells: cells})
		if err != nil {
			t.Fatal(err)
		}
		for i := range f.Pictures {
			want := &readings[0]
			for k := range readings {
				if readings[k].Time <= f.Pictures[i].Time {
					want = &readings[k]
				}
			}
			check(f, i, want)
		}
	}
	// Between two events, the reading is that between them.
	for k := range readings {
		cut, err := s.Reader.CutAt(readings[k].Time)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Film(t.Context(), s, &Query{At: &cut}, HeapWish{Moments: 1, Cells: 2000})
		if err != nil {
			t.Fatal(err)
		}
		check(f, 0, &readings[k])
	}
	if lacking < 100 {
		t.Errorf("%d cells lack memory", lacking)
	}
	without, _ := random(t, 3, 100)
	if n := without.Reader.PageReadings().Summary().Readings; n != 0 {
		t.Errorf("%d readings", n)
	}
}

// TestHoldWhole: a cell of which all pages are in memory, or none are, has all of them or none, however many there are.
func TestHoldWhole(t *testing.T) {
	t.Parallel()
	const base = 0x7f0000000000
	odd := 0
	for pages := uint64(8193); pages < 8193+64; pages++ {
		var all reach
		all.note(base, pages*PageSize)
		f := &film{ask: &ask{}}
		f.out.HeapLayout = all.layout(300, pageRun{})
		whole := []event.AddrRange{{Start: base, End: base + pages*PageSize}}
		var none, full HeapPicture
		f.hold(&none, &event.PageReading{Areas: whole})
		f.hold(&full, &event.PageReading{Areas: whole, Resident: whole})
		for cell, capacity := range f.out.Capacity {
			if capacity%(32*PageSize) != 0 {
				odd++
			}
			if none.Absent[cell] != 255 || none.Resident[cell] != 0 || full.Absent[cell] != 0 ||
				full.Resident[cell] != 255 {
				t.Fatalf("cell %d of %d pages: %d absent, %d in memory; %d and %d", cell, capacity/PageSize,
					none.Absent[cell], none.Resident[cell], full.Absent[cell], full.Resident[cell])
			}
		}
	}
	if odd == 0 {
		t.Error("no cell is smaller than others")
	}
}
