package sampler

import (
	"os"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/event"
)

// TestResidentPages looks at memory of this process of which it knows what was touched.
func TestResidentPages(t *testing.T) {
	t.Parallel()
	const count = 3 * 8192 // more than fit into what is read at once
	size := uint64(os.Getpagesize())
	mem, err := unix.Mmap(-1, 0, count*int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	if err := unix.Madvise(mem, unix.MADV_NOHUGEPAGE); err != nil && err != unix.EINVAL {
		t.Fatal(err)
	}
	start := uint64(uintptr(unsafe.Pointer(&mem[0])))
	run := func(from, to uint64) event.AddrRange {
		return event.AddrRange{Start: start + from*size, End: start + to*size}
	}
	var want []event.AddrRange
	for _, r := range [][2]uint64{{0, 1}, {7, 9}, {8190, 8194}, {count - 1, count}} {
		for p := r[0]; p < r[1]; p++ {
			mem[p*size] = 1
		}
		want = append(want, run(r[0], r[1]))
	}
	g := &pages{}
	g.segments = map[uint32][]event.AddrRange{1: {run(0, count)}, 2: {run(0, 100)}, 3: {{Start: 1 << 20, End: 2 << 20}},
		4: {run(0, count)}}
	modules := []event.Module{{ID: 1, Unload: -1}, {ID: 2, Unload: 5}, {ID: 3, Unload: -1},
		{ID: 5, Path: "[vdso]", Unload: -1}, {ID: 6, Path: "/missing", Unload: -1}}
	list := g.look("/proc/self", modules, size)
	if len(list) != 2 || list[0].Module != 1 || !slices.Equal(list[0].Resident, want) || list[1].Module != 3 ||
		len(list[1].Resident) != 0 {
		t.Errorf("%+v, want %+v", list, want)
	}
	m, err := openPageMap("/proc/self")
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	for _, m.scans = range []bool{m.scans, false} {
		for runs := range len(want) + 1 {
			r := event.Residency{PageSize: size, Looked: g.segments[1]}
			got := resident(m, &r, runs)
			if got != (runs >= len(want)) || got && !slices.Equal(r.Resident, want) {
				t.Errorf("with room for %d runs, by a scan %v: %v, %+v", runs, m.scans, got, r.Resident)
			}
		}
	}
	if list := g.look("/nowhere", modules, size); list != nil {
		t.Errorf("%+v", list)
	}
	if got := g.of(&event.Module{ID: 8, Path: "/proc/self/exe", BuildID: []byte("another")}, size); len(got) > 0 {
		t.Errorf("of another build: %+v", got)
	}
	if got := g.of(&event.Module{ID: 9, Path: "/proc/self/exe", Bias: 1 << 30}, size); len(got) == 0 ||
		got[0].Start%size != 0 || got[0].Start < 1<<30 {
		t.Errorf("%+v", got)
	}
}

// TestTurns has a reading that takes so long that the process is idle when its next turn comes: what changed after the
// reading is still read, once.
func TestTurns(t *testing.T) {
	now := time.Now()
	p := &Process{started: now.Add(-time.Minute), pause: maxInterval}
	g := turns{next: now, changed: true}
	if !g.due(p, now) {
		t.Error("a change before the process became idle is not read")
	}
	g.took(p, now, now)
	if g.due(p, now.Add(time.Hour)) {
		t.Error("an idle process is read again although nothing has changed")
	}
	p.pause = 0
	if g.due(p, now) || !g.due(p, now.Add(time.Hour)) {
		t.Error("a busy process is not read at its turns")
	}
}
