package dwarfx

import "slices"

// header is the header of a unit.
type header struct {
	off      uint64 // of the header in .debug_info
	end      uint64 // of the unit
	die      uint64 // of the root entry
	abbrev   uint64
	version  uint16
	kind     uint8
	addrSize uint8
	is64     bool
	id       uint64 // shared by a skeleton and the unit that was split off; 0: none
}

func (h *header) offsetSize() int {
	if h.is64 {
		return 8
	}
	return 4
}

// unit is a header and the contents of the root entry.
type unit struct {
	header
	table    *abbrevs
	strBase  uint64
	addrBase uint64
	rngBase  uint64
	oldBase  uint64 // base of offsets in .debug_ranges
	low      uint64 // base of the unit's range lists
	stmtList uint64
	hasLines bool
	dwo      []byte // name of the file with the entries, if they are split off
	dwoBase  uint64 // their oldBase
	language uint64
	name     []byte
	compDir  []byte
	cover    coverage
}

// coverage is the set of addresses of an entry: one range, or a range list.
type coverage struct {
	low, high  uint64
	lowForm    uint16
	highForm   uint16
	ranges     uint64
	rangesForm uint16
	hasLow     bool
	hasHigh    bool
	hasRanges  bool
}

func (c *coverage) any() bool { return c.hasRanges || c.hasLow && c.hasHigh }

// parseHeader reads the header of the unit at an offset. ok is false if the unit cannot be read. next is the offset of
// the next unit, 0 if that is unknown.
func (d *Data) parseHeader(off uint64) (h header, ok bool, next uint64) {
	r := at(d.s.Info, off)
	length := uint64(r.u32())
	if length == 0xffffffff {
		length, h.is64 = r.u64(), true
	} else if length >= 0xfffffff0 {
		return h, false, 0
	}
	if r.bad || length > uint64(r.left()) {
		return h, false, 0
	}
	h.off, h.end = off, uint64(r.off)+length
	r.b = r.b[:h.end]
	h.version = r.u16()
	switch h.version {
	case 2, 3, 4:
		h.kind = unitCompile
		h.abbrev = r.offset(h.is64)
		h.addrSize = r.u8()
	case 5:
		h.kind, h.addrSize = r.u8(), r.u8()
		h.abbrev = r.offset(h.is64)
		switch h.kind {
		case unitSkeleton, unitSplit:
			h.id = r.u64()
		case unitType, unitSplitTyp:
			r.skip(uint64(8 + h.offsetSize()))
		}
	default:
		return h, false, h.end
	}
	h.die = uint64(r.off)
	return h, !r.bad && (h.addrSize == 8 || h.addrSize == 4), h.end
}

// parseRoot reads the root entry. It returns false if the unit has no code of its own.
func (w *worker) parseRoot(h header) (unit, bool) {
	d := w.data
	u := unit{header: h, strBase: uint64(2 * h.offsetSize()), rngBase: 0}
	if h.is64 {
		u.strBase = 16
	} else {
		u.strBase = 8
	}
	if h.version < 5 {
		u.strBase = 0
	}
	r := buf{b: d.s.Info[:h.end], off: int(h.die)}
	code := r.uleb()
	if code == 0 || r.bad {
		return u, false
	}
	key := abbrevKey{h.abbrev, h.version, h.addrSize, h.is64}
	t := w.tables[key]
	if t == nil {
		t = w.parseAbbrevs(&h, code)
	}
	a := t.get(code)
	if a == nil || a.tag != tagCompileUnit && a.tag != tagSkeletonUnit && a.tag != tagPartialUnit {
		return u, false
	}
	var nameForm, dirForm, dwoForm uint16
	var name, dir, dwo uint64
	attrs := t.of(a)
	for i := range attrs {
		v, form := h.value(&r, &attrs[i])
		if r.bad {
			return u, false
		}
		switch attrs[i].name {
		case atName:
			name, nameForm = v, form
		case atCompDir:
			dir, dirForm = v, form
		case atStmtList:
			u.stmtList, u.hasLines = v, true
		case atLanguage:
			u.language = v
		case atStrOffsetsBase:
			u.strBase = v
		case atAddrBase, atGNUAddrBase:
			u.addrBase = v
		case atRnglistsBase:
			u.rngBase = v
		case atDwoName, atGNUDwoName:
			dwo, dwoForm = v, form
		case atGNUDwoID:
			u.id = v
		case atGNURangesBase:
			u.dwoBase = v
		default:
			u.cover.take(attrs[i].name, form, v)
		}
	}
	w.burn(len(attrs))
	u.name, u.compDir, u.dwo = d.str(&u, nameForm, name), d.str(&u, dirForm, dir), d.str(&u, dwoForm, dwo)
	if u.cover.hasLow {
		u.low, _ = d.addr(&u, u.cover.lowForm, u.cover.low)
	}
	return u, a.tag != tagPartialUnit
}

// take reads an attribute that describes an entry's addresses.
func (c *coverage) take(name, form uint16, v uint64) {
	switch name {
	case atLowPC:
		c.low, c.lowForm, c.hasLow = v, form, true
	case atHighPC:
		c.high, c.highForm, c.hasHigh = v, form, true
	case atRanges:
		c.ranges, c.rangesForm, c.hasRanges = v, form, true
	}
}

// load returns the unit with its root, ready to be walked.
func (w *worker) load(off uint64) (*unit, bool) {
	h, ok, _ := w.data.parseHeader(off)
	if !ok {
		return nil, false
	}
	t := w.abbrevs(&h)
	u, _ := w.parseRoot(h)
	u.table = t
	return &u, true
}

// unitOf returns the offset of the unit that contains the entry at an offset.
func (d *Data) unitOf(off uint64) (uint64, bool) {
	d.index()
	i, found := slices.BinarySearch(d.units, off)
	if found || i == 0 {
		return 0, false
	}
	return d.units[i-1], true
}
