package recording

import (
	"encoding/binary"
	"errors"
	"math"
)

// Columns of the table blocks. Every table block's head begins with the number of its entries.
const (
	colID      columnID = 1 // difference to the id before, zigzag
	colA       columnID = 2
	colB       columnID = 3
	colC       columnID = 4
	colStrings columnID = 9 // text, each with its length before it
)

type columnWriter struct{ id, a, b, c, text []byte }

func (w *columnWriter) reset() {
	w.id, w.a, w.b, w.c, w.text = w.id[:0], w.a[:0], w.b[:0], w.c[:0], w.text[:0]
}

func (w *columnWriter) string(s string) {
	w.text = binary.AppendUvarint(w.text, uint64(len(s)))
	w.text = append(w.text, s...)
}

// texts returns the function that numbers texts, in order of first use, and writes each once; the empty one is 0.
func (w *columnWriter) texts() func(string) uint64 {
	known := map[string]uint64{"": 0}
	return func(s string) uint64 {
		n, ok := known[s]
		if !ok {
			n = uint64(len(known))
			known[s] = n
			w.string(s)
		}
		return n
	}
}

func (w *columnWriter) store(p *payload) {
	p.column(colID, w.id)
	p.column(colA, w.a)
	p.column(colB, w.b)
	p.column(colC, w.c)
	p.column(colStrings, w.text)
}

// columnReader is columnWriter's twin.
type columnReader struct {
	id, a, b, c, text cursor
	n                 uint64
}

var errTable = errors.New("its columns contradict each other")

func (r *columnReader) open(s *columns) error {
	r.n = s.head.uint()
	if s.head.bad || r.n > maxColumn {
		return errors.New("its head is invalid")
	}
	for _, c := range [...]struct {
		id  columnID
		got *cursor
	}{{colID, &r.id}, {colA, &r.a}, {colB, &r.b}, {colC, &r.c}, {colStrings, &r.text}} {
		b, err := s.unpack(c.id, nil)
		if err != nil {
			return err
		}
		*c.got = cursor{b: b}
	}
	return nil
}

func (r *columnReader) bad() bool { return r.id.bad || r.a.bad || r.b.bad || r.c.bad || r.text.bad }

// texts returns the function that reads the number of a text from the second column.
func (r *columnReader) texts() (func() string, error) {
	list := []string{""}
	for r.text.left() > 0 {
		list = append(list, r.text.string())
		if r.text.bad {
			return nil, errTable
		}
	}
	return func() string {
		n := r.b.uint()
		if n >= uint64(len(list)) {
			r.b.bad = true
			return ""
		}
		return list[n]
	}, nil
}

// next reads an id; it reports false at the end of the table or of the data.
func (r *columnReader) nextID(last *int64) (uint32, bool) {
	*last += r.id.int()
	if *last < 0 || *last > math.MaxUint32 {
		r.id.bad = true
	}
	return uint32(*last), !r.bad()
}

// moment is when a thread did something.
type moment struct{ thread, time int64 }

// moment writes one, as the difference to the last one.
func (w *columnWriter) moment(last *moment, thread uint32, time int64) {
	w.id = binary.AppendUvarint(w.id, zigzag(int64(thread)-last.thread))
	w.a = binary.AppendUvarint(w.a, zigzag(time-last.time))
	*last = moment{int64(thread), time}
}

// moment reads one. It is bad if its time is negative.
func (r *columnReader) moment(last *moment) (thread uint32, time int64) {
	thread, _ = r.nextID(&last.thread)
	if last.time += r.a.int(); last.time < 0 {
		r.a.bad = true
	}
	return thread, last.time
}
