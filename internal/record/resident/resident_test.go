package resident_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/resident"
	"github.com/heaptap/heaptap/internal/record/sampler"
)

const (
	mib  = 1 << 20
	heap = 0x10_0000_0000 // where [heap] begins
	map1 = 0x20_0000_0000
	lib  = 0x30_0000_0000
)

func anon(start, size, in uint64) sampler.Area {
	return sampler.Area{Start: start, End: start + size, Resident: in, Writable: true}
}

func named(a sampler.Area, path string) sampler.Area {
	a.Path = path
	return a
}

func readOnly(a sampler.Area) sampler.Area {
	a.Writable = false
	return a
}

func guard(start, size uint64) sampler.Area {
	return sampler.Area{Start: start, End: start + size, NoAccess: true}
}

func mapped(addr, size uint64, stack uint32) *event.Event {
	return &event.Event{Kind: event.Map, Func: event.Mmap, Addr: addr, Size: size, Stack: stack}
}

// show returns parts as text: kind, stack or file, resident KiB of KiB.
func show(parts []event.ResidentPart) string {
	var list []string
	for _, p := range parts {
		if p.Bytes == 0 && p.Size == 0 {
			continue
		}
		name := p.Kind.String()
		if p.Stack > 0 {
			name += fmt.Sprintf(" %d", p.Stack)
		}
		if p.Name != "" {
			name += " " + p.Name
		}
		list = append(list, fmt.Sprintf("%s %d/%d", name, p.Bytes>>10, p.Size>>10))
	}
	return strings.Join(list, ", ")
}

func TestDivide(t *testing.T) {
	t.Parallel()
	page := uint64(4096)
	for _, c := range []struct {
		name   string
		areas  []sampler.Area
		mapped []*event.Event
		blocks []event.Block
		stacks []uint64 // tops
		want   string
	}{
		{name: "three quarters of the heap were freed and stay in memory",
			areas:  []sampler.Area{named(anon(heap, 8*mib, 8*mib), "[heap]")},
			blocks: []event.Block{{Addr: heap + 64, Size: mib}, {Addr: heap + 4*mib, Size: mib}},
			want:   "live 2048/2048, slack 6144/6144"},
		{name: "a large block of which one page was touched",
			areas: []sampler.Area{named(anon(heap, mib, mib), "[heap]"),
				{Start: map1, End: map1 + 16*mib, Resident: page, Writable: true,
					Pages: []event.AddrRange{{Start: map1, End: map1 + page}}}},
			blocks: []event.Block{{Addr: heap + 64, Size: mib / 2}, {Addr: map1 + 16, Size: 15 * mib}},
			want:   "live 515/15872, slack 512/1536"},
		{name: "two stacks have mapped what the kernel shows as one area",
			areas: []sampler.Area{{Start: map1, End: map1 + 4*mib, Resident: 2 * mib, Writable: true,
				Pages: []event.AddrRange{{Start: map1 + mib, End: map1 + 3*mib}}}},
			mapped: []*event.Event{mapped(map1, 3*mib, 5), mapped(map1+3*mib, mib, 6)},
			want:   "mapped 5 2048/3072, mapped 0/1024"},
		{name: "without pages, what is resident is spread evenly",
			areas:  []sampler.Area{anon(map1, 4*mib, 2*mib)},
			mapped: []*event.Event{mapped(map1, mib, 5), mapped(map1+mib, 3*mib, 6)},
			want:   "mapped 6 1536/3072, mapped 5 512/1024"},
		{name: "pages of zeros are listed, but not resident",
			areas: []sampler.Area{{Start: map1, End: map1 + 4*mib, Resident: mib, Writable: true,
				Pages: []event.AddrRange{{Start: map1, End: map1 + 2*mib}}}},
			mapped: []*event.Event{mapped(map1, mib, 5), mapped(map1+mib, 3*mib, 6)},
			want:   "mapped 6 512/3072, mapped 5 512/1024"},
		{name: "the last page of a mapping is its own",
			areas:  []sampler.Area{anon(map1, 2*page, 2*page)},
			mapped: []*event.Event{mapped(map1, page+1, 7)},
			want:   "mapped 7 8/8"},
		{name: "a mapping of which an allocator gives out blocks, and one of the program",
			areas:  []sampler.Area{anon(map1, 8*mib, 6*mib), anon(map1+16*mib, mib, mib)},
			mapped: []*event.Event{mapped(map1, 8*mib, 5), mapped(map1+16*mib, mib, 6)},
			blocks: []event.Block{{Addr: map1 + 64, Size: 100}, {Addr: map1 + 4*mib, Size: 1000}},
			want:   "live 1/1, slack 6142/8190, mapped 6 1024/1024"},
		{name: "a block in several mappings: the middle of its own has other attributes",
			areas: []sampler.Area{anon(map1, mib, mib), anon(map1+mib, 2*mib, mib/2), anon(map1+3*mib, mib, mib),
				anon(map1+4*mib, mib, mib)},
			blocks: []event.Block{{Addr: map1 + 64, Size: 4*mib - 64}},
			want:   "live 2559/4095, slack 0/0, rest 1024/1024"},
		{name: "a block in two mappings that were made by two calls",
			areas:  []sampler.Area{anon(map1, 2*mib, 2*mib)},
			mapped: []*event.Event{mapped(map1, mib, 5), mapped(map1+mib, mib, 6)},
			blocks: []event.Block{{Addr: map1, Size: 2 * mib}},
			want:   "live 2048/2048"},
		{name: "blocks that overlap, beyond the end of all addresses",
			areas: []sampler.Area{anon(map1, mib, mib), anon(map1+mib, mib, mib)},
			blocks: []event.Block{{Addr: map1, Size: math.MaxUint64}, {Addr: map1, Size: math.MaxUint64},
				{Addr: map1, Size: math.MaxUint64}},
			want: "live 2048/18014398509481983"},
		{name: "unmapped again, and mapped by something unseen",
			areas: []sampler.Area{anon(map1, mib, mib)},
			mapped: []*event.Event{mapped(map1, mib, 7),
				{Kind: event.Map, Func: event.Munmap, Addr: map1, Size: mib}},
			want: "rest 1024/1024"},
		{name: "threads: one that is known, one above a guard, and the main one",
			areas: []sampler.Area{anon(map1, 8*mib, 16*page), guard(map1+16*mib, page),
				anon(map1+16*mib+page, 8*mib, 4*page), named(anon(0x7000_0000_0000, 32*page, 8*page), "[stack]")},
			stacks: []uint64{map1 + 8*mib - 100},
			want:   "stacks 112/16512"},
		{name: "an arena without a live block",
			areas: []sampler.Area{anon(map1, 4*mib, 3*mib), guard(map1+4*mib, 60*mib)},
			want:  "slack 3072/4096"},
		{name: "the agent's tables",
			areas: []sampler.Area{{Start: map1, End: map1 + mib, Resident: mib, Writable: true, NoReserve: true},
				{Start: map1 + mib, End: map1 + 2*mib, Resident: mib / 2, Writable: true}},
			want: "heaptap 1024/1024, rest 512/1024"},
		{name: "files, their data, and heaptap's own",
			areas: []sampler.Area{readOnly(named(anon(lib, mib, mib/2), "/lib/libx.so")), named(anon(lib+mib, mib, mib),
				"/lib/libx.so"), anon(lib+2*mib, mib, mib), named(anon(lib+8*mib, mib, mib),
				"/dev/shm/heaptap-0-x/1-2.spool"), readOnly(named(anon(lib+9*mib, page, page), "[vdso]"))},
			want: "static 2048/2048, files /lib/libx.so 512/1024, heaptap 1024/1024, rest 4/4"},
	} {
		var s resident.Set
		for _, e := range c.mapped {
			s.Map(e)
		}
		known := resident.Known{Modules: []event.Module{{ID: 1, Start: lib, End: lib + 3*mib, Unload: -1}},
			Blocks: slices.Values(c.blocks)}
		for i, top := range c.stacks {
			known.Stacks = append(known.Stacks, sampler.Stack{TID: uint32(i + 1), Top: top})
		}
		sum, want := uint64(0), uint64(0)
		for _, b := range c.blocks {
			known.LiveBytes += b.Size
		}
		parts := s.Divide(c.areas, &known)
		for _, a := range c.areas {
			want += a.Resident
		}
		for _, p := range parts {
			sum += p.Bytes
		}
		if got := show(parts); got != c.want || sum != want {
			t.Errorf("%s: %d bytes of %d:\n got %s\nwant %s", c.name, sum, want, got, c.want)
		}
	}
}

