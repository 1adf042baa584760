package column

import (
	"bytes"
	"encoding/binary"
	"sync"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/zstd"
)

// packer packs columns into zstd frames, in one of two ways. The zstd encoder searches for repetitions, which pays if
// the program repeats itself. In numbers that look random (times, sizes, which allocation a deallocation ends) it finds
// only short matches by chance. A frame of literals, in which frequent bytes take fewer bits, is then smaller and made
// five times faster. Both are valid zstd frames; a reader need not know which it is.
//
// For each column, packer tries both ways now and then, and remembers the better one.
type packer struct{ ways [256]way }

// packing is what packers need while they pack, and share: it takes 200 KB, and making it takes longer than packing all
// that a process with few events has. What a packer makes does not depend on what was packed with it before.
type packing struct {
	enc   *zstd.Encoder
	huff  huff0.Scratch
	trial []byte
}

var packings = sync.Pool{New: func() any {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithWindowSize(1<<20), zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		panic(err) // an option is wrong
	}
	p := &packing{enc: enc}
	p.huff.Reuse = huff0.ReusePolicyNone
	return p
}}

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

// pack appends raw to dst as a zstd frame, and returns false if that is not shorter than raw.
func (p *packer) pack(id ID, dst, raw []byte) ([]byte, bool) {
	n := len(dst)
	if len(raw) < minPacked {
		return dst, false
	}
	w := &p.ways[id]
	switch {
	case len(raw) < minLiterals:
		dst, _ = trial(dst, raw)
	case w.next == 0:
		w.next = trialEvery
		dst, w.literals = trial(dst, raw)
	default:
		w.next--
		q := packings.Get().(*packing)
		if w.literals {
			dst = q.literals(dst, raw)
		} else {
			dst = q.enc.EncodeAll(raw, dst)
		}
		packings.Put(q)
	}
	if len(dst)-n >= len(raw) {
		return dst[:n], false
	}
	return dst, true
}

// trial appends a column in the better one of both ways, and says whether literals are good enough. Short columns are
// not tried as literals.
func trial(dst, raw []byte) (out []byte, literals bool) {
	if q, ok := packs.find(raw); ok {
		return append(dst, q.frame...), q.literals
	}
	p := packings.Get().(*packing)
	defer packings.Put(p)
	n := len(dst)
	if len(raw) < minLiterals {
		dst = p.enc.EncodeAll(raw, dst)
	} else {
		dst = p.literals(dst, raw)
		p.trial = p.enc.EncodeAll(raw, p.trial[:0])
		size := len(dst) - n
		// An eighth is not worth several times the work.
		literals = size <= len(p.trial)+len(p.trial)/8
		if size > len(p.trial) {
			dst = append(dst[:n], p.trial...)
		}
	}
	packs.add(raw, dst[n:], literals)
	return dst, literals
}

// literals appends a zstd frame (RFC 8878) whose blocks have literals and no sequences.
func (p *packing) literals(dst, raw []byte) []byte {
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

func (p *packing) block(dst, raw []byte, last bool) []byte {
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
