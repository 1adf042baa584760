package query

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/heaptap/heaptap/internal/event"
)

// scattered is a block of scatter.
type scattered struct {
	addr, size, ref uint64
	stack, thread   uint32
	born            int64
}

// scatter records a random program whose blocks, some of them large, are in several places of the address space.
func scatter(t *testing.T, rng *rand.Rand, events int) (*Source, []event.Event) {
	t.Helper()
	r, frames := newAddressRecorder(t)
	for id := uint32(1); id <= 11; id++ {
		r.w.Node(id, event.Node{PC: id})
	}
	for range 9 {
		r.thread(0)
	}
	bases := []uint64{3 << 20, 0x7f0000000000, 0x7f0004000000, 0x7f0014000000, 0x7f3000001000}
	var live []scattered
	overlaps := func(b *scattered) bool {
		return slices.ContainsFunc(live, func(o scattered) bool {
			return b.addr < o.addr+o.size && o.addr < b.addr+b.size
		})
	}
	refs := uint64(0)
	for len(r.events) < events {
		r.now += rng.Int64N(20) * 100
		if rng.IntN(40) == 0 { // the moments are then in different blocks of events
			if err := r.w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		thread := uint32(rng.IntN(9))
		if len(live) > 0 && rng.IntN(5) < 2 {
			i := rng.IntN(len(live))
			b := live[i]
			r.event(event.Event{Kind: event.Free, Func: event.FreeFunc, Stack: b.stack, Size: b.size, Ref: b.ref,
				Born: b.born, BornBy: b.thread, Thread: thread, Addr: b.addr})
			live = slices.Delete(live, i, i+1)
			continue
		}
		b := scattered{size: 1 + rng.Uint64N(1<<(4+rng.IntN(9))), ref: refs, stack: 1 + uint32(rng.IntN(11)),
			thread: thread, born: r.now}
		if rng.IntN(12) == 0 {
			b.size = ownMapping + rng.Uint64N(HugePageSize)
		}
		b.addr = bases[rng.IntN(len(bases))] + rng.Uint64N(1<<18)*16
		if overlaps(&b) {
			continue
		}
		refs++
		r.event(event.Event{Kind: event.Alloc, Func: event.Malloc, Stack: b.stack, Size: b.size, Ref: event.NoRef,
			Thread: b.thread, Addr: b.addr})
		live = append(live, b)
	}
	return r.source(frames), r.events
}

// TestFilm compares the cells at each moment with the blocks that are live then, page by page.
func TestFilm(t *testing.T) {
	t.Parallel()
	var sawShared, sawSingle, sawEmpty, sawFull int
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 77))
		s, events := scatter(t, rng, 300)
		want := HeapWish{Moments: 1 + rng.IntN(12), Cells: 256 << rng.IntN(9), Color: HeapColor(seed % 4),
			Ages:  seed%3 == 0,
			Group: func(stack uint32) string { return fmt.Sprint("group ", stack%10) }}
		f, err := Film(t.Context(), s, &Query{}, want)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Pictures) != want.Moments || len(f.Capacity) > want.Cells {
			t.Fatalf("seed %d: %d pictures of %d cells, want %d of at most %d", seed, len(f.Pictures), len(f.Capacity),
				want.Moments, want.Cells)
		}
		checkLayout(t, f, events)
		for i := range f.Bands {
			if f.Bands[i].CellPages > 1 {
				sawShared++
			} else {
				sawSingle++
			}
		}
		for i := range f.Pictures {
			p := &f.Pictures[i]
			live := make(map[uint64]event.Event)
			allocs := uint64(0)
			for n, e := range events {
				if uint64(n) >= p.Cut {
					if e.Time < p.Time {
						t.Fatalf("seed %d: event %d at %d is not in the picture of %d", seed, n, e.Time, p.Time)
					}
					break
				}
				if e.Time > p.Time {
					t.Fatalf("seed %d: event %d at %d is in the picture of %d", seed, n, e.Time, p.Time)
				}
				if e.Kind == event.Alloc {
					live[allocs] = e
					allocs++
				} else {
					delete(live, e.Ref)
				}
			}
			empty, full := checkPicture(t, f, p, live, want.Ages)
			sawEmpty += empty
			sawFull += full
		}
	}
	if sawShared < 10 || sawSingle < 10 || sawEmpty < 100 || sawFull < 100 {
		t.Errorf("not tested: bands with several pages to a cell %d, with one %d, empty cells %d, full ones %d",
			sawShared, sawSingle, sawEmpty, sawFull)
	}
}

