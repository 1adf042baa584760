package recording

import (
	"encoding/binary"
	"errors"

	"github.com/heaptap/heaptap/internal/event"
)

// Region adds a note that a region was entered or left. Its thread must be added before.
func (w *Writer) Region(n event.RegionNote) { w.pending.regions = append(w.pending.regions, n) }

// Regions returns the notes of regions in the order in which they were written, which is that of the events.
func (r *Reader) Regions() []event.RegionNote { return r.regions }

func encodeRegions(p *payload, w *columnWriter, list []event.RegionNote) {
	w.reset()
	p.uint(uint64(len(list)))
	text := w.texts()
	var last moment
	var events, allocs uint64
	for i := range list {
		n := &list[i]
		w.moment(&last, n.Thread, n.Time)
		w.a = binary.AppendUvarint(w.a, zigzag(int64(n.Event-events)))
		w.a = binary.AppendUvarint(w.a, zigzag(int64(n.Alloc-allocs)))
		events, allocs = n.Event, n.Alloc
		w.b = binary.AppendUvarint(w.b, text(n.Name))
		w.c = binary.AppendUvarint(w.c, uint64(n.Leaves))
		switch {
		case n.Late != event.NotLate:
			w.c = binary.AppendUvarint(w.c, event.RegionIDs+uint64(n.Late))
			w.c = binary.AppendUvarint(w.c, uint64(n.Back))
		case n.Leaves == 0:
			w.c = binary.AppendUvarint(w.c, uint64(n.Count))
			for _, id := range n.IDs[:n.Count] {
				w.c = binary.AppendUvarint(w.c, zigzag(id))
			}
		}
	}
	w.store(p)
}

func decodeRegions(s *columns, list []event.RegionNote) ([]event.RegionNote, error) {
	var r columnReader
	if err := r.open(s); err != nil {
		return list, err
	}
	text, err := r.texts()
	if err != nil {
		return list, err
	}
	var last moment
	var events, allocs uint64
	for range r.n {
		thread, time := r.moment(&last)
		events += uint64(r.a.int())
		allocs += uint64(r.a.int())
		n := event.RegionNote{Thread: thread, Time: time, Event: events, Alloc: allocs, Name: text(), Leaves: r.c.uint32()}
		if n.Leaves == 0 {
			switch count := r.c.uint(); {
			case count <= event.RegionIDs:
				n.Count = uint8(count)
				for i := range count {
					n.IDs[i] = r.c.int()
				}
			case count <= event.RegionIDs+uint64(event.LateFree):
				n.Late, n.Back = event.Lateness(count-event.RegionIDs), r.c.uint32()
			default:
				return list, errTable
			}
		}
		switch {
		case r.bad():
			return list, errTable
		case allocs > events:
			return list, errors.New("a region's place is impossible")
		}
		list = append(list, n)
	}
	return list, nil
}
