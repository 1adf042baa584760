package replay

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// withPages records blocks of 64 KiB to 16 MiB, some of which are freed and moved, with readings of which pages are in
// memory: none, some runs, every second one, all. It returns the bytes that are to be touched of those that stay.
func withPages(t *testing.T) (*Plan, *Player, uint64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{PID: 100}, recording.Options{Addresses: true})
	if err != nil {
		t.Fatal(err)
	}
	w.Thread(0, event.Thread{TID: 100})
	random := rand.New(rand.NewPCG(6, 6))
	touched, now, addr := uint64(0), int64(0), uint64(0x7f0000000010)
	var before event.PageReading
	for ref := range uint64(60) {
		size := uint64(64<<10) << random.IntN(9)
		pages := (addr%pageSize + size + pageSize - 1) / pageSize
		now += 1000
		alloc := event.Event{Time: now, Kind: event.Alloc, Func: event.Malloc, Size: size, Addr: addr,
			Ref: event.NoRef}
		if err := w.Event(&alloc); err != nil {
			t.Fatal(err)
		}
		start := addr / pageSize * pageSize
		r := event.PageReading{Time: now + 500, PageSize: pageSize,
			Areas: append(before.Areas, event.AddrRange{Start: start, End: start + pages*pageSize})}
		n := uint64(0)
		for page := range pages {
			in := false
			switch ref % 4 {
			case 0:
				in = page%2 == 1 || page == 0
			case 1:
				in = page < pages/3 || page > pages-pages/7
			case 2:
				in = true
			case 3:
				in = page == 0
			}
			if in {
				at := start + page*pageSize
				r.Resident = append(r.Resident, event.AddrRange{Start: at, End: at + pageSize})
				n++
			}
		}
		r.Resident = event.TogglePages(nil, r.Resident) // touching runs become one
		before = event.PageReading{Areas: r.Areas[:len(r.Areas):len(r.Areas)]}
		w.PageReading(r)
		if random.IntN(3) == 0 {
			now += 1000
			free := event.Event{Time: now, Kind: event.Free, Func: event.FreeFunc, Size: size, Ref: ref, Addr: addr,
				Born: alloc.Time}
			if err := w.Event(&free); err != nil {
				t.Fatal(err)
			}
		} else {
			touched += n * pageSize
		}
		addr += pages*pageSize + 1<<20
	}
	now += 1000
	last := event.Event{Time: now, Kind: event.Alloc, Func: event.Malloc, Size: 1 << 20, Addr: addr, Ref: event.NoRef}
	if err := w.Event(&last); err != nil { // at which nobody looked
		t.Fatal(err)
	}
	if err := w.Finish(recording.Ending{End: now}); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	dir := t.TempDir()
	o := Options{Order: Window, To: math.MaxUint64, Pages: true}
	plan, err := Make(t.Context(), r, filepath.Join(dir, "plan"), o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlayer(dir)
	if err != nil {
		t.Fatal(err)
	}
	return plan, p, touched + 1<<20
}

// TestRecordedPages: what is resident at the end are the pages that the recording says of blocks that were not freed,
// and all of those of which it does not say any.
func TestRecordedPages(t *testing.T) {
	t.Parallel()
	if b, _ := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled"); bytes.Contains(b, []byte("[always]")) {
		t.Skip("each page that is touched becomes a huge one")
	}
	plan, p, touched := withPages(t)
	if plan.Pages.Unmeasured != 1<<20 || plan.Pages.Measured < 60*64<<10 {
		t.Errorf("%+v", plan.Pages)
	}
	for _, c := range []struct {
		touch Touch
		right bool
	}{{TouchRecorded, true}, {TouchAll, false}, {TouchFirst, false}} {
		// No block is part of a heap from which nothing is returned.
		a := Allocator{Name: "glibc", Options: []string{"MALLOC_MMAP_THRESHOLD_=4096", "MALLOC_MMAP_MAX_=100000"}}
		o, _, err := p.play(t.Context(), plan, a, modeTime, c.touch)
		if err != nil {
			t.Fatal(err)
		}
		got := float64(o.RSSEnd-o.RSSStart) / float64(touched)
		if right := got > 0.98 && got < 1.05; right != c.right {
			t.Errorf("touch %s: %d bytes more at the end than at the beginning, of %d", c.touch, o.RSSEnd-o.RSSStart,
				touched)
		}
	}
}

// TestFewerRuns: a block's runs become few, with as many pages, each within the block.
func TestFewerRuns(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8, 8))
	for range 50 {
		pages := 1 + random.Uint64N(100_000)
		var runs []pageRun
		sum := uint64(0)
		for at := random.Uint64N(3); at < pages; {
			n := min(1+random.Uint64N(9), pages-at)
			runs = append(runs, pageRun{uint32(at), uint32(n)})
			sum += n
			at += n + 1 + random.Uint64N(9)
		}
		got, end := uint64(0), uint64(0)
		few := fewer(runs, pages)
		for _, r := range few {
			if uint64(r.first) < end || r.pages == 0 {
				t.Fatalf("run %+v begins before %d", r, end)
			}
			got, end = got+uint64(r.pages), uint64(r.first)+uint64(r.pages)
		}
		if got != sum || end > pages || len(few) > maxPageRuns {
			t.Errorf("%d runs with %d pages up to %d; had %d, %d of %d", len(few), got, end, len(runs), sum, pages)
		}
	}
}
