package recording

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// tableEntries is the largest number of entries that the writer puts into one table block.
const tableEntries = 1 << 16

// tables collects what is not yet in the file.
type tables struct {
	process *event.Process // nil: as it was told before
	threads []entry[event.Thread]
	modules []event.Module
	pcs     []entry[event.PC]
	nodes   []entry[event.Node]
	samples []event.Sample

	stackUse []event.StackUse
	marks    []event.Mark
	regions  []event.RegionNote
	ranges   []event.NamedRange
}

// take moves what o has behind what t has, and empties o.
func (t *tables) take(o *tables) {
	move(&t.threads, &o.threads)
	move(&t.modules, &o.modules)
	move(&t.pcs, &o.pcs)
	move(&t.nodes, &o.nodes)
	move(&t.samples, &o.samples)
	move(&t.stackUse, &o.stackUse)
	move(&t.marks, &o.marks)
	move(&t.regions, &o.regions)
	move(&t.ranges, &o.ranges)
	if o.process != nil {
		t.process, o.process = o.process, nil
	}
}

// move is take for one table. If nothing was there, nothing is copied.
func move[T any](t, o *[]T) {
	if len(*t) == 0 {
		*t, *o = *o, *t
		return
	}
	if n := len(*t) + len(*o); n > cap(*t) {
		*t = slices.Grow(*t, max(len(*t), len(*o))) // append would grow long ones by a quarter only
	}
	*t = append(*t, *o...)
	*o = (*o)[:0]
}

func encodeThreads(p *payload, w *columnWriter, list []entry[event.Thread]) {
	w.reset()
	p.uint(uint64(len(list)))
	last := int64(0)
	for _, t := range list {
		w.id = binary.AppendUvarint(w.id, zigzag(int64(t.id)-last))
		last = int64(t.id)
		w.a = binary.AppendUvarint(w.a, uint64(t.v.TID))
		w.b = binary.AppendUvarint(w.b, zigzag(t.v.Start))
		w.string(t.v.Name)
	}
	w.store(p)
}

func decodeThreads(s *columns, list []entry[event.Thread]) ([]entry[event.Thread], error) {
	var r columnReader
	if err := r.open(s); err != nil {
		return list, err
	}
	last := int64(0)
	for range r.n {
		id, _ := r.nextID(&last)
		t := event.Thread{TID: r.a.uint32(), Start: r.b.int(), Name: r.text.string()}
		if r.bad() {
			return list, errTable
		}
		list = append(list, entry[event.Thread]{id, t})
	}
	return list, nil
}

func encodeModules(p *payload, w *columnWriter, list []event.Module) {
	w.reset()
	p.uint(uint64(len(list)))
	last := int64(0)
	for _, m := range list {
		w.id = binary.AppendUvarint(w.id, zigzag(int64(m.ID)-last))
		last = int64(m.ID)
		w.a = binary.AppendUvarint(w.a, m.Start)
		w.a = binary.AppendUvarint(w.a, m.End-m.Start)
		w.a = binary.AppendUvarint(w.a, m.Bias)
		w.b = binary.AppendUvarint(w.b, zigzag(m.Loaded))
		w.b = binary.AppendUvarint(w.b, zigzag(m.Unload))
		w.string(m.Path)
		w.string(string(m.BuildID))
	}
	w.store(p)
}

func decodeModules(s *columns, list []event.Module) ([]event.Module, error) {
	var r columnReader
	if err := r.open(s); err != nil {
		return list, err
	}
	last := int64(0)
	for range r.n {
		id, _ := r.nextID(&last)
		m := event.Module{ID: id, Start: r.a.uint()}
		m.End = m.Start + r.a.uint()
		m.Bias, m.Loaded, m.Unload, m.Path = r.a.uint(), r.b.int(), r.b.int(), r.text.string()
		if b := r.text.bytes(r.text.uint()); len(b) > 0 {
			m.BuildID = append([]byte(nil), b...)
		}
		if r.bad() {
			return list, errTable
		}
		list = append(list, m)
	}
	return list, nil
}

func encodePCs(p *payload, w *columnWriter, list []entry[event.PC]) {
	w.reset()
	p.uint(uint64(len(list)))
	last, addr := int64(0), uint64(0)
	for _, e := range list {
		w.id = binary.AppendUvarint(w.id, zigzag(int64(e.id)-last))
		last = int64(e.id)
		w.a = binary.AppendUvarint(w.a, zigzag(int64(e.v.Addr-addr)))
		addr = e.v.Addr
		m := uint64(e.v.Module) << 1
		if e.v.Interrupted {
			m |= 1
		}
		w.b = binary.AppendUvarint(w.b, m)
	}
	w.store(p)
}

func decodePCs(s *columns, list []entry[event.PC]) ([]entry[event.PC], error) {
	var r columnReader
	if err := r.open(s); err != nil {
		return list, err
	}
	last, addr := int64(0), uint64(0)
	for range r.n {
		id, _ := r.nextID(&last)
		addr += uint64(r.a.int())
		m := r.b.uint()
		if r.bad() || m>>1 > math.MaxUint32 {
			return list, errTable
		}
		list = append(list, entry[event.PC]{id, event.PC{Addr: addr, Module: uint32(m >> 1), Interrupted: m&1 != 0}})
	}
	return list, nil
}