// TestDivideAgain: memory that was the allocator's stays its own when all blocks in it have been freed.
func TestDivideAgain(t *testing.T) {
	t.Parallel()
	var s resident.Set
	areas := []sampler.Area{anon(map1, 4*mib, 4*mib)}
	list := []event.Block{{Addr: map1 + 64, Size: mib}}
	if got := show(s.Divide(areas, &resident.Known{Blocks: slices.Values(list), LiveBytes: mib})); got !=
		"live 1024/1024, slack 3072/3072" {
		t.Error(got)
	}
	if got := show(s.Divide(areas, &resident.Known{Blocks: slices.Values(list[:0])})); got != "slack 4096/4096" {
		t.Error(got)
	}
}

// TestLent: so does what an allocator has mapped by calls that were seen.
func TestLent(t *testing.T) {
	t.Parallel()
	var s resident.Set
	s.Map(mapped(map1, 4*mib, 5))
	areas := []sampler.Area{anon(map1, 4*mib, 4*mib)}
	list := []event.Block{{Addr: map1 + 64, Size: mib}}
	for range 2 {
		s.Divide(areas, &resident.Known{Blocks: slices.Values(list), LiveBytes: mib})
	}
	if got := show(s.Divide(areas, &resident.Known{Blocks: slices.Values(list[:0])})); got != "slack 4096/4096" {
		t.Error(got)
	}
	s.Map(&event.Event{Kind: event.Map, Func: event.Munmap, Addr: map1, Size: 4 * mib})
	s.Divide(nil, &resident.Known{Blocks: slices.Values(list[:0])})
	s.Map(mapped(map1, 4*mib, 6))
	if got := show(s.Divide(areas, &resident.Known{Blocks: slices.Values(list[:0])})); got != "mapped 6 4096/4096" {
		t.Error(got)
	}
}

// TestManyParts: what is not named by itself is still part of the whole.
func TestManyParts(t *testing.T) {
	t.Parallel()
	var s resident.Set
	var areas []sampler.Area
	for i := range uint64(1000) {
		s.Map(mapped(map1+i*mib, 4096*(1+i%7), uint32(i+1)))
		areas = append(areas, anon(map1+i*mib, 4096*(1+i%7), 4096*(1+i%7)),
			readOnly(named(anon(map1+i*mib+mib/2, 4096, 4096), fmt.Sprint("/f", i))))
	}
	sum, want := uint64(0), uint64(0)
	parts := s.Divide(areas, &resident.Known{})
	for i := range areas {
		want += areas[i].Resident
	}
	for _, p := range parts {
		sum += p.Bytes
	}
	if sum != want || len(parts) > 600 {
		t.Errorf("%d parts of %d bytes, want %d bytes", len(parts), sum, want)
	}
}
