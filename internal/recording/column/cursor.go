package column

import "encoding/binary"

// AppendUint appends a varint. It decides without a branch between one byte and two, since for most numbers here no
// processor could predict which it is.
func AppendUint(b []byte, v uint64) []byte {
	if v < 1<<14 {
		more := (0x7f - v) >> 63
		b = append(b, byte(v)|byte(more<<7), byte(v>>7))
		return b[:len(b)-1+int(more)]
	}
	return binary.AppendUvarint(b, v)
}

// Cursor reads varints and bytes. After the end it returns zeros and sets Bad.
type Cursor struct {
	Data []byte
	At   int
	Bad  bool
}

// Uint reads a varint. Whether it has one byte or two is decided without a branch, see AppendUint.
func (c *Cursor) Uint() uint64 {
	if p := c.At; p+2 <= len(c.Data) {
		w := uint64(c.Data[p]) | uint64(c.Data[p+1])<<8
		if w&0x8080 != 0x8080 {
			more := w >> 7 & 1
			c.At = p + 1 + int(more)
			return w&0x7f | w>>1&0x3f80&-more
		}
	}
	return c.UintSlow()
}

// UintSlow is Uint for a varint of any length.
func (c *Cursor) UintSlow() uint64 {
	if c.At > len(c.Data) {
		c.Bad = true
		return 0
	}
	v, n := binary.Uvarint(c.Data[c.At:])
	if n <= 0 {
		c.Bad = true
		c.At = len(c.Data)
		return 0
	}
	c.At += n
	return v
}

// Int reads a zigzag.
func (c *Cursor) Int() int64 { return unzigzag(c.Uint()) }

// Uint32 reads a varint; one of more than 32 bits is bad.
func (c *Cursor) Uint32() uint32 {
	v := c.Uint()
	if v > 1<<32-1 {
		c.Bad = true
		return 0
	}
	return uint32(v)
}

// Bytes returns the next n bytes.
func (c *Cursor) Bytes(n uint64) []byte {
	if c.At > len(c.Data) || n > uint64(len(c.Data)-c.At) {
		c.Bad = true
		return nil
	}
	v := c.Data[c.At : c.At+int(n)]
	c.At += int(n)
	return v
}

// Text reads a length and as many bytes.
func (c *Cursor) Text() string { return string(c.Bytes(c.Uint())) }

// Left is how many bytes are left.
func (c *Cursor) Left() int { return len(c.Data) - c.At }

// Zigzag maps a signed number near 0 to a small unsigned one.
func Zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// Byte returns the next byte.
func (c *Cursor) Byte() uint8 {
	if c.At < len(c.Data) {
		v := c.Data[c.At]
		c.At++
		return v
	}
	c.Bad = true
	return 0
}

// TwoBytes returns the two bytes at an index as one number. If there are fewer, both say that a varint goes on.
func TwoBytes(b []byte, at int) uint64 {
	if uint(at+1) < uint(len(b)) {
		return uint64(b[at]) | uint64(b[at+1])<<8
	}
	return 0x8080
}
