package recording

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// readFull reads len(p) bytes at off; fewer only at the end of the file.
func readFull(f io.ReaderAt, p []byte, off int64) (int, error) {
	n, err := f.ReadAt(p, off)
	if err == io.EOF || n == len(p) {
		err = nil
	}
	return n, err
}

// findIndex returns the blocks that the index at the end of the file names, or false if there is no whole index.
func (r *Reader) findIndex() ([]indexEntry, bool) {
	if r.size < fileHeaderLength+headerLength+trailerSize {
		return nil, false
	}
	var t [trailerSize]byte
	if n, err := readFull(r.f, t[:], r.size-trailerSize); err != nil || n < len(t) || string(t[8:]) != endMagic {
		return nil, false
	}
	at := int64(binary.LittleEndian.Uint64(t[:]))
	if at < fileHeaderLength || at > r.size-headerLength-trailerSize {
		return nil, false
	}
	b, ok := r.blockAt(at)
	if !ok || b.typ != blockIndex || b.end() != r.size {
		return nil, false
	}
	p, err := r.payload(b, nil)
	if err != nil {
		return nil, false
	}
	list, err := decodeIndex(p, at)
	return append(list, indexEntry{header: b}), err == nil
}

func (r *Reader) blockAt(at int64) (header, bool) {
	var h [headerLength]byte
	n, err := readFull(r.f, h[:], at)
	if err != nil || n < len(h) {
		return header{}, false
	}
	return decodeBlock(h[:], at)
}

// payload reads and checks a block's payload, into buf if that is large enough.
func (r *Reader) payload(b header, buf []byte) ([]byte, error) {
	if b.end() > r.size {
		return nil, fmt.Errorf("it is cut off by the end of the file")
	}
	if uint64(cap(buf)) < uint64(b.length) {
		buf = make([]byte, b.length)
	}
	buf = buf[:b.length]
	n, err := readFull(r.f, buf, b.offset+headerLength)
	switch {
	case err != nil:
		return nil, err
	case n < len(buf):
		return nil, fmt.Errorf("it is cut off by the end of the file")
	case checksum(buf) != b.checksum:
		return nil, fmt.Errorf("its checksum is wrong")
	}
	return buf, nil
}

// scan finds the blocks from r.scanned on, the first of which should have number next. It reads files without an index:
// the recorder ended before it could write one, still writes, or the file is damaged. Where a header is damaged, it
// looks for the next whole one.
func (r *Reader) scan(next uint32) []indexEntry {
	var list []indexEntry
	for r.scanned < r.size {
		at := r.scanned
		b, ok := r.blockAt(at)
		if !ok {
			found, ok := r.resync(at + 1)
			if !ok {
				r.open = append(r.open, fmt.Sprintf("from offset %d to the end (%d bytes): no whole block", at,
					r.size-at))
				break
			}
			r.damaged("at offset %d: %d bytes are no block", at, found-at)
			r.scanned = found
			continue
		}
		if b.end() > r.size {
			r.open = append(r.open, fmt.Sprintf("at offset %d: the file ends within a block of %s (%d of %d bytes)", at,
				b.typ, r.size-at-headerLength, b.length))
			break
		}
		if b.seq != next {
			r.damaged("at offset %d: block %d follows, %d was expected", at, b.seq, next)
		}
		next = b.seq + 1
		list = append(list, r.entry(b))
		r.scanned = b.end()
	}
	return list
}

// entry returns what the index would say of a block.
func (r *Reader) entry(b header) indexEntry {
	e := indexEntry{header: b}
	if b.typ != blockEvents && b.typ != blockSummary {
		return e
	}
	var buf [512]byte
	n, err := readFull(r.f, buf[:min(uint64(len(buf)), uint64(b.length))], b.offset+headerLength)
	if err != nil {
		return e
	}
	c := column.Cursor{Data: buf[:n]}
	c = column.Cursor{Data: c.Bytes(c.Uint())}
	if b.typ == blockEvents {
		c.Fields(e.head.Fields)
	} else {
		c.Fields(e.sum.Fields)
	}
	if c.Bad {
		e.head, e.sum = block.Head{}, block.SummaryHead{}
	}
	return e
}

// resync returns the offset of the first whole block header at or after at.
func (r *Reader) resync(at int64) (int64, bool) {
	mark := binary.LittleEndian.AppendUint32(nil, blockMagic)
	buf := make([]byte, 64<<10)
	for at < r.size {
		n, err := readFull(r.f, buf, at)
		if err != nil || n < headerLength {
			return 0, false
		}
		p := buf[:n]
		for from := 0; ; {
			i := bytes.Index(p[from:], mark)
			if i < 0 || from+i+headerLength > n {
				break
			}
			from += i
			if _, ok := decodeBlock(p[from:], at+int64(from)); ok {
				return at + int64(from), true
			}
			from++
		}
		at += int64(n - headerLength + 1)
	}
	return 0, false
}