// checkLayout holds the cells to the pages of all blocks: the order is that of the addresses, no page has two places,
// and all capacity together is that of the pages.
func checkLayout(t *testing.T, f *HeapFilm, events []event.Event) {
	t.Helper()
	last := f.Pictures[len(f.Pictures)-1].Cut
	pages := make(map[uint64]bool)
	for _, e := range events[:last] {
		for p := e.Addr / PageSize; p <= (e.Addr+e.Size-1)/PageSize; p++ {
			pages[p] = true
		}
	}
	sorted := make([]uint64, 0, len(pages))
	for p := range pages {
		sorted = append(sorted, p)
	}
	slices.Sort(sorted)
	before, in := -1, make(map[int]uint64)
	for _, p := range sorted {
		cell, ok := f.Find(p * PageSize)
		if !ok || cell < before {
			t.Fatalf("page %#x is in cell %d (%v), after %d", p, cell, ok, before)
		}
		before = cell
		if in[cell] += PageSize; in[cell] > f.Capacity[cell] {
			t.Fatalf("cell %d has more pages than its %d bytes", cell, f.Capacity[cell])
		}
		if addr, _, ok := f.Start(cell); !ok || addr > p*PageSize {
			t.Fatalf("cell %d of page %#x begins at %#x (%v)", cell, p, addr, ok)
		}
	}
}

// checkPicture compares a picture with live blocks.
func checkPicture(t *testing.T, f *HeapFilm, p *HeapPicture, live map[uint64]event.Event, ages bool) (empty,
	full int) {
	t.Helper()
	type sums struct {
		bytes uint64
		born  float64
		by    map[string]uint64
	}
	cells := make([]sums, len(f.Capacity))
	var amount Amount
	for _, e := range live {
		amount.add(Amount{e.Size, 1})
		name := fmt.Sprintf("t (%d)", 100+e.Thread)
		if f.Color == ColorStack {
			name = fmt.Sprint("group ", e.Stack%10)
		}
		for from, end := e.Addr, e.Addr+e.Size; from < end; {
			to := min((from/PageSize+1)*PageSize, end)
			cell, ok := f.Find(from)
			if !ok {
				t.Fatalf("no cell for %#x", from)
			}
			x := &cells[cell]
			if x.by == nil {
				x.by = make(map[string]uint64)
			}
			if !slices.Contains(f.Groups, name) {
				name = "others"
			}
			x.bytes += to - from
			x.born += float64(to-from) * float64(e.Time)
			x.by[name] += to - from
			from = to
		}
	}
	if p.Live != amount {
		t.Errorf("live: %+v, want %+v", p.Live, amount)
	}
	for cell := range cells {
		x := &cells[cell]
		want := (255*x.bytes + max(f.Capacity[cell], 1) - 1) / max(f.Capacity[cell], 1)
		if uint64(p.Fill[cell]) != want {
			t.Fatalf("cell %d at %d: %d, want %d (%d of %d bytes)", cell, p.Time, p.Fill[cell], want, x.bytes,
				f.Capacity[cell])
		}
		switch {
		case want == 0:
			empty++
			continue
		case want == 255:
			full++
		}
		if (p.Age == nil) != (f.Color != ColorAge && !ages) || (p.Tint == nil) != (f.Color < ColorStack) {
			t.Fatalf("by %v, ages wanted %v: %d ages, %d tints", f.Color, ages, len(p.Age), len(p.Tint))
		}
		if p.Age != nil {
			age := (float64(p.Time) - x.born/float64(x.bytes)) / float64(f.Last)
			want := 255 * max(1+math.Log10(max(age, 1e-9))/AgeDecades, 0)
			// Ages are known to a step of bornSteps.
			if step := 255 * 2 / bornSteps / max(age, 1e-3); math.Abs(want-float64(p.Age[cell])) > 1+step {
				t.Fatalf("cell %d is %f old, which is %d, want %f", cell, age, p.Age[cell], want)
			}
		}
		if p.Tint != nil {
			got := "others"
			if int(p.Tint[cell]) < len(f.Groups) {
				got = f.Groups[p.Tint[cell]]
			}
			for name, bytes := range x.by {
				if bytes > x.by[got] {
					t.Fatalf("cell %d is of %s with %d bytes, but %s has %d", cell, got, x.by[got], name, bytes)
				}
			}
		}
	}
	return empty, full
}

