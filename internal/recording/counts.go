package recording

import (
	"encoding/binary"
	"errors"

	"github.com/heaptap/heaptap/internal/event"
)

// Counts writes what the process's threads have counted so far, in the place of what was written of it before.
func (w *Writer) Counts(c *event.Counts) error {
	w.wait()
	if w.Err() == nil && len(c.Rows) > 0 {
		w.app.pay.reset()
		encodeCounts(w.app.pay, &w.app.cols, c)
		_ = w.check(w.app.block(blockCounts, w.app.pay.bytes()))
	}
	return w.Err()
}

// Counts returns what the process's threads have counted; nil if nothing was. It must not be changed.
func (r *Reader) Counts() *event.Counts { return r.counts }

func encodeCounts(p *payload, w *columnWriter, c *event.Counts) {
	w.reset()
	p.uint(uint64(len(c.Rows)))
	p.uint(c.Tick)
	text := w.texts()
	last := int64(0)
	for i := range c.Rows {
		n := &c.Rows[i]
		fn := uint64(n.Func) << 1
		if n.Frees {
			fn |= 1
		}
		w.id = binary.AppendUvarint(w.id, zigzag(int64(n.TID)-last))
		last = int64(n.TID)
		for _, v := range [...]uint64{fn, n.Calls, n.Failed, n.Bytes, n.Usable, n.Time, n.Timed} {
			w.a = binary.AppendUvarint(w.a, v)
		}
		w.b = binary.AppendUvarint(w.b, text(n.Name))
		w.c = appendClasses(w.c, n.Sizes)
		w.c = appendClasses(w.c, n.Times)
	}
	w.store(p)
}

// appendClasses appends how many classes are not empty, and for each its number minus that of the one before, and its count.
func appendClasses(b []byte, list []event.Class) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	last := uint8(0)
	for _, c := range list {
		b = binary.AppendUvarint(b, uint64(c.Class-last))
		b = binary.AppendUvarint(b, c.Calls)
		last = c.Class
	}
	return b
}

var errCounts = errors.New("its counts contradict each other")

func decodeCounts(s *columns) (*event.Counts, error) {
	var r columnReader
	if err := r.open(s); err != nil {
		return nil, err
	}
	c := &event.Counts{Tick: s.head.uint()}
	text, err := r.texts()
	if err != nil {
		return nil, err
	}
	last := int64(0)
	for range r.n {
		id, _ := r.nextID(&last)
		fn := r.a.uint()
		n := event.Count{TID: id, Func: event.Func(fn >> 1), Frees: fn&1 != 0, Calls: r.a.uint(), Failed: r.a.uint(), Bytes: r.a.uint(),
			Usable: r.a.uint(), Time: r.a.uint(), Timed: r.a.uint(), Name: text()}
		n.Sizes, n.Times = readClasses(&r.c, event.SizeClasses), readClasses(&r.c, event.TimeClasses)
		if r.bad() || s.head.bad || fn>>1 >= 1<<funcBits {
			return nil, errCounts
		}
		c.Rows = append(c.Rows, n)
	}
	return c, nil
}

// readClasses is appendClasses's twin, for classes below an end.
func readClasses(c *cursor, end uint64) (list []event.Class) {
	at := uint64(0)
	for k := range c.uint() {
		d := c.uint()
		if at += d; c.bad || d > end || at >= end || k > 0 && d == 0 {
			c.bad = true
			return nil
		}
		list = append(list, event.Class{Class: uint8(at), Calls: c.uint()})
	}
	return list
}
