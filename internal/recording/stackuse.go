package recording

import (
	"encoding/binary"

	"github.com/heaptap/heaptap/internal/event"
)

// StackUse adds a reading of the memory of a thread's stack. What it names must be added before.
func (w *Writer) StackUse(u event.StackUse) { w.pending.stackUse = append(w.pending.stackUse, u) }

// StackUse returns the readings of the memory of the threads' stacks, in the order in which they were taken.
func (r *Reader) StackUse() []event.StackUse { return r.stackUse }

func encodeStackUse(p *payload, w *columnWriter, list []event.StackUse) {
	w.reset()
	p.uint(uint64(len(list)))
	var last moment
	for i := range list {
		u := &list[i]
		w.moment(&last, u.Thread, u.Time)
		w.b = binary.AppendUvarint(w.b, uint64(u.Measure))
		w.b = binary.AppendUvarint(w.b, u.Bytes)
		w.c = binary.AppendUvarint(w.c, uint64(u.Stack))
	}
	w.store(p)
}

// decodeStackUse leaves out measures that this heaptap does not know.
func decodeStackUse(s *columns, list []event.StackUse) ([]event.StackUse, error) {
	var r columnReader
	if err := r.open(s); err != nil {
		return list, err
	}
	var last moment
	for range r.n {
		thread, time := r.moment(&last)
		measure := r.b.uint()
		u := event.StackUse{Thread: thread, Time: time, Measure: event.StackMeasure(measure), Bytes: r.b.uint(), Stack: r.c.uint32()}
		if r.bad() {
			return list, errTable
		}
		if measure < uint64(event.StackMeasures) {
			list = append(list, u)
		}
	}
	return list, nil
}