// TestHeapKinds lays out a heap behind the program, two arenas, and mappings with a gap between them.
func TestHeapKinds(t *testing.T) {
	t.Parallel()
	var r reach
	small := func(addr uint64, pages int) {
		for i := range uint64(pages) {
			r.note(addr+i*PageSize, 64)
		}
	}
	small(0x555500021010, 100)
	r.note(0x555500021010+100*PageSize, 200<<10) // between small blocks: part of the heap
	small(0x555500021010+160*PageSize, 5)
	small(0x7f0000000030, 10)
	small(0x7f0004000030, 20)
	r.note(0x7f1000000010, 64<<20)
	r.note(0x7f2000000010, 1<<20)
	modules := []event.Module{{Path: "/bin/app", Start: 0x555500000000, End: 0x555500021000},
		{Path: "/lib/libc.so", Start: 0x7f3000000000, End: 0x7f3000200000}}
	l := r.layout(1000, brkRange("/bin/app", modules))
	var got string
	for i := range l.Bands {
		b := &l.Bands[i]
		got += fmt.Sprintf("%v %d/%d in %d runs; ", b.Kind, b.Pages, b.CellPages, len(b.Runs))
	}
	want := "heap 165/1 in 1 runs; arena 10/1 in 1 runs; arena 20/1 in 1 runs; mappings 16642/32 in 2 runs; "
	if got != want {
		t.Errorf("layout: %s\nwant    %s", got, want)
	}
	if len(l.Capacity) > 1000 {
		t.Errorf("%d cells", len(l.Capacity))
	}
}

// TestHostileFilm lays out blocks that cannot be where they are said to be, and more places than have room.
func TestHostileFilm(t *testing.T) {
	t.Parallel()
	var r reach
	for _, b := range [][2]uint64{{0, 8}, {^uint64(0) - 3, 100}, {16, ^uint64(0)}, {4096, 1 << 56}, {4096, 64},
		{mostAddr - 1, 1 << 50}} {
		r.note(b[0], b[1])
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		r.note(1<<30+rng.Uint64N(1<<46), 1+rng.Uint64N(1<<uint(rng.IntN(30))))
	}
	l := r.layout(256, pageRun{})
	if len(l.Capacity) > 256 || len(l.Bands) > mostBands {
		t.Errorf("%d cells in %d bands", len(l.Capacity), len(l.Bands))
	}
	for cell, n := range l.Capacity {
		if _, _, ok := l.Start(cell); ok != (n > 0) {
			t.Errorf("cell %d has %d bytes; an address: %v", cell, n, ok)
		}
	}
}

// TestFilmWithoutAddresses asks a recording that does not say where blocks were.
func TestFilmWithoutAddresses(t *testing.T) {
	t.Parallel()
	s, _ := random(t, 3, 100)
	if _, err := Film(t.Context(), s, &Query{}, HeapWish{Moments: 3, Cells: 1000}); err != errNoAddresses {
		t.Errorf("without addresses: %v", err)
	}
}

