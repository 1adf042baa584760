package query

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// TestPhysical compares what live blocks fill of the pages in memory with a model of single bytes: blocks of all sizes,
// areas that have blocks, had some, and never had one, and blocks outside of all areas.
func TestPhysical(t *testing.T) {
	t.Parallel()
	absent, unknown, empty := uint64(0), uint64(0), uint64(0)
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 77))
		path := filepath.Join(t.TempDir(), "a.htap")
		w, err := recording.Create(path, event.Process{PID: 7}, recording.Options{Addresses: true})
		if err != nil {
			t.Fatal(err)
		}
		r := &recorder{t: t, path: path, w: w, live: make(map[uint64]bool), latest: make(map[uint32]uint64)}
		frames := r.code()
		r.w.Node(1, event.Node{PC: 1})
		r.thread(0)
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
