package recording

import (
	"encoding/binary"
	"errors"

	"github.com/heaptap/heaptap/internal/recording/column"
)

// The index is the last block of a finished recording. It is a table with one entry for each block, followed by a
// trailer, which is the last part of the payload and so of the file: where the index begins, and a mark.
const (
	colTypes column.ID = 1 // type of each block
	colSizes column.ID = 2 // length of each payload
	colSums  column.ID = 3 // checksum of each payload
	colHeads column.ID = 4 // of each events block: the fields of its head
	colAbove column.ID = 5 // of each summary block: the fields of its head
)

var indexTable = column.Table[indexEntry]{
	Columns: []column.ID{colTypes, colSizes, colSums, colHeads, colAbove},
	Fields: func(r *column.Row, x, _ *indexEntry) {
		typ := uint64(x.typ)
		r.Uint(colTypes, &typ)
		x.typ = blockType(typ)
		r.Uint32(colSizes, &x.length)
		r.Fixed32(colSums, &x.checksum)
		switch x.typ {
		case blockEvents:
			x.head.Fields(r, colHeads)
		case blockSummary:
			x.sum.Fields(r, colAbove)
		}
		r.Check(x.length <= maxPayload, errIndex)
	},
	Err: errIndex,
}

func (a *appender) index() error {
	indexTable.Encode(a.pay, a.blocks)
	p := binary.LittleEndian.AppendUint64(a.pay.Bytes(), uint64(a.end))
	p = append(p, endMagic...)
	return a.block(blockIndex, p)
}

var errIndex = errors.New("the index is invalid")

// decodeIndex returns the blocks that an index lists. The index is at offset.
func decodeIndex(p []byte, offset int64) ([]indexEntry, error) {
	if len(p) < trailerSize {
		return nil, errIndex
	}
	var s column.Set
	if err := s.Parse(p[:len(p)-trailerSize]); err != nil {
		return nil, err
	}
	list, err := indexTable.Decode(&s, nil)
	if err != nil {
		return nil, err
	}
	at := int64(fileHeaderLength)
	for i := range list {
		b := &list[i].header
		b.seq, b.offset = uint32(i), at
		if at = b.end(); at > offset {
			return nil, errIndex
		}
	}
	if at != offset {
		return nil, errIndex
	}
	return list, nil
}
