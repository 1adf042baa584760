package notes

import (
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// regions are those in which a process's threads are.
type regions struct {
	open   map[uint32][]openRegion // by thread, from the outermost on
	notes  int                     // so far
	moves  map[uint32]uint32       // by thread: how often it entered or left some that are in the recording
	before []event.RegionNote      // of a dead recorder's recording, at its last event that counts
}

type openRegion struct {
	name string
	kept bool // it is in the recording
}

// maxRegions bounds the notes of a recording.
const maxRegions = 10_000_000

// Region takes the begin or the end of a region of a thread, in the order of its events.
func (n *Notes) Region(thread uint32, begin bool, name string, ids []uint64, now int64) {
	x := event.RegionNote{Time: now, Thread: thread, Event: n.out.Handed(), Alloc: n.out.Allocations(), Name: name}
	if begin {
		x.Count = uint8(min(len(ids), event.RegionIDs))
		for i := range x.Count {
			x.IDs[i] = int64(ids[i])
		}
	} else if x.Leaves = n.regions.left(thread, name); x.Leaves == 0 {
		return
	}
	if slices.Contains(n.regions.before, x) {
		return // the recording that a dead recorder left has it already
	}
	kept := n.regions.notes < maxRegions || !begin
	if n.regions.take(&x, kept); !kept {
		n.note("Regions were entered or left more than %d times; those entered later were not kept.", maxRegions)
	} else if x.Leaves > 0 || begin {
		n.out.Region(x)
		n.regions.moved(thread)
	}
}

// Moves is how often each thread has entered or left regions; nil: none has.
func (n *Notes) Moves() map[uint32]uint32 { return n.regions.moves }

// moved counts that a thread has entered or left regions.
func (r *regions) moved(thread uint32) {
	if r.moves == nil {
		r.moves = make(map[uint32]uint32)
	}
	r.moves[thread]++
}

// Settle takes events before which the recording has so many others. Of one that has waited in the ledger while its
// thread entered or left regions, a note says so: it does not belong to the regions where it lies.
func (n *Notes) Settle(b *event.Batch, before uint64) {
	if n.regions.moves == nil || len(b.Full) == 0 {
		return
	}
	for rows, full := range b.Parts() {
		before += uint64(len(rows))
		for i := range full {
			n.late(&full[i], before)
			before++
		}
	}
}

// late notes if an event, before which there are so many, does not belong to the regions where it lies.
func (n *Notes) late(e *event.Full, before uint64) {
	back := n.regions.moves[e.Thread] - e.Region
	if back == 0 || e.Kind > event.Free || n.regions.notes >= maxRegions {
		return
	}
	x := event.RegionNote{
		Time: e.Time, Thread: e.Thread, Event: before, Alloc: e.Allocs,
		Late: event.LateAlloc, Back: back,
	}
	if e.Kind == event.Free {
		x.Late = event.LateFree
	}
	n.regions.notes++
	n.out.Region(x)
}

// left is how many regions a thread leaves with the innermost one of that name; 0 if it is in none.
func (r *regions) left(thread uint32, name string) uint32 {
	list := r.open[thread]
	for i, o := range slices.Backward(list) {
		if o.name == name {
			return uint32(len(list) - i)
		}
	}
	return 0
}

// take follows a note. Of the regions that it leaves, it counts only those that are in the recording.
func (r *regions) take(n *event.RegionNote, kept bool) {
	if r.open == nil {
		r.open = make(map[uint32][]openRegion)
	}
	list := r.open[n.Thread]
	if n.Leaves == 0 {
		r.open[n.Thread] = append(list, openRegion{n.Name, kept})
	} else {
		inner := len(list) - min(len(list), int(n.Leaves))
		n.Leaves = 0
		for _, o := range list[inner:] {
			if o.kept {
				n.Leaves++
			}
		}
		r.open[n.Thread] = list[:inner]
	}
	if kept {
		r.notes++
	}
}

// restoreRegions takes over the regions of the recording that a dead recorder left, as far as its events count.
func (n *Notes) restoreRegions(old []event.RegionNote, events uint64) {
	for _, x := range old {
		if x.Event > events || x.Event == events && x.Late != event.NotLate {
			break // it comes again
		}
		if n.out.Region(x); x.Late != event.NotLate {
			n.regions.notes++
			continue
		}
		n.regions.take(&x, true)
		n.regions.moved(x.Thread)
		if x.Event == events {
			n.regions.before = append(n.regions.before, x)
		}
	}
}
