package spill

import (
	"encoding/binary"
	"slices"

	"github.com/heaptap/heaptap/internal/wire"
)

// masks[n] covers n bytes.
var masks = [4]uint32{0, 0xff, 0xffff, 0xffffff}

// Decode appends the records of a packed block to dst, at most max bytes. If dst has room for these and Slack, nothing
// is allocated.
func Decode(dst, b []byte, max int) ([]byte, error) {
	if len(b) < padding {
		return dst, ErrDamaged
	}
	begin := len(dst)
	dst = slices.Grow(dst, max+Slack)
	to := dst[begin : begin+max+Slack]
	var q, t uint64
	var stack uint32
	var tops [256]uint16
	wrong := uint16(0)
	le := binary.LittleEndian
	at, n := 0, 0
	for at < len(b)-padding {
		if n >= max {
			return dst, ErrDamaged
		}
		p := (*[padding]byte)(b[at:])
		flags := int(p[0])
		a := flags & 7
		if a == 0 {
			if flags == flagRaw {
				size := wire.RecordSize(le.Uint64(p[1:]))
				if size == 0 || at+1+size > len(b)-padding {
					return dst, ErrDamaged
				}
				copy(to[n:], b[at+1:at+1+size])
				q, t, stack = follow(to[n:n+size], q, t, stack)
				at, n = at+1+size, n+size
				continue
			}
			v := le.Uint64(p[2:])
			switch flags {
			case flagShort:
				v &= 0xffff
				at += 4
			case flagLong:
				at += 10
			default:
				return dst, ErrDamaged
			}
			if wire.Class(p[1]) != wire.ClassExtra {
				return dst, ErrDamaged
			}
			le.PutUint64(to[n:], wire.Word0(0, p[1], 0))
			le.PutUint64(to[n+8:], v)
			n += 16
			continue
		}
		t += uint64(le.Uint16(p[1:]))
		v := le.Uint64(p[3:])
		if a < 4 {
			v = uint64(int64(int32(v)))
		}
		if a == 1 {
			v = uint64(int64(int16(v)))
		}
		q += v
		i := 3 + 2*a
		s := flags >> 4 & 3
		stack ^= le.Uint32(p[i&15:]) & masks[s]
		i += s
		z := flags >> 6 & 3
		size := le.Uint32(p[i&15:]) & masks[z]
		i += z
		top := tops[uint8(size)]
		k := flags >> 3 & 1
		if k != 0 {
			top = le.Uint16(p[i&31:])
		}
		tops[uint8(size)] = top
		at += i + 2*k

		stacked := 1
		if z == 0 {
			stacked = 0
		}
		wrong |= top>>wire.ClassShift&3 ^ uint16(stacked) ^ 1 | uint16(a&(a-1))
		o := to[n : n+24 : n+24]
		le.PutUint64(o, address(q)|uint64(top)<<wire.KindShift)
		le.PutUint64(o[8:], uint64(size)|uint64(stack)<<32)
		le.PutUint64(o[8+8*stacked:], t)
		n += 16 + 8*stacked
	}
	if at != len(b)-padding || n > max || wrong != 0 {
		return dst, ErrDamaged
	}
	return dst[:begin+n], nil
}
