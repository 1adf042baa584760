package run

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// SmallSize is the length in bytes below which a complete recording is put into the pack.
const SmallSize = 256 << 10

const packMagic = "\x89HRUN\r\n\x1a"

const entryMagic = 0x544e4548 // "HENT"

const entryHeader = 32

// Kinds of entries.
const (
	entryRun     = 1
	entryProgram = 2
	entryEnd     = 3
)

// entry is an entry of a pack.
type entry struct {
	kind        uint32
	description []byte
	at          int64 // of the recording, in the file
	size        int64 // of the recording
}

// encodeEntry returns an entry without its recording.
func encodeEntry(kind uint32, description any, size int64) ([]byte, error) {
	text, err := json.Marshal(description)
	if err != nil {
		return nil, err
	}
	if len(text) > longestLine {
		return nil, fmt.Errorf("a description of %d bytes is too long for a pack", len(text))
	}
	b := make([]byte, entryHeader, entryHeader+len(text))
	binary.LittleEndian.PutUint32(b, entryMagic)
	binary.LittleEndian.PutUint32(b[4:], kind)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(text)))
	binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(text, castagnoli))
	binary.LittleEndian.PutUint64(b[16:], uint64(size))
	binary.LittleEndian.PutUint32(b[28:], crc32.Checksum(b[:28], castagnoli))
	return append(b, text...), nil
}

// readEntry reads the entry at an offset of a pack. io.EOF: the pack ends there.
func readEntry(f io.ReaderAt, at, size int64) (e entry, err error) {
	if at == size {
		return e, io.EOF
	}
	var h [entryHeader]byte
	if at < 0 || size-at < entryHeader {
		return e, errors.New("the last entry is cut short")
	}
	if _, err := f.ReadAt(h[:], at); err != nil {
		return e, err
	}
	le := binary.LittleEndian
	if le.Uint32(h[:]) != entryMagic || le.Uint32(h[28:]) != crc32.Checksum(h[:28], castagnoli) {
		return e, errors.New("there is no entry of a pack")
	}
	text, length := int64(le.Uint32(h[8:])), le.Uint64(h[16:])
	rest := size - at - entryHeader
	if text > longestLine || text > rest || length > uint64(rest-text) {
		return e, errors.New("the last entry is cut short")
	}
	e = entry{kind: le.Uint32(h[4:]), description: make([]byte, text), at: at + entryHeader + text, size: int64(length)}
	if _, err := f.ReadAt(e.description, at+entryHeader); err != nil {
		return e, err
	}
	if crc32.Checksum(e.description, castagnoli) != le.Uint32(h[12:]) {
		return e, errors.New("the checksum of an entry is wrong")
	}
	return e, nil
}

// readPack calls with the entries of a pack, in order, and returns how long its whole part is, and what is wrong after
// it.
func readPack(f io.ReaderAt, size int64, yield func(e *entry) error) (whole int64, broken error) {
	magic := make([]byte, len(packMagic))
	if n, err := f.ReadAt(magic, 0); n < len(magic) && err != nil && err != io.EOF {
		return 0, err
	}
	if size < int64(len(packMagic)) || string(magic) != packMagic {
		return 0, errors.New("it is not a pack")
	}
	for at := int64(len(packMagic)); ; {
		e, err := readEntry(f, at, size)
		if err == nil {
			err = yield(&e)
		}
		if err == io.EOF {
			return at, nil
		}
		if err != nil {
			return at, fmt.Errorf("at byte %d: %w", at, err)
		}
		at = e.at + e.size
	}
}

// program is the program that an entry describes.
func (e *entry) program() (p Program, err error) {
	if err := json.Unmarshal(e.description, &p); err != nil {
		return p, err
	}
	if err := p.check(); err != nil {
		return p, err
	}
	p.Packed = &Place{e.at, e.size}
	return p, nil
}
