package record

import (
	"reflect"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/wire"
)

// TestNotes: a program's notes are in the recording where they were among its events: after those of other threads that
// are older, and before those that are younger. The spool has no names, so that ids stand for them.
func TestNotes(t *testing.T) {
	t.Parallel()
	c := newScript(t)
	c.arrive(1, 100, 300, 500)
	c.put(2, wire.Record{Kind: wire.KMark, Addr: 7, Time: 200},
		wire.Record{Kind: wire.KMalloc, Addr: 1 << 20, Size: 5, Time: 250},
		wire.Record{Kind: wire.KMark, Addr: 8, Time: 400}, wire.Record{Kind: wire.KThreadName, Addr: 9, Time: 410},
		wire.Record{Kind: wire.XID, Value: 3}, wire.Record{Kind: wire.XID,
			Value: 4}, wire.Record{Kind: wire.KRegionBegin, Addr: 1, Time: 420},
		wire.Record{Kind: wire.KRegionEnd, Addr: 1, Time: 430}, wire.Record{Kind: 192 + 63, Addr: 1,
			Time: 440}, wire.Record{Kind: wire.KMark, Addr: 7, Time: 600})
	c.put(2, wire.Record{Kind: wire.XOld, Value: 0x7000}, wire.Record{Kind: wire.XOldSize, Value: 4096},
		wire.Record{Kind: wire.KRangeName, Addr: 2, Time: 610}, wire.Record{Kind: wire.KRangeName, Addr: 3, Time: 620})
	c.look(1000)
	c.deliver(&markSet{allSlots, "by ctl", event.FromUser, 450})
	c.deliver(&markSet{5, "of another process", event.FromUser, 450})
	r := c.finished()
	want := []event.Mark{{Name: "(name 7)", Time: 200, Cut: 1, Thread: 1},
		{Name: "(name 8)", Time: 400, Cut: 3, Thread: 1},
		{Name: "by ctl", Time: 450, Cut: event.NoCut, Source: event.FromUser}, {Name: "(name 7)", Time: 600, Cut: 4,
			Thread: 1}}
	if got := r.Marks(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if th := r.Threads(); len(th) != 2 || th[1].Name != "(name 9)" || th[1].Start != 200 {
		t.Errorf("%+v", th)
	}
	if got, want := r.Ranges(), []event.NamedRange{{Time: 600, Thread: 1, Event: 4, Start: 0x7000, Size: 4096,
		Name: "(name 2)"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if e, _ := r.Ending(); e.Health.LostEvents != 0 || len(e.Health.Notes) != 0 {
		t.Errorf("%+v", e.Health)
	}
}
