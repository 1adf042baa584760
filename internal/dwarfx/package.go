package dwarfx

import (
	"errors"
	"fmt"
)

// Package finds the data of a unit in a .dwp file, which combines many .dwo files: by the index that DWARF 5 describes
// in section 7.3.5, or by its predecessor of the same form, version 2, which compilers wrote with DWARF 4.
type Package struct {
	s        Sections
	index    []byte
	columns  uint32
	units    uint32
	slots    uint32
	sections []uint32 // section of each column
}

// Columns of the index. Version 2 has the same numbers for those used here.
const (
	packInfo       = 1
	packAbbrev     = 3
	packStrOffsets = 6
	packRnglists   = 8
)

// packHead is the number of bytes of the index before its hash table.
const packHead = 16

// maxPackColumns limits the columns of an index: the specification has eight.
const maxPackColumns = 64

// ErrNotPacked is the error, in a chain, for a unit that a package does not have.
var ErrNotPacked = errors.New("it is not in the package, which belongs to another build")

// NewPackage reads the head of a package's index, .debug_cu_index.
func NewPackage(s Sections, index []byte) (*Package, error) {
	r := buf{b: index}
	version := r.u16() // in version 2 these are the lower half of 32 bits
	r.u16()
	p := &Package{s: s, index: index, columns: r.u32(), units: r.u32(), slots: r.u32()}
	switch {
	case r.bad:
		return nil, errors.New("the package's index is cut off")
	case version != 2 && version != 5:
		return nil, fmt.Errorf("the package's index has version %d, which is unknown", version)
	case p.columns > maxPackColumns || p.slots&(p.slots-1) != 0 || p.units > p.slots ||
		12*uint64(p.slots)+4*uint64(p.columns)*(1+2*uint64(p.units)) > uint64(r.left()):
		return nil, errors.New("the package's index is damaged")
	}
	r.skip(12 * uint64(p.slots))
	for range p.columns {
		p.sections = append(p.sections, r.u32())
	}
	return p, nil
}

// Unit returns the sections of the unit with an id.
func (p *Package) Unit(id uint64) (s Sections, err error) {
	row := p.row(id)
	if row == 0 || row > p.units {
		return s, ErrNotPacked
	}
	s.Str = p.s.Str
	offsets := packHead + 12*uint64(p.slots) + 4*uint64(p.columns)*uint64(row)
	sizes := offsets + 4*uint64(p.columns)*uint64(p.units)
	for i, kind := range p.sections {
		var from, to *[]byte
		switch kind {
		case packInfo:
			from, to = &p.s.Info, &s.Info
		case packAbbrev:
			from, to = &p.s.Abbrev, &s.Abbrev
		case packStrOffsets:
			from, to = &p.s.StrOffsets, &s.StrOffsets
		case packRnglists:
			from, to = &p.s.Rnglists, &s.Rnglists
		default:
			continue
		}
		off, size := at(p.index, offsets+4*uint64(i)), at(p.index, sizes+4*uint64(i))
		first, n := uint64(off.u32()), uint64(size.u32())
		if off.bad || size.bad || first+n > uint64(len(*from)) {
			return Sections{}, errors.New("the package is damaged: a unit lies outside of it")
		}
		*to = (*from)[first : first+n : first+n]
	}
	return s, nil
}

// row returns the row of the unit with an id, 0 if there is none.
func (p *Package) row(id uint64) uint32 {
	if p.slots == 0 {
		return 0
	}
	mask := uint64(p.slots - 1)
	slot, step := id&mask, id>>32&mask|1
	for range p.slots {
		key, row := at(p.index, packHead+8*slot), at(p.index, packHead+8*uint64(p.slots)+4*slot)
		switch k, n := key.u64(), row.u32(); {
		case n == 0:
			return 0
		case k == id:
			return n
		}
		slot = (slot + step) & mask
	}
	return 0
}