func encodeNodes(p *payload, w *columnWriter, list []entry[event.Node]) {
	w.reset()
	p.uint(uint64(len(list)))
	last := int64(0)
	ids, parents, pcs := w.id, w.a, w.b // in variables: these are the longest tables
	for i := range list {
		e := &list[i]
		ids = appendUint(ids, zigzag(int64(e.id)-last))
		last = int64(e.id)
		parents = appendUint(parents, zigzag(int64(e.id)-int64(e.v.Parent)))
		pc := uint64(e.v.PC) << 1
		if e.v.Truncated {
			pc |= 1
		}
		pcs = appendUint(pcs, pc)
	}
	w.id, w.a, w.b = ids, parents, pcs
	w.store(p)
}

func decodeNodes(s *columns, list []entry[event.Node]) ([]entry[event.Node], error) {
	var r columnReader
	if err := r.open(s); err != nil {
		return list, err
	}
	last := int64(0)
	for range r.n {
		id, _ := r.nextID(&last)
		parent := int64(id) - r.a.int()
		pc := r.b.uint()
		if r.bad() || parent < 0 || parent > math.MaxUint32 || pc>>1 > math.MaxUint32 {
			return list, errTable
		}
		list = append(list, entry[event.Node]{id, event.Node{Parent: uint32(parent), PC: uint32(pc >> 1),
			Truncated: pc&1 != 0}})
	}
	return list, nil
}

// sampleFields are a sample's numbers in the order of the format.
func sampleFields(s *event.Sample) [10]*int64 {
	return [10]*int64{&s.Time, &s.RSS, &s.Virtual, &s.Swap, &s.PSS, &s.MinorFaults, &s.MajorFaults, &s.SystemFree,
		&s.SystemCached, &s.Threads}
}

const (
	colSamples       columnID = 16 // and the nine that follow: one for each field
	colSampleThreads          = colSamples + 9
)

func encodeSamples(p *payload, list []event.Sample) {
	p.uint(uint64(len(list)))
	var col []byte
	for f := range sampleFields(new(event.Sample)) {
		col = col[:0]
		last := int64(0)
		for i := range list {
			v := *sampleFields(&list[i])[f]
			col = binary.AppendUvarint(col, zigzag(v-last))
			last = v
		}
		p.column(colSamples+columnID(f), col)
	}
}

func decodeSamples(s *columns, list []event.Sample) ([]event.Sample, error) {
	n := s.head.uint()
	var cols [10]cursor
	have := cols[:]
	if n > 0 && !s.has(colSampleThreads) {
		have = cols[:9] // recordings from before there were any
	}
	for f := range have {
		b, err := s.unpack(colSamples+columnID(f), nil)
		if err != nil {
			return list, err
		}
		cols[f] = cursor{b: b}
		if s.head.bad || n > uint64(len(b)) {
			return list, fmt.Errorf("it says %d samples and has fewer", n)
		}
	}
	var last event.Sample
	for range n {
		fields := sampleFields(&last)
		for f, v := range fields[:len(have)] {
			*v += cols[f].int()
			if cols[f].bad {
				return list, errTable
			}
		}
		list = append(list, last)
	}
	return list, nil
}

// encodeSymbols writes the frames of pcs. Text comes once per block: each string is a number, in order of first use.
func encodeSymbols(p *payload, w *columnWriter, pcs []uint32, frames map[uint32][]event.Frame) {
	w.reset()
	p.uint(uint64(len(pcs)))
	text := w.texts()
	last := int64(0)
	for _, pc := range pcs {
		w.id = binary.AppendUvarint(w.id, zigzag(int64(pc)-last))
		last = int64(pc)
		w.a = binary.AppendUvarint(w.a, uint64(len(frames[pc])))
		for _, f := range frames[pc] {
			w.b = binary.AppendUvarint(w.b, text(f.Function))
			w.b = binary.AppendUvarint(w.b, text(f.Linkage))
			w.b = binary.AppendUvarint(w.b, text(f.File))
			line := uint64(f.Line) << 1
			if f.Inlined {
				line |= 1
			}
			w.c = binary.AppendUvarint(w.c, line)
		}
	}
	w.store(p)
}

func decodeSymbols(s *columns, out map[uint32][]event.Frame) error {
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
		pc, _ := r.nextID(&last)
		n := r.a.uint()
		if r.bad() || n > uint64(r.c.left()) {
			return errTable
		}
		frames := make([]event.Frame, n)
		for i := range frames {
			f := &frames[i]
			f.Function, f.Linkage, f.File = text(), text(), text()
			line := r.c.uint()
			f.Line, f.Inlined = uint32(line>>1), line&1 != 0
			if r.bad() || line>>1 > math.MaxUint32 {
				return errTable
			}
		}
		out[pc] = frames
	}
	return nil
}
