package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// columnID names a column within a block of one type.
type columnID uint8

const (
	methodRaw  = 0
	methodZstd = 1

	// zstd's best: a run-length block of 128 KiB takes 4 bytes. A column that claims more is forged.
	maxRatio = 33_000

	// With so much room behind what it unpacks, the zstd decoder copies 16 bytes at a time, beyond the ends.
	copySlack = 16
)

// payload builds a block's payload: a head of varints, then columns.
type payload struct {
	pack *packer
	head []byte
	dir  []byte // column directory
	n    int
	data []byte
	out  []byte
}

func newPayload() (*payload, error) {
	pack, err := newPacker()
	return &payload{pack: pack}, err
}

func (p *payload) reset() {
	p.head, p.dir, p.data, p.n = p.head[:0], p.dir[:0], p.data[:0], 0
}

// uint adds to the head.
func (p *payload) uint(v uint64) { p.head = binary.AppendUvarint(p.head, v) }

// column adds a column; empty ones are left out.
func (p *payload) column(id columnID, raw []byte) {
	if len(raw) == 0 {
		return
	}
	n := len(p.data)
	method := byte(methodZstd)
	data, shorter := p.pack.pack(id, p.data, raw)
	if !shorter {
		method = methodRaw
		data = append(data, raw...)
	}
	p.data = data
	p.dir = append(p.dir, byte(id), method)
	p.dir = binary.AppendUvarint(p.dir, uint64(len(raw)))
	p.dir = binary.AppendUvarint(p.dir, uint64(len(p.data)-n))
	p.n++
}

// bytes returns the payload, valid until the next use of p.
func (p *payload) bytes() []byte {
	p.out = binary.AppendUvarint(p.out[:0], uint64(len(p.head)))
	p.out = append(p.out, p.head...)
	p.out = binary.AppendUvarint(p.out, uint64(p.n))
	p.out = append(p.out, p.dir...)
	p.out = append(p.out, p.data...)
	return p.out
}

// cursor reads varints and bytes; past the end it yields zeros and sets bad.
type cursor struct {
	b   []byte
	p   int
	bad bool
}

// uint reads a varint. Whether it has one byte or two is decided without a branch, see appendUint.
func (c *cursor) uint() uint64 {
	if p := c.p; p+2 <= len(c.b) {
		w := uint64(c.b[p]) | uint64(c.b[p+1])<<8
		if w&0x8080 != 0x8080 {
			more := w >> 7 & 1
			c.p = p + 1 + int(more)
			return w&0x7f | w>>1&0x3f80&-more
		}
	}
	return c.uintSlow()
}

func (c *cursor) uintSlow() uint64 {
	if c.p > len(c.b) {
		c.bad = true
		return 0
	}
	v, n := binary.Uvarint(c.b[c.p:])
	if n <= 0 {
		c.bad = true
		c.p = len(c.b)
		return 0
	}
	c.p += n
	return v
}

func (c *cursor) int() int64 { return unzigzag(c.uint()) }

func (c *cursor) uint32() uint32 {
	v := c.uint()
	if v > 1<<32-1 {
		c.bad = true
		return 0
	}
	return uint32(v)
}

func (c *cursor) bytes(n uint64) []byte {
	if c.p > len(c.b) || n > uint64(len(c.b)-c.p) {
		c.bad = true
		return nil
	}
	v := c.b[c.p : c.p+int(n)]
	c.p += int(n)
	return v
}

func (c *cursor) string() string { return string(c.bytes(c.uint())) }

func (c *cursor) left() int { return len(c.b) - c.p }

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// columns is a payload taken apart: the columns are unpacked when asked for.
type columns struct {
	head cursor
	cols [256]stored
	used []columnID
}

type stored struct {
	method byte
	raw    uint64
	data   []byte
}

var errPayload = errors.New("its structure is invalid")

func (s *columns) parse(p []byte) error {
	for _, id := range s.used {
		s.cols[id] = stored{}
	}
	s.used = s.used[:0]
	c := cursor{b: p}
	s.head = cursor{b: c.bytes(c.uint())}
	n := c.uint()
	if c.bad || n > 256 {
		return errPayload
	}
	total := uint64(0)
	for range n {
		idm := c.bytes(2)
		raw, size := c.uint(), c.uint()
		if c.bad {
			return errPayload
		}
		id := columnID(idm[0])
		switch {
		case s.cols[id].raw != 0 || raw == 0 || size > uint64(len(p)):
			return errPayload
		case raw > maxColumn || raw > 64+size*maxRatio || idm[1] == methodRaw && raw != size:
			return fmt.Errorf("column %d claims an impossible length", id)
		case idm[1] > methodZstd:
			return fmt.Errorf("column %d is packed in a way (%d) that this heaptap does not know", id, idm[1])
		}
		s.cols[id] = stored{method: idm[1], raw: raw, data: p[:size]} // placed below, once the directory's end is known
		s.used = append(s.used, id)
		total += size
	}
	if total != uint64(c.left()) {
		return errPayload
	}
	for _, id := range s.used {
		s.cols[id].data = c.bytes(uint64(len(s.cols[id].data)))
	}
	return nil
}

func (s *columns) has(id columnID) bool { return s.cols[id].raw > 0 }

// size is the unpacked length of all columns.
func (s *columns) size() int64 {
	var n int64
	for _, id := range s.used {
		n += int64(s.cols[id].raw)
	}
	return n
}

// unpack returns a column, using buf if it is large enough; a missing column is empty.
func (s *columns) unpack(id columnID, buf []byte) ([]byte, error) {
	c := &s.cols[id]
	if c.raw == 0 {
		return nil, nil
	}
	if c.method == methodRaw {
		return c.data, nil
	}
	if uint64(cap(buf)) < c.raw+copySlack {
		buf = make([]byte, 0, c.raw+copySlack)
	}
	d, err := decoder()
	if err != nil {
		return nil, err
	}
	out, err := d.DecodeAll(c.data, buf[:0:c.raw+copySlack])
	if err != nil {
		return nil, fmt.Errorf("column %d cannot be unpacked: %w", id, err)
	}
	if uint64(len(out)) != c.raw {
		return nil, fmt.Errorf("column %d unpacks to %d bytes instead of %d", id, len(out), c.raw)
	}
	return out, nil
}

// decoder is shared: DecodeAll may be called from any number of goroutines, and a decoder is costly to make.
var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxColumn),
		zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(false))
})
