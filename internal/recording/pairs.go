package recording

import (
	"encoding/binary"

	"github.com/heaptap/heaptap/internal/event"
)

// Pairs adds allocations and deallocations that do not belong together.
func (w *Writer) Pairs(list []event.Pair) error {
	w.wait()
	if w.Err() == nil {
		writeTable(w.app, blockPairs, &list, encodePairs)
		_ = w.check(w.app.err)
	}
	return w.Err()
}

// Pairs returns the allocations and deallocations that do not belong together, in the order in which they were found.
func (r *Reader) Pairs() []event.Pair { return r.pairs }

// pairNumbers are what a pair has besides its functions and call stacks, in the order of the format.
func pairNumbers(x *event.Pair) [5]*uint64 {
	return [5]*uint64{&x.Count, &x.Size, &x.FreeSize, &x.Align, &x.FreeAlign}
}

func encodePairs(p *payload, w *columnWriter, list []event.Pair) {
	w.reset()
	p.uint(uint64(len(list)))
	var last moment
	for i := range list {
		x := &list[i]
		w.moment(&last, x.Thread, x.Time)
		for _, v := range []uint64{uint64(x.Mismatch), uint64(x.Alloc), uint64(x.Free), uint64(x.Stack), uint64(x.FreeStack)} {
			w.b = binary.AppendUvarint(w.b, v)
		}
		for _, v := range pairNumbers(x) {
			w.c = binary.AppendUvarint(w.c, *v)
		}
	}
	w.store(p)
}

// decodePairs leaves out what does not mismatch in a way that this heaptap knows.
func decodePairs(s *columns, list []event.Pair) ([]event.Pair, error) {
	var r columnReader
	if err := r.open(s); err != nil {
		return list, err
	}
	var last moment
	for range r.n {
		thread, time := r.moment(&last)
		x := event.Pair{Thread: thread, Time: time, Mismatch: event.Mismatch(r.b.uint() & event.Mismatches), Alloc: pairFunc(r.b.uint()),
			Free: pairFunc(r.b.uint()), Stack: r.b.uint32(), FreeStack: r.b.uint32()}
		for _, v := range pairNumbers(&x) {
			*v = r.c.uint()
		}
		if r.bad() {
			return list, errTable
		}
		if x.Mismatch != 0 && x.Count > 0 {
			list = append(list, x)
		}
	}
	return list, nil
}

// pairFunc takes a function that this heaptap does not know for an unknown one.
func pairFunc(n uint64) event.Func {
	if n < uint64(event.FuncCount) {
		return event.Func(n)
	}
	return event.FuncUnknown
}
