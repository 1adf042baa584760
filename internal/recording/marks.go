package recording

import (
	"encoding/binary"
	"errors"

	"github.com/heaptap/heaptap/internal/event"
)

// Mark adds a mark. The thread that it names must be added before.
func (w *Writer) Mark(m event.Mark) { w.pending.marks = append(w.pending.marks, m) }

// Marks returns the marks by rising time.
func (r *Reader) Marks() []event.Mark { return r.marks }

// MarkCut returns the cut at a mark. Where events around it were folded, a *FoldedError comes with a cut near it at which there
// are answers.
func (r *Reader) MarkCut(m *event.Mark) (uint64, error) {
	first, last := r.Cuts()
	if from, _ := r.DetailFrom(); m.Cut != event.NoCut && m.Cut >= from {
		return min(max(m.Cut, first), last), nil
	}
	return r.CutAt(m.Time)
}

func encodeMarks(p *payload, w *columnWriter, list []event.Mark) {
	w.reset()
	p.uint(uint64(len(list)))
	last := int64(0)
	for i := range list {
		m := &list[i]
		w.id = binary.AppendUvarint(w.id, zigzag(m.Time-last))
		last = m.Time
		w.a = binary.AppendUvarint(w.a, uint64(m.Source))
		w.a = binary.AppendUvarint(w.a, uint64(m.Thread))
		w.b = binary.AppendUvarint(w.b, m.Cut+1) // NoCut: 0
		w.string(m.Name)
	}
	w.store(p)
}

// decodeMarks leaves out marks of sources that this heaptap does not know.
func decodeMarks(s *columns, list []event.Mark) ([]event.Mark, error) {
	var r columnReader
	if err := r.open(s); err != nil {
		return list, err
	}
	time := int64(0)
	for range r.n {
		time += r.id.int()
		source := r.a.uint()
		m := event.Mark{Time: time, Source: event.MarkSource(source), Thread: r.a.uint32(), Cut: r.b.uint() - 1, Name: r.text.string()}
		if r.bad() {
			return list, errTable
		}
		if time < 0 {
			return list, errors.New("a time is negative")
		}
		if source < uint64(event.MarkSources) {
			list = append(list, m)
		}
	}
	return list, nil
}
