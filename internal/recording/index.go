package recording

import (
	"encoding/binary"
	"errors"
)

// The index is the last block of a finished recording: one entry a block, columns as elsewhere, and after them, as the
// last bytes of the payload and so of the file, the trailer: where the index begins, and a mark.
const (
	colTypes columnID = 1 // type of each block
	colSizes columnID = 2 // length of each payload
	colSums  columnID = 3 // checksum of each payload
	colHeads columnID = 4 // of each events block: the fields of its head
	colAbove columnID = 5 // of each summary block: the fields of its head
)

func (a *appender) index() error {
	var types, sizes, sums, heads, above []byte
	for i := range a.blocks {
		b := &a.blocks[i]
		types = binary.AppendUvarint(types, uint64(b.typ))
		sizes = binary.AppendUvarint(sizes, uint64(b.length))
		sums = binary.LittleEndian.AppendUint32(sums, b.checksum)
		if b.typ == blockEvents {
			var p payload
			b.head.encode(&p)
			heads = append(heads, p.head...)
		}
		if b.typ == blockSummary {
			var p payload
			b.sum.encode(&p)
			above = append(above, p.head...)
		}
	}
	a.pay.reset()
	a.pay.uint(uint64(len(a.blocks)))
	a.pay.column(colTypes, types)
	a.pay.column(colSizes, sizes)
	a.pay.column(colSums, sums)
	a.pay.column(colHeads, heads)
	a.pay.column(colAbove, above)
	p := binary.LittleEndian.AppendUint64(a.pay.bytes(), uint64(a.end))
	p = append(p, endMagic...)
	return a.block(blockIndex, p)
}

var errIndex = errors.New("the index is invalid")

// decodeIndex returns the blocks that an index at offset names.
func decodeIndex(p []byte, offset int64) ([]indexEntry, error) {
	if len(p) < trailerSize {
		return nil, errIndex
	}
	var s columns
	if err := s.parse(p[:len(p)-trailerSize]); err != nil {
		return nil, err
	}
	n := s.head.uint()
	var c [6]cursor
	for _, id := range []columnID{colTypes, colSizes, colSums, colHeads, colAbove} {
		b, err := s.unpack(id, nil)
		if err != nil {
			return nil, err
		}
		c[id] = cursor{b: b}
	}
	if s.head.bad || n > uint64(len(c[colSums].b)/4) {
		return nil, errIndex
	}
	list := make([]indexEntry, 0, n)
	at := int64(headerSize)
	for i := range n {
		b := block{typ: blockType(c[colTypes].uint()), length: c[colSizes].uint32(), seq: uint32(i), offset: at}
		if sum := c[colSums].bytes(4); sum != nil {
			b.checksum = binary.LittleEndian.Uint32(sum)
		}
		e := indexEntry{block: b}
		if b.typ == blockEvents {
			e.head.decode(&c[colHeads])
		}
		if b.typ == blockSummary {
			e.sum.decode(&c[colAbove])
		}
		if c[colAbove].bad || c[colTypes].bad || c[colSizes].bad || c[colSums].bad || c[colHeads].bad || b.length > maxPayload {
			return nil, errIndex
		}
		at = b.end()
		if at > offset {
			return nil, errIndex
		}
		list = append(list, e)
	}
	if at != offset {
		return nil, errIndex
	}
	return list, nil
}
