package verify

import (
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/zstd"
)

const maxColumn = 16 << 20 // unpacked

var errColumns = errors.New("its columns are damaged")

// parseColumns reads a payload of columns: the numbers of its head, and each column, unpacked.
func parseColumns(p []byte) (head []uint64, columns map[byte][]byte, err error) {
	uint := func() (v uint64) {
		v, n := binary.Uvarint(p)
		if n <= 0 {
			err, p = errColumns, nil
			return 0
		}
		p = p[n:]
		return v
	}
	take := func(n uint64) (b []byte) {
		if n > uint64(len(p)) {
			err, p = errColumns, nil
			return nil
		}
		b, p = p[:n], p[n:]
		return b
	}
	for h := take(uint()); len(h) > 0 && err == nil; {
		v, n := binary.Uvarint(h)
		if n <= 0 {
			return nil, nil, errColumns
		}
		head, h = append(head, v), h[n:]
	}
	type column struct {
		id, packed     byte
		length, stored uint64
	}
	var list []column
	for n := min(uint(), 256); n > 0 && err == nil; n-- {
		b := take(2)
		if err == nil {
			list = append(list, column{b[0], b[1], uint(), uint()})
		}
	}
	if err != nil {
		return nil, nil, err
	}
	unpacker, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxColumn), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, nil, err
	}
	defer unpacker.Close()
	columns = make(map[byte][]byte)
	for _, c := range list {
		b := take(c.stored)
		if err == nil && c.packed == 1 {
			b, err = unpacker.DecodeAll(b, nil)
		}
		if err != nil || uint64(len(b)) != c.length {
			return nil, nil, errColumns
		}
		columns[c.id] = b
	}
	return head, columns, nil
}
