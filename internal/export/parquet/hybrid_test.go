package parquet

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// unpack decodes what appendHybrid writes, following Parquet's specification.
func unpack(t *testing.T, b []byte, width, n int) (list []uint64) {
	t.Helper()
	for len(list) < n {
		head, k := binary.Uvarint(b)
		if k <= 0 {
			t.Fatalf("cut short after %d numbers", len(list))
		}
		b = b[k:]
		if head&1 == 0 { // a run
			var v uint64
			for i := range (width + 7) / 8 {
				v |= uint64(b[i]) << (8 * i)
			}
			b = b[(width+7)/8:]
			list = append(list, slices.Repeat([]uint64{v}, int(head>>1))...)
			continue
		}
		groups := int(head >> 1)
		for i := range groups * 8 {
			var v uint64
			for k := range width {
				bit := i*width + k
				v |= uint64(b[bit/8]>>(bit%8)&1) << k
			}
			list = append(list, v)
		}
		b = b[groups*width:]
	}
	if len(b) > 0 {
		t.Errorf("%d bytes too many", len(b))
	}
	return list[:n]
}

func TestHybrid(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		width := 1 + random.IntN(20)
		var list []uint64
		for range random.IntN(6) { // runs of all lengths
			v := random.Uint64N(1 << width)
			for range random.IntN(1 << random.IntN(7)) {
				list = append(list, v)
			}
		}
		if got := unpack(t, appendHybrid(nil, list, width), width, len(list)); !slices.Equal(got, list) {
			t.Fatalf("width %d: %v became %v", width, list, got)
		}
	}
	if b := appendHybrid(nil, make([]uint64, 1<<20), 7); len(b) > 8 {
		t.Errorf("a run takes %d bytes", len(b))
	}
}
