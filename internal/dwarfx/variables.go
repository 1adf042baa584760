package dwarfx

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

const (
	tagVariable    = 0x34
	tagCommonBlock = 0x1a

	atLocation = 0x02
	atDeclFile = 0x3a
	atDeclLine = 0x3b

	opAddr              = 0x03
	opConst8u           = 0x0e
	opFormTLSAddress    = 0x9b
	opAddrx             = 0xa1
	opConstx            = 0xa2
	opGNUPushTLSAddress = 0xe0
	opGNUAddrIndex      = 0xfb
	opGNUConstIndex     = 0xfc
)

// Place is the address of a static variable.
type Place struct {
	Addr   uint64 // thread-local: the offset in the file's part of a thread's memory
	Thread bool
}

// Declaration is what the debug information says about a variable.
type Declaration struct {
	Name string // as in the source, without scopes; "" if unknown
	File string
	Line uint32
}

// maxCandidates limits the units that are searched for one variable.
const maxCandidates = 3

// candidate is a place in the debug information that may describe a variable.
type candidate struct {
	unit uint64
	at   uint64 // offset of the location in .debug_info; 0: anywhere in the unit
}

// Variables returns the declarations of variables. It reads only their units, which it finds by searching all of
// .debug_info for the bytes of the variables' locations, at the speed of memory.
func (d *Data) Variables(ctx context.Context, places []Place) ([]Declaration, error) {
	c := &run{ctx: ctx, strings: map[string]string{}, bytes: 16 << 20}
	c.fuel.Store(16*d.size() + 1024*int64(len(places)) + d.grant)
	out := make([]Declaration, len(places))
	w := newWorker(d, c)
	w.guard("looking for variables", func() {
		d.index()
		w.variables(places, out)
	})
	return out, errors.Join(c.errs...)
}

func (w *worker) variables(places []Place, out []Declaration) {
	wanted := make(map[Place]int, len(places))
	for i, p := range places {
		wanted[p] = i
	}
	seen := w.candidates(wanted, len(places))
	for round := range maxCandidates {
		units := map[uint64][]uint64{}
		for i, list := range seen {
			if round < len(list) && out[i] == (Declaration{}) {
				units[list[round].unit] = append(units[list[round].unit], list[round].at)
			}
		}
		order := make([]uint64, 0, len(units))
		for off := range units {
			order = append(order, off)
		}
		slices.Sort(order)
		for _, off := range order {
			if w.run.over() {
				return
			}
			w.guard(fmt.Sprintf("unit at offset %#x of .debug_info", off),
				func() { w.variablesOf(off, units[off], wanted, out) })
		}
		w.data.release()
	}
}

// candidates finds, for each variable, the places that may describe it.
func (w *worker) candidates(wanted map[Place]int, n int) [][]candidate {
	seen := make([][]candidate, n)
	note := func(p Place, s candidate) {
		if i, ok := wanted[p]; ok && len(seen[i]) < maxCandidates &&
			!slices.ContainsFunc(seen[i], func(o candidate) bool { return o.unit == s.unit }) {
			seen[i] = append(seen[i], s)
		}
	}
	info := w.data.s.Info
	for _, kind := range []struct {
		mark   []byte // length and operator of the location
		thread bool
	}{{[]byte{9, opAddr}, false}, {[]byte{10, opConst8u}, true}} {
		const step = 4 << 20
		for at := 0; at < len(info); {
			end := min(len(info), at+step)
			k := bytes.Index(info[at:end], kind.mark)
			w.burn(1 + (end-at)/64)
			if k < 0 {
				at = max(end-1, at+1)
				continue
			}
			if at += k; at+10 <= len(info) {
				if p := (Place{binary.LittleEndian.Uint64(info[at+2:]), kind.thread}); p.Addr != 0 || kind.thread {
					if _, ok := wanted[p]; ok {
						if unit, ok := w.data.unitOf(uint64(at)); ok {
							note(p, candidate{unit, uint64(at)})
						}
					}
				}
			}
			at++
		}
	}
	w.indirect(wanted, note)
	return seen
}

// indirect finds the variables whose addresses are in .debug_addr, and the units to which its parts belong.
func (w *worker) indirect(wanted map[Place]int, note func(Place, candidate)) {
	table := w.data.s.Addr
	type found struct {
		p  Place
		at uint64
	}
	var list []found
	for at := 0; at+8 <= len(table); at += 8 {
		addr := binary.LittleEndian.Uint64(table[at:])
		for _, p := range [2]Place{{Addr: addr}, {Addr: addr, Thread: true}} {
			if _, ok := wanted[p]; ok && addr != 0 { // linkers leave 0 for variables that they dropped
				list = append(list, found{p, uint64(at)})
			}
		}
	}
	w.burn(len(table) / 8)
	if len(list) == 0 {
		return
	}
	type base struct{ addr, unit uint64 }
	var bases []base
	for _, off := range w.data.units {
		if h, ok, _ := w.data.parseHeader(off); ok {
			if u, ok := w.parseRoot(h); ok && (u.addrBase > 0 || len(u.dwo) > 0) {
				bases = append(bases, base{u.addrBase, off})
			}
		}
	}
	slices.SortStableFunc(bases, func(a, b base) int { return cmp.Compare(a.addr, b.addr) })
	for _, f := range list {
		k, _ := slices.BinarySearchFunc(bases, f.at+1, func(b base, at uint64) int { return cmp.Compare(b.addr, at) })
		if k > 0 {
			note(f.p, candidate{unit: bases[k-1].unit})
		}
	}
}

