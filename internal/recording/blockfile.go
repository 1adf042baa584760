package recording

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// blockFile is the file of a recording: a header, and blocks one after another, of which some may be damaged.
type blockFile struct {
	name    string
	data    io.ReaderAt
	size    int64
	header  fileHeader
	scanned int64      // end of the last block that was found
	open    []string   // damage at the end; it goes away if a recorder still writes the file
	mu      sync.Mutex // of damage, seen
	damage  []string
	seen    map[string]bool
}

// roomOf is how much the tables of a file of that length may unpack to.
func roomOf(size int64) int64 { return tableRoom + min(size, math.MaxInt64/1024)*tableRatio }

// room is how much a summary may unpack to.
func (f *blockFile) room() int64 { return roomOf(f.size) }

// ns converts a time from units to ns.
func (f *blockFile) ns(units uint64) int64 { return int64(units) * int64(f.header.quantum) }

// damaged notes that something is damaged.
func (f *blockFile) damaged(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := fmt.Sprintf(format, args...)
	if !f.seen[s] && len(f.damage) < 1000 {
		f.seen[s] = true
		f.damage = append(f.damage, s)
	}
}

// readFull reads len(p) bytes at off; fewer only at the end of the file.
func readFull(f io.ReaderAt, p []byte, off int64) (int, error) {
	n, err := f.ReadAt(p, off)
	if err == io.EOF || n == len(p) {
		err = nil
	}
	return n, err
}

// findIndex returns the blocks that the index at the end of the file names, or false if there is no whole index.
func (f *blockFile) findIndex() ([]indexEntry, bool) {
	if f.size < fileHeaderLength+headerLength+trailerSize {
		return nil, false
	}
	var t [trailerSize]byte
	if n, err := readFull(f.data, t[:], f.size-trailerSize); err != nil || n < len(t) || string(t[8:]) != endMagic {
		return nil, false
	}
	at := int64(binary.LittleEndian.Uint64(t[:]))
	if at < fileHeaderLength || at > f.size-headerLength-trailerSize {
		return nil, false
	}
	b, ok := f.blockAt(at)
	if !ok || b.typ != blockIndex || b.end() != f.size {
		return nil, false
	}
	p, err := f.payload(b, nil)
	if err != nil {
		return nil, false
	}
	list, err := decodeIndex(p, at)
	return append(list, indexEntry{header: b}), err == nil
}

// blockAt returns the header of the block at an offset; false if there is none.
func (f *blockFile) blockAt(at int64) (header, bool) {
	var h [headerLength]byte
	n, err := readFull(f.data, h[:], at)
	if err != nil || n < len(h) {
		return header{}, false
	}
	return decodeBlock(h[:], at)
}

// payload reads and checks a block's payload, into buf if that is large enough.
func (f *blockFile) payload(b header, buf []byte) ([]byte, error) {
	if b.end() > f.size {
		return nil, fmt.Errorf("it is cut off by the end of the file")
	}
	if uint64(cap(buf)) < uint64(b.length) {
		buf = make([]byte, b.length)
	}
	buf = buf[:b.length]
	n, err := readFull(f.data, buf, b.offset+headerLength)
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

// scan finds the blocks from f.scanned on, the first of which should have number next. It is for files without an
// index: the recorder was stopped before it could write one, or still writes, or the file is damaged. Where a header is
// damaged, scan goes on at the next whole one.
func (f *blockFile) scan(next uint32) []indexEntry {
	var list []indexEntry
	for f.scanned < f.size {
		at := f.scanned
		b, ok := f.blockAt(at)
		if !ok {
			found, ok := f.resync(at + 1)
			if !ok {
				f.open = append(f.open, fmt.Sprintf("from offset %d to the end (%d bytes): no whole block", at,
					f.size-at))
				break
			}
			f.damaged("at offset %d: %d bytes are no block", at, found-at)
			f.scanned = found
			continue
		}
		if b.end() > f.size {
			f.open = append(f.open, fmt.Sprintf("at offset %d: the file ends within a block of %s (%d of %d bytes)", at,
				b.typ, f.size-at-headerLength, b.length))
			break
		}
		if b.seq != next {
			f.damaged("at offset %d: block %d follows, %d was expected", at, b.seq, next)
		}
		next = b.seq + 1
		list = append(list, f.entry(b))
		f.scanned = b.end()
	}
	return list
}

// entry returns what the index would say of a block.
func (f *blockFile) entry(b header) indexEntry {
	e := indexEntry{header: b}
	if b.typ != blockEvents && b.typ != blockSummary {
		return e
	}
	var buf [512]byte
	n, err := readFull(f.data, buf[:min(uint64(len(buf)), uint64(b.length))], b.offset+headerLength)
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
func (f *blockFile) resync(at int64) (int64, bool) {
	mark := binary.LittleEndian.AppendUint32(nil, blockMagic)
	buf := make([]byte, 64<<10)
	for at < f.size {
		n, err := readFull(f.data, buf, at)
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
