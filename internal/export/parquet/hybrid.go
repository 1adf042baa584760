package parquet

import "encoding/binary"

// longRun is from how many equal numbers on a run is written as such: fewer may share a group of eight with others.
const longRun = 16

// appendHybrid writes numbers of width bits as Parquet's hybrid of runs and packed groups of eight.
func appendHybrid(b []byte, list []uint64, width int) []byte {
	packed := 0 // from here on, numbers are to be packed
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
		// Groups are of eight, but for the last one: a run can only begin where one ends.
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

// appendPacked packs numbers of width bits, lowest bit first; groups of eight are filled up with zeros.
func appendPacked(b []byte, list []uint64, width int) []byte {
	var buf uint64 // bits that are not written yet, less than a byte between the calls
	n := 0
	put := func(v uint64, width int) {
		buf |= v << n
		for n += width; n >= 8; n -= 8 {
			b = append(b, byte(buf))
			buf >>= 8
		}
	}
	number := func(v uint64) {
		put(v&(1<<32-1), min(width, 32)) // in halves: they fit behind what is left
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
