package dwarfx

import "encoding/binary"

// asm builds sections by hand.
type asm struct{ b []byte }

func (a *asm) u8(v ...uint8) *asm { a.b = append(a.b, v...); return a }
func (a *asm) u16(v uint16) *asm  { a.b = binary.LittleEndian.AppendUint16(a.b, v); return a }
func (a *asm) u32(v uint32) *asm  { a.b = binary.LittleEndian.AppendUint32(a.b, v); return a }
func (a *asm) u64(v uint64) *asm  { a.b = binary.LittleEndian.AppendUint64(a.b, v); return a }
func (a *asm) str(s string) *asm  { a.b = append(append(a.b, s...), 0); return a }
func (a *asm) uleb(v uint64) *asm {
	a.b = binary.AppendUvarint(a.b, v)
	return a
}

// abbreviation declares an abbreviation: pairs of attribute and form.
func (a *asm) abbreviation(code, tag uint64, children bool, pairs ...uint64) *asm {
	a.uleb(code).uleb(tag).u8(0)
	if children {
		a.b[len(a.b)-1] = 1
	}
	for _, p := range pairs {
		a.uleb(p)
	}
	return a.u8(0, 0)
}

// unit4 puts entries into a unit of DWARF 4 whose abbreviations are at offset 0.
func (a *asm) unit4(entries []byte) *asm {
	return a.u32(uint32(7 + len(entries))).u16(4).u32(0).u8(8).put(entries)
}

func (a *asm) put(b []byte) *asm { a.b = append(a.b, b...); return a }

// Abbreviations for the following tests. The entries are:
//
//	root(name, low, high4, stmt_list)   1
//	function(name, low, high4)          2, with children
//	inlined(origin, low, high4, line1)  3, with children
//	abstract(name, linkage)             4
//	function(origin, ranges)            5
//	root(name, ranges)                  6
//	root(name, stmt_list)               7
//	concrete(origin, low, high4)        8
//	namespace(name)                     9, with children
//	root(name, low, high4, language)    10
func standard() []byte {
	return new(asm).
		abbreviation(1, tagCompileUnit, true, atName, formString, atLowPC, formAddr, atHighPC, formData4, atStmtList,
			formSecOffset).
		abbreviation(2, tagSubprogram, true, atName, formString, atLowPC, formAddr, atHighPC, formData4).
		abbreviation(3, tagInlinedSubroutine, true, atAbstractOrigin, formRef4, atLowPC, formAddr, atHighPC, formData4,
			atCallLine, formData1).
		abbreviation(4, tagSubprogram, false, atName, formString, atLinkageName, formString).
		abbreviation(5, tagSubprogram, false, atAbstractOrigin, formRef4, atRanges, formSecOffset).
		abbreviation(6, tagCompileUnit, true, atName, formString, atRanges, formSecOffset).
		abbreviation(7, tagCompileUnit, true, atName, formString, atStmtList, formSecOffset).
		abbreviation(8, tagSubprogram, false, atAbstractOrigin, formRef4, atLowPC, formAddr, atHighPC, formData4).
		abbreviation(9, tagNamespace, true, atName, formString).
		abbreviation(10, tagCompileUnit, true, atName, formString, atLowPC, formAddr, atHighPC, formData4, atLanguage,
			formData2).
		u8(0).b
}

func (a *asm) function(name string, low uint64, size uint32) *asm {
	return a.uleb(2).str(name).u64(low).u32(size).u8(0)
}

// lineProgram4 returns a program of DWARF 4 with one file a.c in /src, and rows (address, line) of one sequence, which
// the last row ends.
func lineProgram4(rows ...[2]uint64) []byte {
	var p asm
	for i, r := range rows {
		p.u8(0).uleb(9).u8(lneSetAddress).u64(r[0])
		if i == len(rows)-1 {
			p.u8(0).uleb(1).u8(lneEndSequence)
			break
		}
		last := uint64(1)
		if i > 0 {
			last = rows[i-1][1]
		}
		delta := r[1] - last // small and positive in these tests
		p.u8(lnsAdvanceLine).uleb(delta & 0x3f).u8(lnsCopy)
	}
	var h asm
	h.u8(1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0,
		1).str("/src").u8(0).str("a.c").uleb(1).uleb(0).uleb(0).u8(0)
	var a asm
	return a.u32(uint32(2 + 4 + len(h.b) + len(p.b))).u16(4).u32(uint32(len(h.b))).put(h.b).put(p.b).b
}
