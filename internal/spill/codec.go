// Package spill packs records that have to wait on disk, because the recorder is behind, so that a burst of many gigabytes
// costs little: about a third of the bytes and a few nanoseconds an event.
//
// A block is packed on its own: whole records of one stream. Every record becomes a control word of 16 bits, little-endian,
// and whole bytes; what it says is relative to the records before it in the block:
//
//	bits 0-4    which kind: number of the kind in the order in which kinds first occur in the block, or 31: the record
//	            follows as it is (a kind that occurs first, and is numbered now; or an oddity)
//	bits 5-7    bytes of the address: signed difference to the address before, zigzag, 0 to 6
//	bits 8-9    bytes of the time: difference to the time before; or of an extra's value; 1, 2, 4 or 8
//	bits 10-11  bytes of the stack: signed difference to the stack before, zigzag; 0, 1, 2 or 4
//	bits 12-13  bytes of the size: 0: the size before; 1, 2 or 4
//	bit 14      a byte of slack follows; else it is what glibc's size classes make it, or 0 for what is no allocation
//
// in this order: control word, address, time or value, stack, size, slack. Eight bytes of padding end the block, so that
// a reader may always load eight.
package spill

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/heaptap/heaptap/internal/wire"
)

const (
	rawKind  = 31
	padding  = 8
	noNumber = 0xff
)

// ErrDamaged says that a block cannot be unpacked.
var ErrDamaged = errors.New("a block of spilled records is damaged")

// Bound returns the most bytes that n bytes of records can be packed into.
func Bound(n int) int { return n + n/8 + 64 }

// lengths[bits.Len(x)] is the code of the bytes that x takes: code 0 to 3 are 1, 2, 4, 8 bytes.
var wideCode = makeCodes([]int{1, 2, 4, 8})

// and here 0, 1, 2, 4 bytes.
var narrowCode = makeCodes([]int{0, 1, 2, 4})

func makeCodes(sizes []int) (t [65]uint8) {
	for n := range t {
		for c := len(sizes) - 1; c >= 0; c-- {
			if sizes[c]*8 >= n {
				t[n] = uint8(c)
			}
		}
	}
	return t
}

var narrowLen = [4]int{0, 1, 2, 4}

// masks[n] covers n bytes.
var masks = [9]uint64{0, 1<<8 - 1, 1<<16 - 1, 1<<24 - 1, 1<<32 - 1, 1<<40 - 1, 1<<48 - 1, 1<<56 - 1, 1<<64 - 1}

func zigzag48(d uint64) uint64 {
	s := int64(d<<16) >> 16
	return uint64(s<<1) ^ uint64(s>>63)
}

func unzigzag(z uint64) uint64 { return z>>1 ^ -(z & 1) }

// slackOf is the usual slack of an allocation by glibc, which rounds a block and its header up to 16 bytes, 32 at least.
func slackOf(size uint32) uint8 {
	if size <= 24 {
		return uint8(24 - size)
	}
	return uint8(-(size + 8)) & 15
}

// state is what both sides remember within a block.
type state struct {
	addr, time  uint64
	stack, size uint32
	kinds       [rawKind]uint8
	n           int
}

// Encode appends the packed form of b to dst. It returns the events that were packed, and how many bytes of b that was:
// fewer than all if b does not consist of whole records.
//
// Allocations and deallocations alternate without a pattern that a processor could learn, so there is one way for both, in
// which what a short record lacks is the same as before.
func Encode(dst, b []byte) (out []byte, events, used int) {
	var number [256]uint8
	for i := range number {
		number[i] = noNumber
	}
	kinds := uint8(0)
	at := len(dst)
	if need := at + Bound(len(b)); cap(dst) < need {
		dst = append(make([]byte, 0, need), dst...)
	}
	dst = dst[:cap(dst)]
	var lastAddr, lastTime uint64
	var lastStack, lastSize uint32
	for len(b)-used >= 16 {
		w0 := binary.LittleEndian.Uint64(b[used:])
		w1 := binary.LittleEndian.Uint64(b[used+8:])
		kind := uint8(w0 >> wire.KindShift)
		k := number[kind]
		if k == noNumber || kind >= wire.ClassExtra<<wire.ClassShift {
			n := wire.RecordSize(w0)
			if n == 0 || n > len(b)-used {
				break
			}
			if k == noNumber || w0 != uint64(kind)<<wire.KindShift || kind >= wire.ClassNote<<wire.ClassShift {
				if k == noNumber && kinds < rawKind {
					number[kind] = kinds
					kinds++
				}
				at = putRaw(dst, at, b[used:used+n])
			} else {
				at = putExtra(dst, at, k, w1)
			}
			used += n
			if kind < wire.ClassExtra<<wire.ClassShift {
				events++
			}
			continue
		}
		stacked := 1 - w0>>(wire.KindShift+wire.ClassShift)&1
		n := 16 + int(stacked)*8
		if n > len(b)-used {
			break
		}
		t := binary.LittleEndian.Uint64(b[used+n-8:])
		used += n
		events++
		only := -uint32(stacked) // all ones, or zero for a short record

		addr := w0 & wire.AddrMask
		za := zigzag48(addr - lastAddr)
		lastAddr = addr
		la := (bits.Len64(za) + 7) >> 3
		dt := t - lastTime
		lastTime = t
		ct := wideCode[bits.Len64(dt)]
		ds := (uint32(w1>>32) - lastStack) & only
		lastStack += ds
		zs := ds<<1 ^ uint32(int32(ds)>>31)
		cs := narrowCode[bits.Len32(zs)]
		changed := (uint32(w1) ^ lastSize) & only
		lastSize ^= changed
		cz := max(narrowCode[bits.Len32(lastSize)], 1)
		if changed == 0 {
			cz = 0
		}
		slack := uint8(w0 >> wire.SlackShift)
		odd := 0
		if slack != slackOf(lastSize)&uint8(only) {
			odd = 1
		}
		o := dst[at : at+32 : at+32]
		binary.LittleEndian.PutUint16(o, uint16(int(k)|la<<5|int(ct)<<8|int(cs)<<10|int(cz)<<12|odd<<14))
		binary.LittleEndian.PutUint64(o[2:], za)
		p := 2 + la
		binary.LittleEndian.PutUint64(o[p&15:], dt)
		p += 1 << (ct & 3)
		binary.LittleEndian.PutUint32(o[p&31:], zs)
		p += narrowLen[cs&3]
		binary.LittleEndian.PutUint32(o[p&31:], lastSize)
		p += narrowLen[cz&3]
		o[p&31] = slack
		at += p + odd
	}
	return finish(dst, at), events, used
}

