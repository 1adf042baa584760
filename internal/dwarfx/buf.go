package dwarfx

import (
	"bytes"
	"encoding/binary"
)

// buf reads from a section. A read beyond the end returns zeros, sets bad and moves to the end.
type buf struct {
	b   []byte
	off int
	bad bool
}

func (r *buf) fail() {
	r.bad = true
	r.off = len(r.b)
}

func (r *buf) left() int { return len(r.b) - r.off }

func (r *buf) u8() uint8 {
	if r.off >= len(r.b) {
		r.fail()
		return 0
	}
	v := r.b[r.off]
	r.off++
	return v
}

func (r *buf) u16() uint16 {
	if len(r.b)-r.off < 2 {
		r.fail()
		return 0
	}
	v := binary.LittleEndian.Uint16(r.b[r.off:])
	r.off += 2
	return v
}

func (r *buf) u32() uint32 {
	if len(r.b)-r.off < 4 {
		r.fail()
		return 0
	}
	v := binary.LittleEndian.Uint32(r.b[r.off:])
	r.off += 4
	return v
}

func (r *buf) u64() uint64 {
	if len(r.b)-r.off < 8 {
		r.fail()
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b[r.off:])
	r.off += 8
	return v
}

// uint reads a number of 1, 2, 3, 4 or 8 bytes.
func (r *buf) uint(size int) uint64 {
	switch size {
	case 1:
		return uint64(r.u8())
	case 2:
		return uint64(r.u16())
	case 3:
		v := uint64(r.u16())
		return v | uint64(r.u8())<<16
	case 4:
		return uint64(r.u32())
	case 8:
		return r.u64()
	}
	r.fail()
	return 0
}

// offset reads a section offset: 8 bytes in 64-bit DWARF, else 4.
func (r *buf) offset(is64 bool) uint64 {
	if is64 {
		return r.u64()
	}
	return uint64(r.u32())
}

func (r *buf) uleb() uint64 {
	if r.off < len(r.b) && r.b[r.off] < 0x80 {
		v := r.b[r.off]
		r.off++
		return uint64(v)
	}
	var v uint64
	for shift := uint(0); ; shift += 7 {
		c := r.u8()
		if shift < 64 {
			v |= uint64(c&0x7f) << shift
		}
		if c < 0x80 {
			return v
		}
	}
}

func (r *buf) sleb() int64 {
	var v int64
	for shift := uint(0); ; {
		c := r.u8()
		if shift < 64 {
			v |= int64(c&0x7f) << shift
		}
		shift += 7
		if c < 0x80 {
			if c&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

func (r *buf) skip(n uint64) {
	if n > uint64(r.left()) {
		r.fail()
		return
	}
	r.off += int(n)
}

// str reads a NUL-terminated string.
func (r *buf) str() []byte {
	i := bytes.IndexByte(r.b[r.off:], 0)
	if i < 0 {
		r.fail()
		return nil
	}
	s := r.b[r.off : r.off+i]
	r.off += i + 1
	return s
}

// skipStr skips a NUL-terminated string.
func (r *buf) skipStr() {
	i := bytes.IndexByte(r.b[r.off:], 0)
	if i < 0 {
		r.fail()
		return
	}
	r.off += i + 1
}

// at returns a reader of a section from an offset on. If the offset is beyond the end, the reader is bad.
func at(section []byte, off uint64) buf {
	if off > uint64(len(section)) {
		return buf{bad: true}
	}
	return buf{b: section, off: int(off)}
}

// stringAt returns the NUL-terminated string at an offset, nil if there is none. References may be forged, so the
// length of strings is limited.
func stringAt(section []byte, off uint64) []byte {
	if off >= uint64(len(section)) {
		return nil
	}
	s := section[off:min(off+maxString, uint64(len(section)))]
	if i := bytes.IndexByte(s, 0); i >= 0 {
		return s[:i]
	}
	return nil
}

const maxString = 1 << 16
