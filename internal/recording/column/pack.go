package column

import (
	"bytes"
	"encoding/binary"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/zstd"
)

// packer packs columns into zstd frames, in one of two ways. The zstd encoder searches for repetitions, which pays if
// the program repeats itself. In numbers that look random (times, sizes, which allocation a deallocation ends) it finds
// only short matches by chance. A frame of literals, in which frequent bytes take fewer bits, is then smaller and made
// five times faster. Both are valid zstd frames; a reader need not know which it is.
//
// For each column, packer tries both ways now and then, and remembers the better one.
type packer struct {
	enc   *zstd.Encoder
	huff  huff0.Scratch
	ways  [256]way
	trial []byte
}

type way struct {
	literals bool
	next     int // packs until both ways are tried again
}

const (
	// Columns shorter than this are stored as they are.
	minPacked = 48
	// Columns shorter than this are packed by the encoder.
	minLiterals = 1024
	// Both ways are tried once in so many packs of a column.
	trialEvery = 16

	zstdMagic   = 0xfd2fb528
	zstdBlock   = 128 << 10
	blockRaw    = 0
	blockRLE    = 1
	blockPacked = 2
)

func newPacker() (*packer, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithWindowSize(1<<20), zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		return nil, err
	}
	p := &packer{enc: enc}
	p.huff.Reuse = huff0.ReusePolicyNone
	return p, nil
}

// pack appends raw to dst as a zstd frame, and returns false if that is not shorter than raw.
func (p *packer) pack(id ID, dst, raw []byte) ([]byte, bool) {
	n := len(dst)
	if len(raw) < minPacked {
		return dst, false
	}
	w := &p.ways[id]
	switch {
	case len(raw) < minLiterals:
		dst = p.enc.EncodeAll(raw, dst)
	case w.next == 0:
		w.next = trialEvery
		dst = p.literals(dst, raw)
		p.trial = p.enc.EncodeAll(raw, p.trial[:0])
		size := len(dst) - n
		// An eighth is not worth several times the work.
		w.literals = size <= len(p.trial)+len(p.trial)/8
		if size > len(p.trial) {
			dst = append(dst[:n], p.trial...)
		}
	case w.literals:
		w.next--
		dst = p.literals(dst, raw)
	default:
		w.next--
		dst = p.enc.EncodeAll(raw, dst)
	}
	if len(dst)-n >= len(raw) {
		return dst[:n], false
	}
	return dst, true
}

// literals appends a zstd frame (RFC 8878) whose blocks have literals and no sequences.
func (p *packer) literals(dst, raw []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, zstdMagic)
	dst = append(dst, 2<<6|1<<5) // the content's size in four bytes; a single segment: no window
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(raw)))
	for len(raw) > 0 {
		n := min(len(raw), zstdBlock)
		dst = p.block(dst, raw[:n], n == len(raw))
		raw = raw[n:]
	}
	return dst
}

func (p *packer) block(dst, raw []byte, last bool) []byte {
	header := func(dst []byte, kind, size int) []byte {
		h := uint32(size)<<3 | uint32(kind)<<1
		if last {
			h |= 1
		}
		return append(dst, byte(h), byte(h>>8), byte(h>>16))
	}
	// All bytes are the same: huff0 would first count them, and such data takes it longest.
	if bytes.Equal(raw[1:], raw[:len(raw)-1]) {
		return append(header(dst, blockRLE, len(raw)), raw[0])
	}
	out, _, err := huff0.Compress4X(raw, &p.huff)
	// The literals' header has five bytes, the number of sequences one.
	switch size := len(out) + 6; {
	case err != nil || size >= len(raw):
		return append(header(dst, blockRaw, len(raw)), raw...)
	default:
		dst = header(dst, blockPacked, size)
		h := uint64(2) | 3<<2 | uint64(len(raw))<<4 | uint64(len(out))<<22 // Huffman-coded, four streams, 18-bit sizes
		dst = append(dst, byte(h), byte(h>>8), byte(h>>16), byte(h>>24), byte(h>>32))
		dst = append(dst, out...)
		return append(dst, 0)
	}
}