func putExtra(dst []byte, at int, k uint8, v uint64) int {
	c := wideCode[bits.Len64(v)]
	binary.LittleEndian.PutUint16(dst[at:], uint16(k)|uint16(c)<<8)
	binary.LittleEndian.PutUint64(dst[at+2:], v)
	return at + 2 + 1<<c
}

func finish(dst []byte, at int) []byte {
	clear(dst[at : at+padding])
	return dst[:at+padding]
}

func putRaw(dst []byte, at int, b []byte) int {
	binary.LittleEndian.PutUint16(dst[at:], rawKind)
	copy(dst[at+2:], b)
	return at + 2 + len(b)
}

// Decode appends the records of a packed block to dst. It never makes more than max bytes.
func Decode(dst, b []byte, max int) ([]byte, error) {
	if len(b) < padding {
		return dst, ErrDamaged
	}
	var s state
	begin := len(dst)
	at, end := 0, len(b)-padding
	for at < end {
		if at+2 > end {
			return dst, ErrDamaged
		}
		ctl := uint64(binary.LittleEndian.Uint16(b[at:]))
		at += 2
		k := int(ctl & 31)
		if k == rawKind {
			w0 := binary.LittleEndian.Uint64(b[at:])
			n := wire.RecordSize(w0)
			if n == 0 || at+n > end || len(dst)-begin+n > max {
				return dst, ErrDamaged
			}
			dst = append(dst, b[at:at+n]...)
			at += n
			kind := uint8(w0 >> wire.KindShift)
			if s.n < rawKind && !s.knows(kind) {
				s.kinds[s.n] = kind
				s.n++
			}
			continue
		}
		if k >= s.n {
			return dst, ErrDamaged
		}
		kind := s.kinds[k]
		tn := 1 << (ctl >> 8 & 3)
		if kind>>wire.ClassShift == wire.ClassExtra {
			if at+tn > end || len(dst)-begin+16 > max {
				return dst, ErrDamaged
			}
			v := binary.LittleEndian.Uint64(b[at:]) & masks[tn]
			at += tn
			dst = binary.LittleEndian.AppendUint64(dst, uint64(kind)<<wire.KindShift)
			dst = binary.LittleEndian.AppendUint64(dst, v)
			continue
		}
		an := int(ctl >> 5 & 7)
		cs, cz, slacked := narrowLen[ctl>>10&3], narrowLen[ctl>>12&3], int(ctl>>14&1)
		if an > 6 || at+an+tn+cs+cz+slacked > end {
			return dst, ErrDamaged
		}
		s.addr = (s.addr + unzigzag(binary.LittleEndian.Uint64(b[at:])&masks[an])) & wire.AddrMask
		at += an
		s.time += binary.LittleEndian.Uint64(b[at:]) & masks[tn]
		at += tn
		if kind>>wire.ClassShift == wire.ClassShort {
			if cs+cz != 0 || len(dst)-begin+16 > max {
				return dst, ErrDamaged
			}
			slack := b[at] & -uint8(slacked)
			at += slacked
			dst = binary.LittleEndian.AppendUint64(dst, wire.Word0(s.addr, kind, slack))
			dst = binary.LittleEndian.AppendUint64(dst, s.time)
			continue
		}
		if len(dst)-begin+24 > max {
			return dst, ErrDamaged
		}
		zs := uint32(binary.LittleEndian.Uint64(b[at:]) & masks[cs])
		s.stack += zs>>1 ^ -(zs & 1)
		at += cs
		if cz != 0 {
			s.size = uint32(binary.LittleEndian.Uint64(b[at:]) & masks[cz])
			at += cz
		}
		slack := slackOf(s.size)
		if slacked != 0 {
			slack = b[at]
			at++
		}
		dst = binary.LittleEndian.AppendUint64(dst, wire.Word0(s.addr, kind, slack))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(s.size)|uint64(s.stack)<<32)
		dst = binary.LittleEndian.AppendUint64(dst, s.time)
	}
	return dst, nil
}

func (s *state) knows(kind uint8) bool {
	for _, k := range s.kinds[:s.n] {
		if k == kind {
			return true
		}
	}
	return false
}