// TestRoughFilm: a picture from some blocks of events has each block that was allocated shortly before its moment and
// is live, nothing where nothing was ever allocated, and as many bytes as are live. Of few events it is the exact one.
func TestRoughFilm(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 5))
	rough, near := 0, 0
	for _, events := range []int{100, 3000, 6000} {
		s, list := scatter(t, rng, events)
		for range 8 {
			cut := uint64(len(list)) - rng.Uint64N(uint64(len(list)/2))
			want := HeapWish{Moments: 1, Cells: MostHeapCells, Rough: true}
			got, err := Film(t.Context(), s, &Query{At: &cut}, want)
			if err != nil {
				t.Fatal(err)
			}
			want.Rough = false
			exact, err := Film(t.Context(), s, &Query{At: &cut}, want)
			if err != nil {
				t.Fatal(err)
			}
			p, q := &got.Pictures[0], &exact.Pictures[0]
			if p.Live != q.Live || p.Time != q.Time || p.Cut != q.Cut {
				t.Fatalf("cut %d: %+v at %d, want %+v", cut, p.Live, p.Time, q.Live)
			}
			if got.Estimate == nil {
				if !slices.Equal(p.Fill, q.Fill) {
					t.Fatalf("cut %d: it says that it is exact, and is not", cut)
				}
				continue
			}
			rough++
			e := got.Estimate
			if e.Blocks != roughBlocks || e.Of <= 2*roughBlocks || e.Events >= e.OfEvents {
				t.Fatalf("cut %d: %+v", cut, e)
			}
			for cell, fill := range p.Fill {
				if addr, _, ok := got.Start(cell); fill > 0 && ok && got.Bands[0].CellPages == 1 {
					if _, ever := exact.Find(addr); !ever {
						t.Fatalf("cut %d: %#x has bytes, and no block was ever there", cut, addr)
					}
				}
			}
			blocks := s.Reader.EventBlocks()
			last := blocks.At(cut - 1)
			from := blocks.Head(max(last-roughBlocks/2+1, 0)).FirstEvent
			live := make(map[uint64]bool)
			for i := from; i < cut; i++ {
				if e := &list[i]; e.Kind == event.Alloc {
					live[e.Addr] = true
				} else if e.Kind == event.Free {
					delete(live, e.Addr)
				}
			}
			for addr := range live {
				near++
				if cell, ok := got.Find(addr); !ok || p.Fill[cell] == 0 {
					t.Fatalf("cut %d: the block at %#x is missing", cut, addr)
				}
			}
		}
	}
	if rough < 8 || near < 100 {
		t.Errorf("%d rough pictures, %d blocks", rough, near)
	}
}

// TestRoughKinds: the layout of a rough picture is that of an exact one which has the same blocks.
func TestRoughKinds(t *testing.T) {
	t.Parallel()
	var exact reach
	var glimpses [2]glimpse
	for i, size := range []uint64{64, 1 << 20, 64 << 20, 200 << 10, 64, 3 << 20} {
		e := event.Event{Kind: event.Alloc, Addr: 0x7f0000000010 + uint64(i)<<30, Size: size}
		exact.note(e.Addr, e.Size)
		glimpses[i%2].see(&e, uint64(i/2))
	}
	for i := range glimpses {
		glimpses[i].finish()
	}
	_, all, ok := together([]*glimpse{&glimpses[0], &glimpses[1]})
	if !ok {
		t.Fatal("too many places")
	}
	got, want := all.layout(1000, pageRun{}), exact.layout(1000, pageRun{})
	if d := cmp.Diff(want.Bands, got.Bands, cmpopts.IgnoreUnexported(HeapRun{})); d != "" {
		t.Errorf("bands:\n%s", d)
	}
}

// TestGlimpseMemory: what is known of a block of events has few groups of bits, whatever the sizes of blocks are.
func TestGlimpseMemory(t *testing.T) {
	t.Parallel()
	const blocks = 2000
	for size := uint64(1 << 10); size <= 4<<20; size *= 2 {
		var g glimpse
		for i := range uint64(blocks) {
			g.see(&event.Event{Kind: event.Alloc, Addr: 1<<40 + i<<24 + 100, Size: size - 1}, i)
		}
		g.finish()
		groups := len(g.small.known) + len(g.edges.known) + len(g.large.small.known)
		if groups == 0 || groups > 6*blocks {
			t.Errorf("%d blocks of %d bytes have %d groups", blocks, size, groups)
		}
	}
}

// TestLatest: blocks that are left do not overlap, and none is missing that is later than all that it overlaps.
func TestLatest(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		var known []found
		for i := range 60 {
			x := found{addr: 1 + rng.Uint64N(1000), size: rng.Uint64N(60), time: int64(i)}
			known = append(known, x)
		}
		list := latest(slices.Clone(known))
		for i := 1; i < len(list); i++ {
			if list[i-1].end() > list[i].addr {
				t.Fatalf("%+v and %+v overlap", list[i-1], list[i])
			}
		}
		for _, x := range known {
			last := true
			for _, o := range known {
				if o.addr < x.end() && x.addr < o.end() && o.time > x.time {
					last = false
				}
			}
			if last && !slices.Contains(list, x) {
				t.Fatalf("%+v is missing from %+v", x, list)
			}
		}
	}
}
