package record

import (
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// regions are those that a process's threads are in.
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

// region takes the begin or the end of a region of a thread, in the order of its events.
func (p *process) region(s *stream, begin bool, name string, ids []uint64, now int64) {
	n := event.RegionNote{Time: now, Thread: s.thread, Event: p.out.Handed(), Alloc: p.out.Allocations(), Name: name}
	if begin {
		n.Count = uint8(min(len(ids), event.RegionIDs))
		for i := range n.Count {
			n.IDs[i] = int64(ids[i])
		}
	} else if n.Leaves = p.regions.left(s.thread, name); n.Leaves == 0 {
		return
	}
	if slices.Contains(p.regions.before, n) {
		return // the recording that a dead recorder left has it already
	}
	kept := p.regions.notes < maxRegions || !begin
	if p.regions.take(&n, kept); !kept {
		p.note("Regions were entered or left more than %d times; those entered later were not kept.", maxRegions)
	} else if n.Leaves > 0 || begin {
		p.out.Region(n)
		p.regions.moved(s.thread)
	}
}

// moved counts that a thread has entered or left regions.
func (r *regions) moved(thread uint32) {
	if r.moves == nil {
		r.moves = make(map[uint32]uint32)
	}
	r.moves[thread]++
}

// settledLate notes of an event that waited in the ledger while its thread entered or left regions to which it does not belong.
func (p *process) settledLate(e *event.Event, region uint32) {
	back := p.regions.moves[e.Thread] - region
	if back == 0 || e.Kind > event.Free || p.regions.notes >= maxRegions {
		return
	}
	n := event.RegionNote{Time: e.Time, Thread: e.Thread, Event: p.out.Handed(), Alloc: p.out.Allocations(), Late: event.LateAlloc, Back: back}
	if e.Kind == event.Free {
		n.Late = event.LateFree
	}
	p.regions.notes++
	p.out.Region(n)
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

// take follows a note, and has it leave only what is in the recording.
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

// restore takes over the notes of the recording that a dead recorder left, as far as its events count.
func (p *process) restoreRegions(old []event.RegionNote, events uint64) {
	for _, n := range old {
		if n.Event > events || n.Event == events && n.Late != event.NotLate {
			break // it comes again
		}
		if p.out.Region(n); n.Late != event.NotLate {
			p.regions.notes++
			continue
		}
		p.regions.take(&n, true)
		p.regions.moved(n.Thread)
		if n.Event == events {
			p.regions.before = append(p.regions.before, n)
		}
	}
}
