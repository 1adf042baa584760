package record

import (
	"reflect"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/wire"
)

// TestRegions: a note lies between the events of its thread that it lay between, whatever other threads do; an end
// leaves all down to the innermost region of its name, and one of a name that is not there does nothing.
func TestRegions(t *testing.T) {
	t.Parallel()
	c := newScript(t)
	c.arrive(1, 100, 300, 500)
	begin := func(name, time uint64) wire.Record {
		return wire.Record{Kind: wire.KRegionBegin, Addr: name, Time: time}
	}
	end := func(name, time uint64) wire.Record {
		return wire.Record{Kind: wire.KRegionEnd, Addr: name, Time: time}
	}
	c.put(2, wire.Record{Kind: wire.XID, Value: 3}, wire.Record{Kind: wire.XID, Value: ^uint64(0)}, begin(1, 150),
		wire.Record{Kind: wire.KMalloc, Addr: 1 << 20, Size: 5, Time: 250},
		begin(2, 350), begin(1, 360), begin(3, 370), wire.Record{Kind: wire.KMalloc, Addr: 1 << 21, Size: 5,
			Time: 400}, end(1, 410), end(9, 420), end(3, 430), end(1, 550), end(1, 560))
	c.look(1000)
	r := c.finished()
	want := []event.RegionNote{
		{Name: "(name 1)", Time: 100, Thread: 1, Event: 1, Alloc: 1, Count: 2, IDs: [4]int64{3, -1}},
		{Name: "(name 2)", Time: 300, Thread: 1, Event: 3, Alloc: 3},
		{Name: "(name 1)", Time: 300, Thread: 1, Event: 3, Alloc: 3},
		{Name: "(name 3)", Time: 300, Thread: 1, Event: 3, Alloc: 3},
		{Name: "(name 1)", Time: 400, Thread: 1, Event: 4, Alloc: 4, Leaves: 2},
		{Name: "(name 1)", Time: 500, Thread: 1, Event: 5, Alloc: 5, Leaves: 2},
	}
	if got := r.Regions(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestContestedRegion: thread 2 gets the block's address before the recorder has seen thread 1 free it, and leaves its
// region before that is settled. What waited belongs to the region in which it happened, the deallocation too.
func TestContestedRegion(t *testing.T) {
	t.Parallel()
	c := newScript(t)
	const addr = 1 << 20
	c.put(1, wire.Record{Kind: wire.KMalloc, Addr: addr, Size: 1, Time: 100},
		wire.Record{Kind: wire.KFree, Addr: addr, Time: 700},
		wire.Record{Kind: wire.KMalloc, Addr: 3 << 20, Size: 4, Time: 900})
	c.put(2, wire.Record{Kind: wire.KRegionBegin, Addr: 1, Time: 200},
		wire.Record{Kind: wire.KMalloc, Addr: addr, Size: 2, Time: 300},
		wire.Record{Kind: wire.KRegionBegin, Addr: 2, Time: 310}, wire.Record{Kind: wire.KFree, Addr: addr, Time: 320},
		wire.Record{Kind: wire.KRegionEnd, Addr: 1, Time: 400}, wire.Record{Kind: wire.KRegionBegin, Addr: 3,
			Time: 500},
		wire.Record{Kind: wire.KMalloc, Addr: 2 << 20, Size: 3, Time: 800})
	c.look(1000)
	r := c.finished()
	var got []event.RegionNote
	for _, n := range r.Regions() {
		if n.Late != event.NotLate {
			n.Time = 0
			got = append(got, n)
		}
	}
	// In the file: the first allocation, what waited, what came later.
	want := []event.RegionNote{
		{Thread: 1, Event: 2, Alloc: 1, Late: event.LateAlloc, Back: 3},
		{Thread: 1, Event: 3, Alloc: 2, Late: event.LateFree, Back: 2},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	s, err := query.Open(c.p.file.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	table, err := query.Regions(t.Context(), s, &query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string][2]uint64{}
	for _, row := range table.Rows {
		counts[row.Name] = [2]uint64{row.Allocations, row.Deallocations}
	}
	if want := map[string][2]uint64{"(name 1)": {1, 1}, "(name 2)": {0, 1},
		"(name 3)": {1, 0}}; !reflect.DeepEqual(counts, want) {
		t.Errorf("allocations and deallocations %v, want %v", counts, want)
	}
	flat, err := query.Flat(t.Context(), s, &query.Query{By: query.ByRegion, Metrics: []query.Metric{query.Bytes}})
	if err != nil {
		t.Fatal(err)
	}
	bytes := map[string]uint64{}
	for _, row := range flat.Rows {
		bytes[row.Group.Region] = row.Total.Bytes
	}
	if want := map[string]uint64{"": 5, "(name 1)": 2, "(name 3)": 3}; !reflect.DeepEqual(bytes, want) {
		t.Errorf("bytes %v, want %v", bytes, want)
	}
}
