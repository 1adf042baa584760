package wire

import (
	"encoding/binary"
	"unsafe"
)

// Checksums of complete data, as in agent/src/spool/sum.c. A stored checksum of 0 means that there is none: every check
// against it succeeds.

func mix(h, word uint64) uint64 {
	h = (h ^ word) * 0x9e3779b97f4a7c15
	return h ^ h>>32
}

func pair(high, low uint32) uint64 { return uint64(high)<<32 | uint64(low) }

// Sum is ht_sum, for whole words.
func Sum(b []byte, seed uint64) uint64 {
	var a, of [8]uint64
	h := mix(seed, uint64(len(b)))
	for len(b) >= 64 {
		w := b[:64:64]
		for i := range a {
			a[i] += binary.LittleEndian.Uint64(w[8*i:])
			of[i] += a[i]
		}
		b = b[64:]
	}
	for i := 0; len(b) >= 8; i++ {
		a[i] += binary.LittleEndian.Uint64(b)
		of[i] += a[i]
		b = b[8:]
	}
	for i := range a {
		h = mix(mix(h, a[i]), of[i])
	}
	return h
}

// Sealed returns the number of bytes of a chunk, header included, that its checksum covers; false if the checksum does
// not match. records are those after the header.
func (c *Chunk) Sealed(records []byte) (fill int, ok bool) {
	if fill = int(c.Seal & SealFill); fill == 0 {
		return 0, c.Seal == 0
	}
	if fill < ChunkHeaderSize || fill%8 != 0 || fill-ChunkHeaderSize > len(records) {
		return fill, false
	}
	h := mix(mix(c.UID, c.Seq), c.Start)
	h = mix(mix(h, pair(c.TID, c.Proc)), pair(c.Level, c.Stream))
	return fill, Sum(records[:fill-ChunkHeaderSize], h)&^SealFill|uint64(fill) == c.Seal
}

// Holds says whether the constant part of a stream matches its checksum.
func (s *Stream) Holds() bool {
	h := mix(mix(s.UID, s.Start), pair(s.TID, s.Proc))
	return s.Sum == 0 || s.Sum == Sum(s.Name[:], mix(h, pair(s.Level, s.FirstChunk)))|1
}

// Holds says whether the constant part of a process matches its checksum.
func (p *Proc) Holds() bool {
	return p.Sum == 0 || p.Sum == mix(mix(pair(p.PID, p.Parent), p.ForkTime), p.Random)|1
}

// Holds says whether a program counter with that id matches its checksum.
func (p *PC) Holds(id uint32) bool {
	return p.Sum == 0 || p.Sum == uint32(mix(p.PC, pair(id, p.Module)))|1
}

// RootHash is the hash of the empty stack.
const RootHash = 0x243f6a8885a308d3

// NodeHash returns the hash of the path to a node, from the hash of the path to its parent and its ht_node.pc.
func NodeHash(parent uint64, pc uint32) uint64 { return mix(parent, uint64(pc)) }

// Holds says whether an entry of the module log matches its checksum; rest is what follows the struct.
func (m *Module) Holds(rest []byte) bool {
	h := mix(pair(m.Kind, m.ID), pair(m.Proc, m.BuildIDSize))
	h = mix(mix(mix(h, m.Time), m.Start), m.End)
	return m.Sum == 0 || m.Sum == Sum(rest, mix(mix(h, m.Bias), uint64(m.PathSize)))|1
}

// Holds says whether an entry of the log of names matches its checksum; rest is what follows the struct.
func (n *Name) Holds(rest []byte) bool {
	return n.Sum == 0 || n.Sum == uint32(Sum(rest, pair(n.ID, n.Size)))|1
}

// Holds says whether the description of the process matches its checksum; rest is what follows, to the segment's end.
func (m *Meta) Holds(rest []byte) bool {
	sizes := unsafe.Slice((*byte)(unsafe.Pointer(m)), 16)
	return m.Sum == 0 || m.Sum == uint32(Sum(rest, Sum(sizes, uint64(m.EnvSize))))|1
}

// Holds says whether the constant part of a header matches its checksum.
func (h *Header) Holds() bool {
	sum := mix(pair(h.Version, h.Arch), pair(h.PID, h.PageSize))
	sum = mix(mix(mix(sum, h.Tsc0), h.Mono0), h.Real0)
	sum = mix(mix(mix(sum, h.Sample), h.StackMin), h.FileEnd)
	words := func(p *[SegTypes]uint64) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(p)), 8*SegTypes) }
	return h.Sum == 0 || h.Sum == Sum(words(&h.Places), Sum(words(&h.SegmentFirst), sum))|1
}
