package sampler

import (
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/event"
)

// TestAreaScan compares the short list and a scan with what the kernel counts for each mapping.
func TestAreaScan(t *testing.T) {
	size := uint64(os.Getpagesize())
	part, partAt := alone(t, 64, unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	all, allAt := alone(t, 8, unix.MAP_PRIVATE)
	read, readAt := alone(t, 8, unix.MAP_PRIVATE)
	shared, sharedAt := alone(t, 8, unix.MAP_SHARED)
	for i := range uint64(8) {
		part[i*3*size], all[i*size], shared[i*size] = 1, 1, 1
	}
	if read[3*size] != 0 {
		t.Fatal("the memory is not new")
	}
	p := newProcess(Target{PID: os.Getpid()})
	defer p.close()
	g := &p.areas
	if list, _ := g.scan(p, 0); list != nil {
		t.Error("scanned before there was a long list")
	}
	long, _ := g.long(p)
	m, err := openPageMap(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	smp := Unknown
	if !p.statm(&smp) {
		t.Fatal("the resident set is not known")
	}
	list, resident := g.scan(p, smp.RSS)
	if !m.scan(partAt, partAt+64*size, isPresent, 0, func(_, _ uint64) bool { return true }) {
		if list != nil { // Linux before 6.7
			t.Error("a kernel that cannot scan has scanned")
		}
		return
	}
	if list == nil || resident <= 0 {
		t.Fatalf("not scanned, or %d bytes are resident", resident)
	}
	at := func(list []Area, addr uint64) (a Area) {
		if i := slices.IndexFunc(list, func(a Area) bool { return a.Start == addr }); i >= 0 {
			a = list[i]
		}
		return a
	}
	for what, addr := range map[string]uint64{"a part": partAt, "all": allAt, "only read": readAt, "shared": sharedAt} {
		want, got := at(long, addr), at(list, addr)
		got.Pages = nil
		if want.End == 0 || !got.equal(&want) {
			t.Errorf("%s: %+v, the kernel says %+v", what, got, want)
		}
	}
	pages := at(list, partAt).Pages
	want := make([]event.AddrRange, 8)
	for i := range want {
		want[i].Start = partAt + uint64(i)*3*size
		want[i].End = want[i].Start + size
	}
	if !slices.Equal(pages, want) {
		t.Errorf("pages %+v, want %+v", pages, want)
	}
	if list, _ := g.scan(p, smp.RSS*2); list == nil {
		t.Error("the resident set has become smaller, and nothing is read")
	}
	if list, _ := g.scan(p, resident/2); list == nil {
		t.Error("the resident set has grown, and nothing is read")
	}
	g.known = g.known[:1] // as if nearly all was mapped since
	if list, _ := g.scan(p, smp.RSS); list != nil {
		t.Error("mappings of which not all is known are taken for known ones")
	}
}

func (a *Area) equal(b *Area) bool {
	return a.Start == b.Start && a.End == b.End && a.Resident == b.Resident && a.Writable == b.Writable &&
		a.NoAccess == b.NoAccess && a.Shared == b.Shared && a.NoReserve == b.NoReserve && a.Path == b.Path
}
