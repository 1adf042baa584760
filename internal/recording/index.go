package recording

import (
	"encoding/binary"
	"errors"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// The index is the last block of a finished recording: one entry a block, columns as elsewhere, and after them, as the
// last bytes of the payload and so of the file, the trailer: where the index begins, and a mark.
const (
	colTypes column.ID = 1 // type of each block
	colSizes column.ID = 2 // length of each payload
	colSums  column.ID = 3 // checksum of each payload
	colHeads column.ID = 4 // of each events block: the fields of its head
	colAbove column.ID = 5 // of each summary block: the fields of its head
)

func (a *appender) index() error {
	var types, sizes, sums, heads, above []byte
	for i := range a.blocks {
		b := &a.blocks[i]
		types = binary.AppendUvarint(types, uint64(b.typ))
		sizes = binary.AppendUvarint(sizes, uint64(b.length))
		sums = binary.LittleEndian.AppendUint32(sums, b.checksum)
		if b.typ == blockEvents {
			var p column.Payload
			b.head.encode(&p)
			heads = append(heads, p.Head...)
		}
		if b.typ == blockSummary {
			var p column.Payload
			b.sum.encode(&p)
			above = append(above, p.Head...)
		}
	}
	a.pay.Reset()
	a.pay.Uint(uint64(len(a.blocks)))
	a.pay.Column(colTypes, types)
	a.pay.Column(colSizes, sizes)
	a.pay.Column(colSums, sums)
	a.pay.Column(colHeads, heads)
	a.pay.Column(colAbove, above)
	p := binary.LittleEndian.AppendUint64(a.pay.Bytes(), uint64(a.end))
	p = append(p, endMagic...)
	return a.block(blockIndex, p)
}

var errIndex = errors.New("the index is invalid")

// decodeIndex returns the blocks that an index at offset names.
func decodeIndex(p []byte, offset int64) ([]indexEntry, error) {
	if len(p) < trailerSize {
		return nil, errIndex
	}
	var s column.Set
	if err := s.Parse(p[:len(p)-trailerSize]); err != nil {
		return nil, err
	}
	n := s.Head.Uint()
	var c [6]column.Cursor
	for _, id := range []column.ID{colTypes, colSizes, colSums, colHeads, colAbove} {
		b, err := s.Unpack(id, nil)
		if err != nil {
			return nil, err
		}
		c[id] = column.Cursor{Data: b}
	}
	if s.Head.Bad || n > uint64(len(c[colSums].Data)/4) {
		return nil, errIndex
	}
	list := make([]indexEntry, 0, n)
	at := int64(headerSize)
	for i := range n {
		b := block{typ: blockType(c[colTypes].Uint()), length: c[colSizes].Uint32(), seq: uint32(i), offset: at}
		if sum := c[colSums].Bytes(4); sum != nil {
			b.checksum = binary.LittleEndian.Uint32(sum)
		}
		e := indexEntry{block: b}
		if b.typ == blockEvents {
			e.head.decode(&c[colHeads])
		}
		if b.typ == blockSummary {
			e.sum.decode(&c[colAbove])
		}
		if c[colAbove].Bad || c[colTypes].Bad || c[colSizes].Bad || c[colSums].Bad || c[colHeads].Bad || b.length > maxPayload {
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