// variablesOf goes through a unit's entries up to the last of the locations. Subtrees without any are skipped.
func (w *worker) variablesOf(off uint64, locations []uint64, wanted map[Place]int, out []Declaration) {
	u, ok := w.load(off)
	if !ok {
		return
	}
	slices.Sort(locations)
	all := locations[0] == 0
	last := locations[len(locations)-1]
	files := fileNames{on: w, lines: map[uint64]*lines{}}
	if len(u.dwo) > 0 {
		s, done := w.follow(u)
		defer done()
		if s == nil {
			return
		}
		files.of = u
		w, u, all = s, s.last, true
	}
	r := buf{b: w.data.s.Info[:u.end], off: int(u.die)}
	depth := 0
	for !r.bad && (all || uint64(r.off) <= last) {
		start := uint64(r.off)
		code := r.uleb()
		if code == 0 {
			if depth--; depth <= 0 {
				return
			}
			continue
		}
		a := u.table.get(code)
		if a == nil {
			return
		}
		w.burn(1)
		var sibling uint64
		switch {
		case a.tag == tagVariable || a.tag == tagCommonBlock:
			if p, ok := w.location(u, &r, a); ok {
				if i, ok := wanted[p]; ok && out[i] == (Declaration{}) {
					out[i] = w.declaration(start, &files)
				}
			}
		case a.children:
			sibling = w.siblingOf(u, &r, a)
		default:
			w.skipEntry(u, &r, a)
		}
		if !a.children {
			if depth == 0 {
				return
			}
			continue
		}
		if sibling > uint64(r.off) && sibling <= u.end && !all {
			if next, _ := slices.BinarySearch(locations, uint64(r.off)); next == len(locations) ||
				locations[next] >= sibling {
				r.off = int(sibling)
				continue
			}
		}
		depth++
	}
}

// location reads a variable's entry and returns its place, if it has the same place for all of its life.
func (w *worker) location(u *unit, r *buf, a *abbrev) (p Place, ok bool) {
	attrs := u.table.of(a)
	for i := range attrs {
		before := r.off
		_, form := u.value(r, &attrs[i])
		if attrs[i].name == atLocation && !r.bad {
			p, ok = w.place(u, form, w.data.s.Info[before:r.off])
		}
	}
	return p, ok && !r.bad
}

// place reads a location: an attribute's value, preceded by its length.
func (w *worker) place(u *unit, form uint16, value []byte) (Place, bool) {
	r := buf{b: value}
	var n uint64
	switch form {
	case formExprloc, formBlock:
		n = r.uleb()
	case formBlock1:
		n = uint64(r.u8())
	default:
		return Place{}, false
	}
	if r.bad || n != uint64(r.left()) {
		return Place{}, false
	}
	switch r.u8() {
	case opAddr:
		addr := r.uint(int(u.addrSize))
		return Place{Addr: addr}, !r.bad && r.left() == 0
	case opAddrx, opGNUAddrIndex:
		addr, ok := w.data.addr(u, formAddrx, r.uleb())
		return Place{Addr: addr}, ok && !r.bad && r.left() == 0
	case opConstx, opGNUConstIndex:
		offset, ok := w.data.addr(u, formAddrx, r.uleb())
		op := r.u8()
		return Place{Addr: offset, Thread: true}, ok && !r.bad && r.left() == 0 &&
			(op == opFormTLSAddress || op == opGNUPushTLSAddress)
	case opConst8u:
		offset, op := r.u64(), r.u8()
		return Place{Addr: offset, Thread: true}, !r.bad && r.left() == 0 &&
			(op == opFormTLSAddress || op == opGNUPushTLSAddress)
	}
	return Place{}, false
}

// fileNames names files by the line tables of units.
type fileNames struct {
	on    *worker
	of    *unit // the table's unit, if it is not the current unit
	lines map[uint64]*lines
}

func (f *fileNames) name(u *unit, file uint64) string {
	if f.of != nil {
		u = f.of
	}
	if !u.hasLines {
		return ""
	}
	l, known := f.lines[u.stmtList]
	if !known {
		l, _ = f.on.parseLines(u)
		f.lines[u.stmtList] = l
	}
	return f.on.file(l, file)
}

// declaration reads an entry, and those to which it refers as its specification or origin, nearest first.
func (w *worker) declaration(entry uint64, files *fileNames) Declaration {
	out := Declaration{Name: w.nameOf(entry).name}
	for range 8 {
		u, ok := w.unitAt(entry)
		if !ok {
			break
		}
		r := buf{b: w.data.s.Info[:u.end], off: int(entry)}
		a := u.table.get(r.uleb())
		if a == nil || r.bad {
			break
		}
		var next, file uint64
		more, hasFile := false, false
		attrs := u.table.of(a)
		w.burn(1 + len(attrs))
		for i := range attrs {
			v, form := u.value(&r, &attrs[i])
			switch attrs[i].name {
			case atDeclFile:
				file, hasFile = v, true
			case atDeclLine:
				if out.Line == 0 {
					out.Line = uint32(min(v, 1<<32-1))
				}
			case atSpecification, atAbstractOrigin:
				if off, alt, ok := u.ref(form, v); ok && !alt {
					next, more = off, true
				}
			}
		}
		if hasFile && out.File == "" {
			out.File = files.name(u, file)
		}
		if !more || out.File != "" && out.Line > 0 {
			break
		}
		entry = next
	}
	if out.Name == "" && out.File == "" {
		return Declaration{}
	}
	return out
}
