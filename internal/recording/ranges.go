package recording

import (
	"encoding/binary"

	"github.com/heaptap/heaptap/internal/event"
)

// Range adds a name of a range of memory. Its thread must be added before.
func (w *Writer) Range(n event.NamedRange) { w.pending.ranges = append(w.pending.ranges, n) }

// Ranges returns the names that the program has given to its memory, in the order in which they were written, which is that of the events.
func (r *Reader) Ranges() []event.NamedRange { return r.ranges }

func encodeRanges(p *payload, w *columnWriter, list []event.NamedRange) {
	w.reset()
	p.uint(uint64(len(list)))
	text := w.texts()
	var last moment
	var events, start uint64
	for i := range list {
		n := &list[i]
		w.moment(&last, n.Thread, n.Time)
		w.a = binary.AppendUvarint(w.a, zigzag(int64(n.Event-events)))
		w.b = binary.AppendUvarint(w.b, text(n.Name))
		w.c = binary.AppendUvarint(w.c, zigzag(int64(n.Start-start)))
		w.c = binary.AppendUvarint(w.c, n.Size)
		events, start = n.Event, n.Start
	}
	w.store(p)
}

func decodeRanges(s *columns, list []event.NamedRange) ([]event.NamedRange, error) {
	var r columnReader
	if err := r.open(s); err != nil {
		return list, err
	}
	text, err := r.texts()
	if err != nil {
		return list, err
	}
	var last moment
	var events, start uint64
	for range r.n {
		thread, time := r.moment(&last)
		events += uint64(r.a.int())
		start += uint64(r.c.int())
		n := event.NamedRange{Thread: thread, Time: time, Event: events, Start: start, Size: r.c.uint(), Name: text()}
		if r.bad() {
			return list, errTable
		}
		list = append(list, n)
	}
	return list, nil
}
