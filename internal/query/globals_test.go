package query

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
)

// TestGlobals: one file loaded twice, one read in part, one never read; two threads.
func TestGlobals(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	r.thread(0)
	r.thread(0)
	for id, path := range []string{"", "/bin/app", "/lib/libtwice.so.1", "/lib/libpart.so", "/lib/libnever.so",
		"/lib/libtwice.so.1"} {
		if id > 0 {
			r.w.Module(event.Module{ID: uint32(id), Path: path, Start: uint64(id) << 20, Bias: uint64(id) << 20,
				Unload: -1})
		}
	}
	at := func(id, from, to uint64) event.AddrRange {
		return event.AddrRange{Start: id<<20 + from, End: id<<20 + to}
	}
	if err := r.w.Variables([]event.Variable{
		{Module: 1, Kind: event.BSS, Addr: 0x1000, Size: 0x8000, Name: "big"},
		{Module: 1, Kind: event.TBSS, Addr: 0, Size: 0x5000, Name: "each"},
		{Module: 1, Kind: event.ROData, Addr: 0x100, Size: 8, Name: "constant"},
		{Module: 2, Kind: event.Data, Addr: 0x2800, Size: 0x1000, Name: "edge"},
		{Module: 3, Kind: event.BSS, Addr: 0x1000, Size: 0x1000, Name: "seen"},
		{Module: 3, Kind: event.BSS, Addr: 0x1800, Size: 0x1000, Name: "half"},
		{Module: 4, Kind: event.BSS, Addr: 0x1000, Size: 0x10, Name: "never"},
	}, []event.DataSection{
		{Module: 1, Kind: event.BSS, Start: 0x1000, End: 0x9100, Variables: 3, Named: 0x8100},
		{Module: 1, Kind: event.TBSS, End: 0x5000, Variables: 1, Named: 0x5000},
		{Module: 2, Kind: event.Data, Start: 0x2000, End: 0x4000, Variables: 1, Named: 0x1000},
		{Module: 2, Kind: event.Data, Start: 0x5000, End: 0x5010},
		{Module: 4, Kind: event.BSS, Start: 0x1000, End: 0x1010, Variables: 1, Named: 0x10},
	}); err != nil {
		t.Fatal(err)
	}
	if err := r.w.Residency([]event.Residency{
		{Module: 1, Time: 500, PageSize: 4096, Looked: []event.AddrRange{at(1, 0x1000, 0xa000)},
			Resident: []event.AddrRange{at(1, 0x1000, 0x2000), at(1, 0x3000, 0x5000), at(1, 0x9000, 0xa000)}},
		{Module: 2, Time: 300, PageSize: 4096, Looked: []event.AddrRange{at(2, 0x2000, 0x6000)},
			Resident: []event.AddrRange{at(2, 0x2000, 0x6000)}},
		{Module: 3, Time: 500, PageSize: 4096, Looked: []event.AddrRange{at(3, 0x1000, 0x2000)}},
		{Module: 5, Time: 700, PageSize: 4096, Looked: []event.AddrRange{at(5, 0x2000, 0x6000)},
			Resident: []event.AddrRange{at(5, 0x3000, 0x4000)}},
	}); err != nil {
		t.Fatal(err)
	}
	s := r.source(nil)
	g := s.Globals(nil)
	type row struct {
		Name     string
		Total    uint64
		Resident Resident
	}
	var got []row
	for _, v := range g.Variables {
		got = append(got, row{v.Name, v.Total, v.Resident})
	}
	no := Resident{}
	if d := cmp.Diff([]row{{"each", 0xa000, no}, {"big", 0x8000, Resident{0x3000, true}},
		{"edge", 0x1000, Resident{0x800, true}},
		{"seen", 0x1000, Resident{0, true}}, {"half", 0x1000, no}, {"never", 0x10, no}, {"constant", 8,
			no}}, got); d != "" {
		t.Error(d)
	}
	want := GlobalSum{Bytes: 0x8100 + 0x5000 + 0x2010 + 0x10, Total: 0x8100 + 0xa000 + 0x2010 + 0x10, Variables: 6,
		Named:    0x8100 + 0x5000 + 0x1010,
		Resident: Resident{0x3100 + 0x1000, true}}
	if g.Total != want || g.Threads != 2 || g.At != 700 || len(g.Files) != 3 || g.Files[0].Path != "/bin/app" ||
		g.Files[2].Total.Resident.Known {
		t.Errorf("%+v, want %+v", g, want)
	}
	if d := cmp.Diff(GlobalSum{Bytes: 0x8110, Total: 0x8110, Variables: 4, Named: 0x8110,
		Resident: Resident{0x3100, true}}, g.Kinds[event.BSS]); d != "" {
		t.Error(d)
	}
	if g := s.Globals([]string{"libtwice"}); len(g.Files) != 1 || len(g.Variables) != 1 || g.Total.Bytes != 0x2010 ||
		g.At != 700 {
		t.Errorf("%+v", g)
	}
	if g.Counted || g.Now != 2 {
		t.Errorf("threads %+v", g)
	}
	if g := s.Globals([]string{"libnever.so"}); g.At != -1 || g.Total.Bytes != 0x10 {
		t.Errorf("%+v", g)
	}
}

// TestThreadsAlive: thread-local variables count once for each thread that was alive at the time with the most
// threads, whether it allocated or not.
func TestThreadsAlive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ever       int
		alive      []int64
		peak, last uint64
		counted    bool
	}{
		{5, []int64{1, 3, 3, 2}, 3, 2, true},
		{1, []int64{1, 4, 0}, 4, 4, true}, // the last look failed
		{4, []int64{1}, 2, 1, true},       // others started and ended between two looks
		{4, nil, 4, 4, false},
	} {
		r := newRecorder(t)
		for range c.ever {
			r.thread(0)
		}
		for i, n := range c.alive {
			r.w.Sample(event.Sample{Time: int64(i), Threads: n})
		}
		r.w.Module(event.Module{ID: 1, Path: "/bin/app", Unload: -1})
		if err := r.w.Variables([]event.Variable{{Module: 1, Kind: event.TBSS, Size: 100, Name: "each"}},
			nil); err != nil {
			t.Fatal(err)
		}
		g := r.source(nil).Globals(nil)
		if g.Threads != c.peak || g.Now != c.last || g.Counted != c.counted || g.Variables[0].Total != 100*c.peak {
			t.Errorf("%+v: %+v", c, g)
		}
	}
}
