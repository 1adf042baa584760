package parquet

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Sizes of the parts of DELTA_BINARY_PACKED, in numbers.
const (
	deltaBlock = 128
	deltaMini  = 32
)

// appendDelta appends numbers as differences. Each block begins with its least difference. Differences wrap around.
func appendDelta(b []byte, list []uint64) []byte {
	b = binary.AppendUvarint(b, deltaBlock)
	b = binary.AppendUvarint(b, deltaBlock/deltaMini)
	b = binary.AppendUvarint(b, uint64(len(list)))
	if len(list) == 0 {
		return binary.AppendVarint(b, 0)
	}
	b = binary.AppendVarint(b, int64(list[0]))
	var deltas []uint64
	for i := 1; i < len(list); i += deltaBlock {
		deltas = deltas[:0]
		for k := i; k < min(i+deltaBlock, len(list)); k++ {
			deltas = append(deltas, list[k]-list[k-1])
		}
		b = appendDeltaBlock(b, deltas)
	}
	return b
}

func appendDeltaBlock(b []byte, deltas []uint64) []byte {
	least := int64(slices.MinFunc(deltas, func(a, b uint64) int { return compareSigned(a, b) }))
	b = binary.AppendVarint(b, least)
	for i := range deltas {
		deltas[i] -= uint64(least)
	}
	widths := len(b)
	b = append(b, make([]byte, deltaBlock/deltaMini)...)
	for i := 0; i < len(deltas); i += deltaMini {
		mini := deltas[i:min(i+deltaMini, len(deltas))]
		width := bits.Len64(slices.Max(mini))
		b[widths+i/deltaMini] = byte(width)
		full := make([]uint64, deltaMini) // a mini block is always full
		copy(full, mini)
		b = appendPacked(b, full, width)
	}
	return b
}

func compareSigned(a, b uint64) int {
	switch {
	case int64(a) < int64(b):
		return -1
	case a == b:
		return 0
	}
	return 1
}
