package record

import (
	"reflect"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/wire"
)

// TestRegions: a note lies between the events of its thread that it lay between, whatever other threads do; an end leaves all down to the innermost
// region of its name, and one of a name that is not there does nothing.
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
	c.put(2, wire.Record{Kind: wire.XID, Value: 3}, wire.Record{Kind: wire.XID, Value: ^uint64(0)}, begin(1, 150), wire.Record{Kind: wire.KMalloc, Addr: 1 << 20, Size: 5, Time: 250},
		begin(2, 350), begin(1, 360), begin(3, 370), wire.Record{Kind: wire.KMalloc, Addr: 1 << 21, Size: 5, Time: 400}, end(1, 410), end(9, 420), end(3, 430), end(1, 550), end(1, 560))
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
