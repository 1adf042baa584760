package parquet

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// undelta decodes what appendDelta writes, following Parquet's specification.
func undelta(t *testing.T, b []byte) (list []uint64) {
	t.Helper()
	var head [3]uint64
	for i := range head {
		v, n := binary.Uvarint(b)
		head[i], b = v, b[n:]
	}
	block, minis, total := int(head[0]), int(head[1]), int(head[2])
	v, n := binary.Varint(b)
	last := uint64(v)
	if b = b[n:]; total == 0 {
		return nil
	}
	list = append(list, last)
	for len(list) < total {
		least, n := binary.Varint(b)
		widths := b[n : n+minis]
		b = b[n+minis:]
		for _, width := range widths {
			if len(list) == total {
				break // mini blocks beyond the last value are not written
			}
			for i := range block / minis {
				var delta uint64
				for k := range int(width) {
					bit := i*int(width) + k
					delta |= uint64(b[bit/8]>>(bit%8)&1) << k
				}
				if len(list) < total {
					last += delta + uint64(least)
					list = append(list, last)
				}
			}
			b = b[block/minis*int(width)/8:]
		}
	}
	if len(b) > 0 {
		t.Errorf("%d bytes too many", len(b))
	}
	return list
}

func TestDelta(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for n := range 700 {
		list := make([]uint64, n)
		step := uint64(1) << random.IntN(64)
		for i := range list {
			if i > 0 {
				list[i] = list[i-1] + random.Uint64N(step)
			}
		}
		if got := undelta(t, appendDelta(nil, list)); !slices.Equal(got, list) {
			t.Fatalf("%d numbers, steps below %d: %v became %v", n, step, list, got)
		}
	}
}
