package column

import "encoding/binary"

// ID names a column within a block of one type.
type ID uint8

// MaxLength is the largest length of a column, unpacked.
const MaxLength = 16 << 20

const (
	methodRaw  = 0
	methodZstd = 1

	// zstd's best: a run-length block of 128 KiB takes 4 bytes. A column that claims more is forged.
	maxRatio = 33_000

	// With so much room after its output, the zstd decoder copies 16 bytes at a time, over the end.
	copySlack = 16
)

// Payload builds a block's payload: a head of varints, then columns.
type Payload struct {
	pack packer
	Head []byte
	dir  []byte // column directory
	n    int
	data []byte
	out  []byte
	long bool // see TooLong
	row  *Row // writes tables and heads
}

// NewPayload returns an empty payload.
func NewPayload() *Payload { return &Payload{} }

// Reset empties it and keeps its memory.
func (p *Payload) Reset() {
	p.Head, p.dir, p.data, p.n, p.long = p.Head[:0], p.dir[:0], p.data[:0], 0, false
}

// TooLong reports whether a column is longer than MaxLength: readers refuse such a payload, so its content must be
// divided.
func (p *Payload) TooLong() bool { return p.long }

// Uint adds a varint to the head.
func (p *Payload) Uint(v uint64) { p.Head = binary.AppendUvarint(p.Head, v) }

// Column adds a column; empty ones are left out.
func (p *Payload) Column(id ID, raw []byte) {
	if len(raw) == 0 {
		return
	}
	p.long = p.long || len(raw) > MaxLength
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

// Bytes returns the payload, valid until the next use of p.
func (p *Payload) Bytes() []byte {
	p.out = binary.AppendUvarint(p.out[:0], uint64(len(p.Head)))
	p.out = append(p.out, p.Head...)
	p.out = binary.AppendUvarint(p.out, uint64(p.n))
	p.out = append(p.out, p.dir...)
	p.out = append(p.out, p.data...)
	return p.out
}
