package namecache

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
)

// batchHeader is the length and the checksum before the contents of a batch.
const batchHeader = 8

// Bounds on one batch, and on the frames of one address: a damaged batch asks for no more memory than its own size
// times a small factor.
const (
	maxBatch  = 16 << 20
	maxFrames = 1 << 12
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendBatch appends a batch with the frames of addrs, which must be in ascending order.
func appendBatch(b []byte, addrs []uint64, frames [][]event.Frame) []byte {
	start := len(b)
	b = append(b, make([]byte, batchHeader)...)
	index := map[string]uint64{}
	var texts []string
	number := func(s string) uint64 {
		i, ok := index[s]
		if !ok {
			i = uint64(len(texts))
			index[s] = i
			texts = append(texts, s)
		}
		return i
	}
	var body []byte
	body = binary.AppendUvarint(body, uint64(len(addrs)))
	last := uint64(0)
	for i, a := range addrs {
		body = binary.AppendUvarint(body, a-last)
		last = a
		body = binary.AppendUvarint(body, uint64(len(frames[i])))
		for _, f := range frames[i] {
			body = binary.AppendUvarint(body, number(f.Function))
			body = binary.AppendUvarint(body, number(f.Linkage))
			body = binary.AppendUvarint(body, number(f.File))
			line := 2 * uint64(f.Line)
			if f.Inlined {
				line++
			}
			body = binary.AppendUvarint(body, line)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(texts)))
	for _, t := range texts {
		b = binary.AppendUvarint(b, uint64(len(t)))
		b = append(b, t...)
	}
	b = append(b, body...)
	contents := b[start+batchHeader:]
	binary.LittleEndian.PutUint32(b[start:], uint32(len(contents)))
	binary.LittleEndian.PutUint32(b[start+4:], crc32.Checksum(contents, castagnoli))
	return b
}

// nextBatch returns the contents of the first batch of b and the bytes after it. sound is false if the checksum is
// wrong; ok is false if b does not begin with a complete batch.
func nextBatch(b []byte) (contents, rest []byte, sound, ok bool) {
	if len(b) < batchHeader {
		return nil, b, false, false
	}
	size := binary.LittleEndian.Uint32(b)
	if size > maxBatch || uint64(size) > uint64(len(b)-batchHeader) {
		return nil, b, false, false
	}
	contents = b[batchHeader : batchHeader+size]
	return contents, b[batchHeader+size:], crc32.Checksum(contents,
		castagnoli) == binary.LittleEndian.Uint32(b[4:]), true
}

// find calls found for each wanted address that a batch contains, in ascending order. Invalid contents end the search;
// what was found before them counts.
func find(contents []byte, wanted []uint64, found func(i int, frames []event.Frame)) {
	d := decoder{rest: contents}
	texts := make([][]byte, 0, d.count())
	for range cap(texts) {
		texts = append(texts, d.bytes(d.number()))
	}
	addr := uint64(0)
	for range d.count() {
		addr += d.number()
		n := d.number()
		if d.bad || n > maxFrames {
			return
		}
		i, want := slices.BinarySearch(wanted, addr)
		var frames []event.Frame
		for range n {
			function, linkage, file, line := d.text(texts), d.text(texts), d.text(texts), d.number()
			if want && !d.bad && line>>1 <= math.MaxUint32 {
				frames = append(frames, event.Frame{Function: string(function), Linkage: string(linkage),
					File: string(file),
					Line: uint32(line >> 1), Inlined: line&1 != 0})
			}
		}
		if d.bad {
			return
		}
		if want && len(frames) == int(n) {
			found(i, frames)
		}
	}
}

// decoder reads numbers and texts. After the first one that is missing, bad is true and all following ones are empty.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) number() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || d.bad {
		d.bad = true
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// count reads the number of entries that follow; each takes at least one byte.
func (d *decoder) count() int {
	v := d.number()
	if v > uint64(len(d.rest)) {
		d.bad = true
		return 0
	}
	return int(v)
}

func (d *decoder) bytes(n uint64) []byte {
	if d.bad || n > uint64(len(d.rest)) {
		d.bad = true
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) text(texts [][]byte) []byte {
	i := d.number()
	if d.bad || i >= uint64(len(texts)) {
		d.bad = true
		return nil
	}
	return texts[i]
}
