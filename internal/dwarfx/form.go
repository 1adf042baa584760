package dwarfx

// formSize returns the size of a form's values in this unit, -1 if it varies.
func (h *header) formSize(form uint16) int {
	switch form {
	case formAddr:
		return int(h.addrSize)
	case formFlagPresent, formImplicitConst:
		return 0
	case formData1, formRef1, formFlag, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formStrx4, formAddrx4, formRefSup4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formStrp, formLineStrp, formSecOffset, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return h.offsetSize()
	case formRefAddr:
		if h.version <= 2 {
			return int(h.addrSize)
		}
		return h.offsetSize()
	}
	return -1
}

// value reads one attribute's value as a number: an address, a constant, an offset, an index; for an inline string its
// offset in .debug_info; 0 for blocks. An indirect form is replaced by the real one.
func (h *header) value(r *buf, a *attr) (uint64, uint16) {
	form := a.form
	for range 4 {
		switch form {
		case formAddr:
			return r.uint(int(h.addrSize)), form
		case formFlagPresent:
			return 1, form
		case formImplicitConst:
			return uint64(a.implicit), form
		case formData1, formRef1, formFlag, formStrx1, formAddrx1:
			return uint64(r.u8()), form
		case formData2, formRef2, formStrx2, formAddrx2:
			return uint64(r.u16()), form
		case formStrx3, formAddrx3:
			return r.uint(3), form
		case formData4, formRef4, formStrx4, formAddrx4, formRefSup4:
			return uint64(r.u32()), form
		case formData8, formRef8, formRefSig8, formRefSup8:
			return r.u64(), form
		case formData16:
			r.skip(16)
			return 0, form
		case formStrp, formLineStrp, formSecOffset, formStrpSup, formGNURefAlt, formGNUStrpAlt:
			return r.offset(h.is64), form
		case formRefAddr:
			if h.version <= 2 {
				return r.uint(int(h.addrSize)), form
			}
			return r.offset(h.is64), form
		case formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex,
			formGNUStrIndex:
			return r.uleb(), form
		case formSdata:
			return uint64(r.sleb()), form
		case formString:
			off := uint64(r.off)
			r.skipStr()
			return off, form
		case formBlock1:
			r.skip(uint64(r.u8()))
			return 0, form
		case formBlock2:
			r.skip(uint64(r.u16()))
			return 0, form
		case formBlock4:
			r.skip(uint64(r.u32()))
			return 0, form
		case formBlock, formExprloc:
			r.skip(r.uleb())
			return 0, form
		case formIndirect:
			form = uint16(min(r.uleb(), 0xffff))
			continue
		}
		break
	}
	r.fail() // an unknown form has an unknown size: the rest cannot be read
	return 0, form
}

// str returns the string that an attribute's value refers to.
func (d *Data) str(u *unit, form uint16, v uint64) []byte {
	switch form {
	case formString:
		return stringAt(d.s.Info, v)
	case formStrp:
		return stringAt(d.s.Str, v)
	case formLineStrp:
		return stringAt(d.s.LineStr, v)
	case formStrpSup, formGNUStrpAlt:
		if d.alt != nil {
			return stringAt(d.alt.s.Str, v)
		}
	case formStrx, formStrx1, formStrx2, formStrx3, formStrx4, formGNUStrIndex:
		off, ok := index(u.strBase, v, u.offsetSize())
		if r := at(d.s.StrOffsets, off); ok && !r.bad {
			if s := r.offset(u.is64); !r.bad {
				return stringAt(d.s.Str, s)
			}
		}
	}
	return nil
}

// addr returns the address that an attribute's value refers to.
func (d *Data) addr(u *unit, form uint16, v uint64) (uint64, bool) {
	switch form {
	case formAddr:
		return v, true
	case formAddrx, formAddrx1, formAddrx2, formAddrx3, formAddrx4, formGNUAddrIndex:
		off, ok := index(u.addrBase, v, int(u.addrSize))
		r := at(d.s.Addr, off)
		a := r.uint(int(u.addrSize))
		return a, ok && !r.bad
	}
	return 0, false
}

// index returns base + i*size, and false if no section can be that large.
func index(base, i uint64, size int) (uint64, bool) {
	if i > 1<<40 || base > 1<<48 {
		return 0, false
	}
	return base + i*uint64(size), true
}

// ref returns the entry to which a reference points, as an offset in .debug_info of the same file, or of the
// supplementary one.
func (u *unit) ref(form uint16, v uint64) (off uint64, alt, ok bool) {
	switch form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata:
		if v >= u.end-u.off {
			return 0, false, false
		}
		return u.off + v, false, true
	case formRefAddr:
		return v, false, true
	case formRefSup4, formRefSup8, formGNURefAlt:
		return v, true, true
	}
	return 0, false, false
}
