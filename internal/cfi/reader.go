package cfi

import "encoding/binary"

// reader reads a part of a section. Once something does not fit, bad is set and all values are 0.
type reader struct {
	data []byte // the section up to the end of the part
	at   int
	addr uint64 // of the section
	bad  bool
}

func (r *reader) fixed(size int) uint64 {
	if r.bad || len(r.data)-r.at < size {
		r.bad = true
		return 0
	}
	b := r.data[r.at:]
	r.at += size
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	default:
		return binary.LittleEndian.Uint64(b)
	}
}

func (r *reader) byte() byte { return byte(r.fixed(1)) }

func (r *reader) skip(n uint64) {
	if r.bad || uint64(len(r.data)-r.at) < n {
		r.bad = true
		return
	}
	r.at += int(n)
}

func (r *reader) uleb() (v uint64) {
	for shift := 0; shift < 70; shift += 7 {
		b := r.fixed(1)
		if shift < 64 {
			v |= (b & 127) << shift
		}
		if b&128 == 0 {
			return v
		}
	}
	r.bad = true
	return 0
}

func (r *reader) sleb() int64 {
	var v uint64
	for shift := 0; shift < 70; shift += 7 {
		b := r.fixed(1)
		if shift < 64 {
			v |= (b & 127) << shift
		}
		if b&128 == 0 {
			if shift+7 < 64 && b&64 != 0 {
				v |= ^uint64(0) << (shift + 7)
			}
			return int64(v)
		}
	}
	r.bad = true
	return 0
}

// Encodings of pointers: the format is in the low four bits, what the value is relative to in the next three.
const (
	peOmit     = 0xff
	peFormat   = 0x0f
	peRelative = 0x70
	pePCRel    = 0x10
	peAligned  = 0x50
	peIndirect = 0x80
)

// pointer reads an encoded pointer. Only absolute ones and those relative to their own place are known: no others
// occur in .eh_frame on the machines that heaptap supports. Pointers to pointers are not followed.
func (r *reader) pointer(encoding byte) (v uint64) {
	var base uint64
	switch encoding & peRelative {
	case 0:
	case pePCRel:
		base = r.addr + uint64(r.at)
	case peAligned:
		r.skip(-(r.addr + uint64(r.at)) & 7)
		return r.fixed(8)
	default:
		r.bad = true
		return 0
	}
	switch encoding & peFormat {
	case 0x00, 0x04, 0x08, 0x0c:
		v = r.fixed(8)
	case 0x01:
		v = r.uleb()
	case 0x02:
		v = r.fixed(2)
	case 0x03:
		v = r.fixed(4)
	case 0x09:
		v = uint64(r.sleb())
	case 0x0a:
		v = uint64(int16(r.fixed(2)))
	case 0x0b:
		v = uint64(int32(r.fixed(4)))
	default:
		r.bad = true
	}
	if r.bad || v == 0 {
		return 0
	}
	return v + base
}
