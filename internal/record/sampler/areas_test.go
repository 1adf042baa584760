package sampler

import (
	"os"
	"reflect"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/procs"
)

func TestAreaOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line string
		want Area
	}{
		{"6000-7000 rw-p 00000000 00:00 0 \n", Area{Start: 0x6000, End: 0x7000, Writable: true}},
		{"559d9c000-559f5a000 rw-p 00000000 00:00 0       [heap]",
			Area{Start: 0x559d9c000, End: 0x559f5a000, Writable: true, Path: "[heap]"}},
		{"f000-10000 r--s 00001000 fe:00 185    /a b (deleted)\n",
			Area{Start: 0xf000, End: 0x10000, Shared: true, Path: "/a b (deleted)"}},
		{"f000-10000 ---p 00000000 00:00 0 \n", Area{Start: 0xf000, End: 0x10000, NoAccess: true}},
	} {
		if got, ok := areaOf([]byte(c.line)); !ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %+v, %v", c.line, got, ok)
		}
	}
	for _, line := range []string{"", "\n", "Rss:      4 kB\n", "VmFlags: rd ex mr mw me", "10000-f000 rw-p 0 00:00 0",
		"f000 rw-p", "-f000 rw-p"} {
		if got, ok := areaOf([]byte(line)); ok {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

// TestAreas looks at memory of this process of which it knows what was touched.
func TestAreas(t *testing.T) {
	size := uint64(os.Getpagesize())
	const count = 4096
	mem, err := unix.Mmap(-1, 0, (count+1)*int(size), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	if err := unix.Madvise(mem, unix.MADV_NOHUGEPAGE); err != nil && err != unix.EINVAL {
		t.Fatal(err)
	}
	if err := unix.Mprotect(mem[count*size:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	start := uint64(uintptr(unsafe.Pointer(&mem[0])))
	mem[0], mem[1000*size], mem[1001*size] = 1, 1, 1
	p := newProcess(Target{PID: os.Getpid()})
	defer p.close()
	list, pss := readAreas(p)
	lookAt(p, list)
	i := slices.IndexFunc(list, func(a Area) bool { return a.Start <= start && start < a.End })
	if i < 0 || pss <= 0 {
		t.Fatalf("%d areas, %d bytes", len(list), pss)
	}
	a := list[i]
	in := func(page uint64) bool {
		return slices.ContainsFunc(a.Pages, func(r event.AddrRange) bool {
			return r.Start <= start+page*size && start+page*size < r.End
		})
	}
	for page, want := range map[uint64]bool{0: true, 1: false, 999: false, 1000: true, 1001: true, 1002: false} {
		if in(page) != want {
			t.Errorf("page %d: %v, in %+v", page, !want, a)
		}
	}
	if !a.NoReserve || list[0].NoReserve {
		t.Errorf("%+v and %+v: which was mapped with MAP_NORESERVE?", a, list[0])
	}
	if a.End != start+count*size || !list[i+1].NoAccess || list[i+1].Start != a.End || list[i+1].Pages != nil {
		t.Errorf("%+v, %+v", a, list[i+1])
	}
	sum := uint64(0)
	for _, a := range list {
		sum += a.Resident
	}
	smp := Unknown
	if !p.statm(&smp) {
		t.Fatal("the resident set is not known")
	}
	if off := float64(sum) / float64(smp.RSS); off < 0.8 || off > 1.25 {
		t.Errorf("the areas have %d bytes in memory, the process %d", sum, smp.RSS)
	}
}

// TestAreasDue: readings follow a growing resident set, and are rare otherwise.
func TestAreasDue(t *testing.T) {
	var got sizes
	p := newProcess(Target{PID: os.Getpid(), Sink: &got})
	defer p.close()
	p.Random, _ = procs.Random(os.Getpid())
	g := &p.areas
	now := time.Now()
	read := func(after time.Duration, rss int64, changed bool) bool {
		before := len(got)
		if g.changed = changed; !changed {
			g.worked = time.Hour // more than this process has
		}
		g.read(p, now.Add(after), &event.Sample{RSS: rss})
		return len(got) > before
	}
	if read(0, 100<<20, true) {
		t.Error("read as soon as the process began")
	}
	if !read(10*time.Millisecond, 100<<20, true) || p.nextPSS.Before(now.Add(areasInterval/2)) {
		t.Error("not read when it has run for a moment")
	}
	late := 10*time.Millisecond + time.Minute
	g.next = now.Add(2 * time.Hour)
	if read(late, 101<<20, true) {
		t.Error("read although the resident set has not grown by much")
	}
	if !read(late, 110<<20, true) {
		t.Error("not read although the resident set has grown")
	}
	g.grown, g.next = now.Add(time.Hour), now.Add(time.Hour)
	if read(late, 200<<20, true) {
		t.Error("read although the latest reading took long")
	}
	if read(2*time.Hour, 100<<20, false) {
		t.Error("read although nothing has changed")
	}
	if !read(2*time.Hour, 100<<20, true) {
		t.Error("a change is not read")
	}
	smp := event.Sample{RSS: 1} // less than what is in memory when the areas are read
	g.changed = true
	if g.read(p, now.Add(20*time.Hour), &smp); smp.RSS < 1<<20 {
		t.Errorf("the sample has %d bytes, less than the areas", smp.RSS)
	}
	g.changed, g.worked = false, -time.Second
	before := len(got)
	if g.read(p, now.Add(30*time.Hour), &event.Sample{RSS: 1}); len(got) == before {
		t.Error("not read although the process has worked since")
	}
	g.most, g.changed = 0, true
	g.read(p, now.Add(40*time.Hour), &event.Sample{RSS: 1})
	if !read(41*time.Hour, smp.RSS, false) {
		t.Error("not read again although the resident set grew during the reading")
	}
}

// sizes is a Sink that counts areas.
type sizes []int

func (s *sizes) Sample(uint64, event.Sample)         {}
func (s *sizes) Residency(uint64, []event.Residency) {}
func (s *sizes) Stacks(uint64, []StackReading)       {}
func (s *sizes) Pages(uint64, event.PageReading)     {}
func (s *sizes) Areas(_ uint64, list []Area)         { *s = append(*s, len(list)) }
