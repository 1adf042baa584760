package parquet

import "encoding/binary"

// longRun is the least number of equal numbers that is written as a run.
const longRun = 16

// appendHybrid appends numbers of width bits in Parquet's RLE/bit-packing hybrid: runs, and packed groups of eight.
func appendHybrid(b []byte, list []uint64, width int) []byte {
	packed := 0 // numbers from this index on are not written yet
	flush := func(end int) {
		if groups := (end - packed + 7) / 8; groups > 0 {
			b = binary.AppendUvarint(b, uint64(groups)<<1|1)
			b = appendPacked(b, list[packed:end], width)
		}
	}
	for i := 0; i < len(list); {
		end := i + 1
		for end < len(list) && list[end] == list[i] {
			end++
		}
		// Only the last packed group may have fewer than eight numbers, so a run can begin only where a group ends.
		begin := i + (8-(i-packed)%8)%8
		if end-begin < longRun {
			i = end
			continue
		}
		flush(begin)
		b = binary.AppendUvarint(b, uint64(end-begin)<<1)
		for k := 0; k < width; k += 8 {
			b = append(b, byte(list[begin]>>k))
		}
		packed, i = end, end
	}
	flush(len(list))
	return b
}

// appendPacked packs numbers of width bits, lowest bit first. It fills the last group of eight with zeros.
func appendPacked(b []byte, list []uint64, width int) []byte {
	var buf uint64 // bits that are not written yet; less than a byte between calls of put
	n := 0
	put := func(v uint64, width int) {
		buf |= v << n
		for n += width; n >= 8; n -= 8 {
			b = append(b, byte(buf))
			buf >>= 8
		}
	}
	number := func(v uint64) {
		put(v&(1<<32-1), min(width, 32)) // in halves, which fit beside the bits that are left
		put(v>>32, max(width-32, 0))
	}
	for _, v := range list {
		number(v)
	}
	for i := len(list); i%8 != 0; i++ {
		number(0)
	}
	return b
}
