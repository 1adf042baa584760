package sampler

import (
	"os"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/procs"
)

// alone maps pages that no other mapping touches, all of them small.
func alone(t *testing.T, pages, flags int) (mem []byte, start uint64) {
	t.Helper()
	size := os.Getpagesize()
	all, err := unix.Mmap(-1, 0, (pages+2)*size, unix.PROT_NONE, flags|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(all) })
	mem = all[size : (pages+1)*size]
	if err := unix.Mprotect(mem, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		t.Fatal(err)
	}
	if err := unix.Madvise(mem, unix.MADV_NOHUGEPAGE); err != nil && err != unix.EINVAL {
		t.Fatal(err)
	}
	return mem, uint64(uintptr(unsafe.Pointer(&mem[0])))
}

// TestPageReading looks at memory of this process of which it knows what was touched: a part, all, only read, nothing.
func TestPageReading(t *testing.T) {
	size := uint64(os.Getpagesize())
	part, partAt := alone(t, 64, unix.MAP_PRIVATE)
	all, allAt := alone(t, 8, unix.MAP_PRIVATE)
	read, readAt := alone(t, 8, unix.MAP_PRIVATE)
	_, noneAt := alone(t, 8, unix.MAP_PRIVATE)
	shared, sharedAt := alone(t, 8, unix.MAP_SHARED)
	for i := range uint64(8) {
		part[i*3*size], all[i*size], shared[i*size] = 1, 1, 1
	}
	if read[3*size] != 0 {
		t.Fatal("the memory is not new")
	}
	p := newProcess(Target{PID: os.Getpid(), Pages: true})
	defer p.close()
	list, _ := readAreas(p)
	lookAt(p, list)
	r := pageReading(list, 5*time.Millisecond, size)
	if r.Took != 5_000_000 || r.PageSize != size {
		t.Errorf("%d ns, pages of %d bytes", r.Took, r.PageSize)
	}
	count := func(start, pages uint64) (n uint64) {
		for i := range pages {
			if event.InRanges(r.Resident, start+i*size) {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		what                 string
		start, pages, expect uint64
		looked               bool
	}{
		{"a part", partAt, 64, 8, true}, {"all", allAt, 8, 8, true}, {"only read", readAt, 8, 1, true},
		{"nothing", noneAt, 8, 0, true}, {"shared", sharedAt, 8, 0, false},
	} {
		looked := slices.Contains(r.Areas, event.AddrRange{Start: c.start, End: c.start + c.pages*size})
		if n := count(c.start, c.pages); n != c.expect || looked != c.looked {
			t.Errorf("%s: %d pages, expected %d; looked at: %v", c.what, n, c.expect, looked)
		}
	}
	if i := slices.IndexFunc(r.Resident, func(a event.AddrRange) bool { return a.Start == allAt }); i < 0 ||
		r.Resident[i].End != allAt+8*size {
		t.Errorf("what is wholly in memory is not one run: %+v", r.Resident)
	}
}

// TestHeapPagesDue: readings take a hundredth of a processor, and an idle process is not read.
func TestHeapPagesDue(t *testing.T) {
	p := newProcess(Target{PID: os.Getpid(), Pages: true})
	defer p.close()
	p.Random, _ = procs.Random(os.Getpid())
	g := &p.heap
	now := p.started
	at := func(after time.Duration, changed bool) bool {
		if g.changed = changed; !changed {
			g.worked = time.Hour // more than this process has
		}
		return g.due(p, now.Add(after))
	}
	if at(0, true) || !at(minInterval, true) {
		t.Error("the first reading is not after a moment")
	}
	took := func(after, cost time.Duration) { g.took(p, now.Add(after), now.Add(after), cost, 0) }
	took(minInterval, 7*time.Millisecond)
	if at(minInterval+699*time.Millisecond, true) || !at(minInterval+700*time.Millisecond, true) {
		t.Error("a reading of 7 ms is not followed by a pause of 700 ms")
	}
	if at(time.Minute, false) {
		t.Error("read although nothing has changed")
	}
	took(time.Hour, time.Microsecond)
	if at(time.Hour+maxInterval/2, true) || !at(time.Hour+maxInterval, true) {
		t.Error("a long run is read often")
	}
}
