package spill

import (
	"encoding/binary"
	"unsafe"

	"github.com/heaptap/heaptap/internal/wire"
)

// An encoder packs a block. Its pointers stay within the input and output buffers: 25 bytes follow last, one more than
// the longest record has; raw handles the records after last. An event takes less room than its record, and writes
// reach at most 8 bytes beyond it.
type encoder struct {
	src, last, out unsafe.Pointer
	number, time   uint64
	stack          uint32
	tops           [256]uint16 // kind and slack, by the size's lowest byte
}

// Encode appends the packed form of b to dst. used is the number of bytes of b that were packed: fewer than all if b
// does not consist of whole records.
func Encode(dst, b []byte) (out []byte, used int) {
	at := len(dst)
	if need := at + Bound(len(b)); cap(dst) < need {
		dst = append(make([]byte, 0, need), dst...)
	}
	dst = dst[:cap(dst)]
	var e encoder
	for {
		if len(b)-used > most {
			e.src, e.last = unsafe.Pointer(&b[used]), unsafe.Pointer(&b[len(b)-most-1])
			e.out = unsafe.Pointer(&dst[at])
			e.pack()
			used += int(uintptr(e.src) - uintptr(unsafe.Pointer(&b[used])))
			at += int(uintptr(e.out) - uintptr(unsafe.Pointer(&dst[at])))
		}
		n := e.raw(dst[at:], b[used:])
		if n == 0 {
			break
		}
		used += n
		at += 1 + n
	}
	clear(dst[at : at+padding])
	return dst[:at+padding], used
}

// raw writes an unpacked record and returns its length; 0 if there is none.
func (e *encoder) raw(out, b []byte) int {
	if len(b) < 16 {
		return 0
	}
	w0 := binary.LittleEndian.Uint64(b)
	n := wire.RecordSize(w0)
	if n == 0 || n > len(b) {
		return 0
	}
	out[0] = flagRaw
	copy(out[1:], b[:n])
	e.number, e.time, e.stack = follow(b[:n], e.number, e.time, e.stack)
	return n
}

// follow returns what the record after an unpacked one is relative to.
func follow(b []byte, q, t uint64, stack uint32) (uint64, uint64, uint32) {
	w0 := binary.LittleEndian.Uint64(b)
	switch w0 >> (wire.KindShift + wire.ClassShift) & 3 {
	case wire.ClassStack:
		return number(w0), binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint32(b[12:])
	case wire.ClassShort:
		return number(w0), binary.LittleEndian.Uint64(b[8:]), stack
	}
	return q, t, stack
}

// pack packs events up to the first record that must be stored unpacked.
//
// It uses pointers because slices make it a quarter slower. Each value is written as soon as it is known, as wide as is
// easy, and the next value overwrites the excess: so few values are alive at once. Machines are little-endian, as the
// agent's records are.
func (e *encoder) pack() {
	src, out := e.src, e.out
	lastNumber, lastTime, lastStack := e.number, e.time, e.stack
	for uintptr(src) <= uintptr(e.last) {
		w0 := *(*uint64)(src)
		class := w0 >> (wire.KindShift + wire.ClassShift) & 3
		if class >= wire.ClassExtra {
			if class != wire.ClassExtra || w0 != w0>>wire.KindShift<<wire.KindShift || w0>>wire.SlackShift != 0 {
				break
			}
			v := *(*uint64)(unsafe.Add(src, 8))
			*(*uint16)(out) = uint16(w0>>wire.KindShift)<<8 | flagShort
			*(*uint64)(unsafe.Add(out, 2)) = v
			n := 4
			if v > 0xffff {
				*(*uint8)(out) = flagLong
				n = 10
			}
			src, out = unsafe.Add(src, 16), unsafe.Add(out, n)
			continue
		}
		stacked := class - 1 // all ones, or zero for a short record
		next := unsafe.Add(src, 24-8*class)
		t := *(*uint64)(unsafe.Add(next, -8))
		dt := t - lastTime
		w1 := *(*uint64)(unsafe.Add(src, 8)) & stacked
		size := uint32(w1)
		x := (uint32(w1>>32) ^ lastStack) & uint32(stacked)
		if dt > 0xffff || x|size > 0xffffff {
			break
		}
		src = next
		lastTime = t
		lastStack ^= x

		q := number(w0)
		v := q - lastNumber
		lastNumber = q
		far := v ^ uint64(int64(v)>>63)
		a := uint64(1)
		if far > 0x7fff {
			a = 2
		}
		if far > 0x7fffffff {
			a = 4
		}
		*(*uint64)(unsafe.Add(out, 3)) = v
		o := unsafe.Add(out, 2*a)

		*(*uint32)(unsafe.Add(o, 3)) = x
		s := uint64(0)
		if x != 0 {
			s = 1
		}
		if x > 0xff {
			s = 3
		}
		o = unsafe.Add(o, s)

		*(*uint32)(unsafe.Add(o, 3)) = size
		z := class ^ 1
		if size > 0xff {
			z = 2
		}
		if size > 0xffff {
			z = 3
		}
		o = unsafe.Add(o, z)

		top := uint16(w0 >> wire.KindShift)
		*(*uint16)(unsafe.Add(o, 3)) = top
		k := uint64(0)
		if e.tops[uint8(size)] != top {
			k = 1
		}
		e.tops[uint8(size)] = top

		*(*uint8)(out) = uint8(a + 8*(k+2*(s+4*z)))
		*(*uint16)(unsafe.Add(out, 1)) = uint16(dt)
		out = unsafe.Add(o, 2*k+3)
	}
	e.src, e.out = src, out
	e.number, e.time, e.stack = lastNumber, lastTime, lastStack
}
