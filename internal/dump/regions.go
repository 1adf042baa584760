package dump

import (
	"fmt"
	"strconv"

	"github.com/heaptap/heaptap/internal/event"
)

// Regions writes the notes of regions: where threads entered and left some, and of which events it is known that they
// happened earlier.
func (d *Dumper) Regions() error {
	if !d.json {
		d.printf("%14s %8s %12s %12s %-6s %s\n", "time", "tid", "events", "allocations", "what", "region")
	}
	for i := range d.r.Regions() {
		n := &d.r.Regions()[i]
		if d.json {
			d.regionNote(n)
			continue
		}
		what, text := "enter", printable(n.Title())
		switch {
		case n.Late != event.NotLate:
			what, text = "late", "the "+lateKind(n).String()+" that comes next was before the latest "+strconv.FormatUint(uint64(n.Back), 10)
		case n.Leaves > 0:
			what = "leave"
			if n.Leaves > 1 {
				text += fmt.Sprintf(" and %d within", n.Leaves-1)
			}
		}
		d.printf("%14s %8d %12d %12d %-6s %s\n", Seconds(nil, n.Time, 0), d.tid(n.Thread), n.Event, n.Alloc, what, text)
	}
	return d.err
}

// lateKind is the kind of the event that a note is of.
func lateKind(n *event.RegionNote) event.Kind {
	if n.Late == event.LateFree {
		return event.Free
	}
	return event.Alloc
}

func (d *Dumper) regionNote(n *event.RegionNote) {
	v := struct {
		Time   int64    `json:"time_ns"`
		Thread uint32   `json:"thread"`
		Events uint64   `json:"events_before"`
		Allocs uint64   `json:"allocations_before"`
		Region *string  `json:"region,omitempty"` // that is entered
		Leaves uint32   `json:"leaves,omitempty"`
		Name   *string  `json:"name,omitempty"` // of the region entered, or of the outermost one left
		IDs    *[]int64 `json:"ids,omitempty"`
		Late   string   `json:"late,omitempty"` // the kind of the event that comes next
		Back   uint32   `json:"back,omitempty"`
	}{Time: n.Time, Thread: n.Thread, Events: n.Event, Allocs: n.Alloc, Leaves: n.Leaves}
	switch {
	case n.Late != event.NotLate:
		v.Late, v.Back = lateKind(n).String(), n.Back
	case n.Leaves == 0:
		title, ids := n.Title(), append([]int64{}, n.IDs[:n.Count]...)
		v.Region, v.IDs = &title, &ids
		v.Name = &n.Name
	default:
		v.Name = &n.Name
	}
	d.object(v)
}
