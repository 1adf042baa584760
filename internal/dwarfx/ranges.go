package dwarfx

import "slices"

// each calls visit for every range [low, high) of an entry, in the producer's order, without those that do not begin in
// code.
func (w *worker) each(u *unit, c *coverage, visit func(low, high uint64)) {
	d := w.data
	emit := func(low, high uint64) {
		w.burn(1)
		if low < high && d.inCode(low) {
			visit(low, high)
		}
	}
	if c.hasRanges {
		if u.version >= 5 {
			w.rnglist(u, c, emit)
		} else {
			w.oldRanges(u, u.oldBase+c.ranges, emit)
		}
		return
	}
	if !c.hasLow || !c.hasHigh {
		return
	}
	low, ok := d.addr(u, c.lowForm, c.low)
	if !ok {
		return
	}
	high, ok := d.addr(u, c.highForm, c.high)
	if !ok {
		high = low + c.high // a constant is a length
	}
	emit(low, high)
}

// oldRanges reads .debug_ranges (DWARF 2 to 4).
func (w *worker) oldRanges(u *unit, off uint64, emit func(low, high uint64)) {
	r := at(w.data.s.Ranges, off)
	base, size := u.low, int(u.addrSize)
	top := ^uint64(0)
	if size == 4 {
		top = 0xffffffff
	}
	for {
		low, high := r.uint(size), r.uint(size)
		switch {
		case r.bad || low == 0 && high == 0:
			return
		case low == top:
			base = high
		default:
			emit(base+low, base+high)
		}
	}
}

// rnglist reads .debug_rnglists (DWARF 5).
func (w *worker) rnglist(u *unit, c *coverage, emit func(low, high uint64)) {
	d, off := w.data, c.ranges
	if c.rangesForm == formRnglistx {
		base := u.rngBase
		if base == 0 { // not given: the first list in the section
			base = 12
			if u.is64 {
				base = 20
			}
		}
		entry, ok := index(base, c.ranges, u.offsetSize())
		r := at(d.s.Rnglists, entry)
		rel := r.offset(u.is64)
		if !ok || r.bad {
			return
		}
		off = base + rel
	}
	r := at(d.s.Rnglists, off)
	base, size := u.low, int(u.addrSize)
	indexed := func() uint64 {
		a, ok := d.addr(u, formAddrx, r.uleb())
		if !ok {
			r.fail()
		}
		return a
	}
	for !r.bad {
		var low, high uint64
		switch r.u8() {
		case rleBaseAddressx:
			base = indexed()
			w.burn(1)
			continue
		case rleBaseAddress:
			base = r.uint(size)
			w.burn(1)
			continue
		case rleStartxEndx:
			low, high = indexed(), indexed()
		case rleStartxLength:
			low = indexed()
			high = low + r.uleb()
		case rleOffsetPair:
			low, high = base+r.uleb(), base+r.uleb()
		case rleStartEnd:
			low, high = r.uint(size), r.uint(size)
		case rleStartLength:
			low = r.uint(size)
			high = low + r.uleb()
		default: // end of list, or unknown
			return
		}
		if !r.bad {
			emit(low, high)
		}
	}
}

// inCode reports whether an address is in a code segment; always true if the segments are not known.
func (d *Data) inCode(a uint64) bool {
	if len(d.code) == 0 {
		return true
	}
	i, found := slices.BinarySearchFunc(d.code, a, func(s Span, a uint64) int {
		if s.Start < a {
			return -1
		} else if s.Start > a {
			return 1
		}
		return 0
	})
	return found || i > 0 && a < d.code[i-1].End
}
