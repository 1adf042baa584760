package recording

import (
	"encoding/binary"

	"github.com/heaptap/heaptap/internal/event"
)

// Pools adds what the program's own pools came to.
func (w *Writer) Pools(list []event.Pool) error {
	w.wait()
	if w.Err() == nil {
		writeTable(w.app, blockPools, &list, encodePools)
		_ = w.check(w.app.err)
	}
	return w.Err()
}

// Pools returns what the program's own pools came to, by name.
func (r *Reader) Pools() []event.Pool { return r.pools }

// poolNumbers are what a pool has besides its name, in the order of the format.
func poolNumbers(p *event.Pool) [8]*uint64 {
	return [8]*uint64{&p.Backing, &p.PeakBacking, &p.Live, &p.PeakLive, &p.Blocks, &p.Allocations, &p.Frees, &p.Bytes}
}

func encodePools(p *payload, w *columnWriter, list []event.Pool) {
	w.reset()
	p.uint(uint64(len(list)))
	text := w.texts()
	for i := range list {
		for _, v := range poolNumbers(&list[i]) {
			w.a = binary.AppendUvarint(w.a, *v)
		}
		w.b = binary.AppendUvarint(w.b, text(list[i].Name))
	}
	w.store(p)
}

func decodePools(s *columns, list []event.Pool) ([]event.Pool, error) {
	var r columnReader
	if err := r.open(s); err != nil {
		return list, err
	}
	text, err := r.texts()
	if err != nil {
		return list, err
	}
	for range r.n {
		var p event.Pool
		for _, v := range poolNumbers(&p) {
			*v = r.a.uint()
		}
		p.Name = text()
		if r.bad() || p.Live > p.PeakLive || p.Backing > p.PeakBacking {
			return list, errTable
		}
		list = append(list, p)
	}
	return list, nil
}
