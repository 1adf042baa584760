package recording

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/heaptap/heaptap/internal/event"
)

// staticsEntries is the largest number of variables in a block: their names may be long.
const staticsEntries = 2048

// statics is what a recording tells of the data that the process's files hold besides the heap.
type statics struct {
	variables []event.Variable
	sections  []event.DataSection
	residency []event.Residency
}

// Variables adds static variables, and the sections that they and others lie in.
func (w *Writer) Variables(list []event.Variable, sections []event.DataSection) error {
	w.wait()
	for w.Err() == nil && len(list) > 0 {
		part := list[:min(len(list), staticsEntries)]
		list = list[len(part):]
		writeTable(w.app, blockVariables, &part, encodeVariables)
		_ = w.check(w.app.err)
	}
	if w.Err() == nil {
		writeTable(w.app, blockDataSections, &sections, encodeDataSections)
		_ = w.check(w.app.err)
	}
	return w.Err()
}

// Residency adds what was in memory of the modules.
func (w *Writer) Residency(list []event.Residency) error {
	w.wait()
	if w.Err() == nil {
		writeTable(w.app, blockResidency, &list, encodeResidency)
		_ = w.check(w.app.err)
	}
	return w.Err()
}

// Variables returns the static variables that the recording names: of each file the largest ones.
func (r *Reader) Variables() []event.Variable { return r.statics.variables }

// DataSections returns the sections of each file that hold static data.
func (r *Reader) DataSections() []event.DataSection { return r.statics.sections }

// Residency returns what was in memory of the modules' writable segments, as it was last looked at; a module that was never
// looked at is not in it.
func (r *Reader) Residency() []event.Residency { return r.statics.residency }

// load reads a block of one of these tables.
func (t *statics) load(typ blockType, s *columns) error {
	switch typ {
	case blockVariables:
		return t.decodeVariables(s)
	case blockDataSections:
		return t.decodeDataSections(s)
	case blockResidency:
		return t.decodeResidency(s)
	}
	return nil
}

func encodeVariables(p *payload, w *columnWriter, list []event.Variable) {
	w.reset()
	p.uint(uint64(len(list)))
	text := w.texts()
	last := int64(0)
	for i := range list {
		v := &list[i]
		w.id = binary.AppendUvarint(w.id, zigzag(int64(v.Module)-last))
		last = int64(v.Module)
		w.a = binary.AppendUvarint(w.a, v.Addr)
		w.a = binary.AppendUvarint(w.a, v.Size)
		w.b = binary.AppendUvarint(w.b, uint64(v.Kind))
		for _, s := range []string{v.Name, v.Linkage, v.File} {
			w.b = binary.AppendUvarint(w.b, text(s))
		}
		w.c = binary.AppendUvarint(w.c, uint64(v.Line))
	}
	w.store(p)
}

func (t *statics) decodeVariables(s *columns) error {
	var r columnReader
	if err := r.open(s); err != nil {
		return err
	}
	text, err := r.texts()
	if err != nil {
		return err
	}
	last := int64(0)
	for range r.n {
		id, _ := r.nextID(&last)
		v := event.Variable{Module: id, Addr: r.a.uint(), Size: r.a.uint(), Kind: dataKind(r.b.uint())}
		v.Name, v.Linkage, v.File, v.Line = text(), text(), text(), r.c.uint32()
		if r.bad() || v.Addr+v.Size < v.Addr {
			return errTable
		}
		t.variables = append(t.variables, v)
	}
	return nil
}

// dataKind takes a kind that this heaptap does not know for another one.
func dataKind(n uint64) event.DataKind { return event.DataKind(min(n, uint64(event.OtherData))) }

func encodeDataSections(p *payload, w *columnWriter, list []event.DataSection) {
	w.reset()
	p.uint(uint64(len(list)))
	last := int64(0)
	for _, d := range list {
		w.id = binary.AppendUvarint(w.id, zigzag(int64(d.Module)-last))
		last = int64(d.Module)
		w.a = binary.AppendUvarint(w.a, uint64(d.Kind))
		w.a = binary.AppendUvarint(w.a, d.Start)
		w.a = binary.AppendUvarint(w.a, d.End-d.Start)
		w.b = binary.AppendUvarint(w.b, d.Variables)
		w.b = binary.AppendUvarint(w.b, d.Named)
	}
	w.store(p)
}

func (t *statics) decodeDataSections(s *columns) error {
	var r columnReader
	if err := r.open(s); err != nil {
		return err
	}
	last := int64(0)
	for range r.n {
		id, _ := r.nextID(&last)
		d := event.DataSection{Module: id, Kind: dataKind(r.a.uint()), Start: r.a.uint()}
		d.End = d.Start + r.a.uint()
		d.Variables, d.Named = r.b.uint(), r.b.uint()
		if r.bad() || d.End < d.Start {
			return errTable
		}
		t.sections = append(t.sections, d)
	}
	return nil
}

func encodeResidency(p *payload, w *columnWriter, list []event.Residency) {
	w.reset()
	p.uint(uint64(len(list)))
	last := int64(0)
	for i := range list {
		x := &list[i]
		w.id = binary.AppendUvarint(w.id, zigzag(int64(x.Module)-last))
		last = int64(x.Module)
		w.a = binary.AppendUvarint(w.a, zigzag(x.Time))
		w.a = binary.AppendUvarint(w.a, x.PageSize)
		for _, ranges := range [][]event.AddrRange{x.Looked, x.Resident} {
			w.b = binary.AppendUvarint(w.b, uint64(len(ranges)))
			at := uint64(0)
			for _, a := range ranges {
				w.c = binary.AppendUvarint(w.c, a.Start-at)
				w.c = binary.AppendUvarint(w.c, a.End-a.Start)
				at = a.End
			}
		}
	}
	w.store(p)
}

func (t *statics) decodeResidency(s *columns) error {
	var r columnReader
	if err := r.open(s); err != nil {
		return err
	}
	last := int64(0)
	for range r.n {
		id, _ := r.nextID(&last)
		x := event.Residency{Module: id, Time: r.a.int(), PageSize: r.a.uint()}
		for _, ranges := range []*[]event.AddrRange{&x.Looked, &x.Resident} {
			n, at := r.b.uint(), uint64(0)
			if r.bad() || n > uint64(r.c.left()) {
				return errTable
			}
			*ranges = make([]event.AddrRange, n)
			for i := range *ranges {
				start := at + r.c.uint()
				end := start + r.c.uint()
				if r.bad() || start < at || end < start {
					return fmt.Errorf("the ranges of module %d: %w", id, errRanges)
				}
				(*ranges)[i] = event.AddrRange{Start: start, End: end}
				at = end
			}
		}
		t.residency = append(t.residency, x)
	}
	return nil
}

var errRanges = errors.New("they do not follow one another")
