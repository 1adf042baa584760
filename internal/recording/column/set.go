package column

import (
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Set is a payload that is read: it unpacks columns when asked for.
type Set struct {
	Head Cursor
	cols [256]stored
	IDs  []ID // of the columns, in their order
}

type stored struct {
	method byte
	raw    uint64
	data   []byte
}

// ErrPayload says that a payload is invalid.
var ErrPayload = errors.New("its structure is invalid")

// Parse reads a payload's head and directory. The Set refers to the payload.
func (s *Set) Parse(p []byte) error {
	for _, id := range s.IDs {
		s.cols[id] = stored{}
	}
	s.IDs = s.IDs[:0]
	c := Cursor{Data: p}
	s.Head = Cursor{Data: c.Bytes(c.Uint())}
	n := c.Uint()
	if c.Bad || n > 256 {
		return ErrPayload
	}
	total := uint64(0)
	for range n {
		idm := c.Bytes(2)
		raw, size := c.Uint(), c.Uint()
		if c.Bad {
			return ErrPayload
		}
		id := ID(idm[0])
		switch {
		case s.cols[id].raw != 0 || raw == 0 || size > uint64(len(p)):
			return ErrPayload
		case raw > MaxLength || raw > 64+size*maxRatio || idm[1] == methodRaw && raw != size:
			return fmt.Errorf("column %d claims an impossible length", id)
		case idm[1] > methodZstd:
			return fmt.Errorf("column %d is packed in a way (%d) that this heaptap does not know", id, idm[1])
		}
		s.cols[id] = stored{method: idm[1], raw: raw, data: p[:size]} // placed below, once the directory's end is known
		s.IDs = append(s.IDs, id)
		total += size
	}
	if total != uint64(c.Left()) {
		return ErrPayload
	}
	for _, id := range s.IDs {
		s.cols[id].data = c.Bytes(uint64(len(s.cols[id].data)))
	}
	return nil
}

// Has reports whether there is such a column.
func (s *Set) Has(id ID) bool { return s.cols[id].raw > 0 }

// Raw is the unpacked length of a column; 0 if there is none.
func (s *Set) Raw(id ID) uint64 { return s.cols[id].raw }

// Stored is the length of a column as it is stored.
func (s *Set) Stored(id ID) int { return len(s.cols[id].data) }

// Size is the unpacked length of all columns.
func (s *Set) Size() int64 {
	var n int64
	for _, id := range s.IDs {
		n += int64(s.cols[id].raw)
	}
	return n
}

// Unpack returns a column, using buf if it is large enough; a missing column is empty.
func (s *Set) Unpack(id ID, buf []byte) ([]byte, error) {
	c := &s.cols[id]
	if c.raw == 0 {
		return nil, nil
	}
	if c.method == methodRaw {
		return c.data, nil
	}
	if uint64(cap(buf)) < c.raw+copySlack {
		buf = make([]byte, 0, c.raw+copySlack)
	}
	d, err := zstdDecoder()
	if err != nil {
		return nil, err
	}
	out, err := d.DecodeAll(c.data, buf[:0:c.raw+copySlack])
	if err != nil {
		return nil, fmt.Errorf("column %d cannot be unpacked: %w", id, err)
	}
	if uint64(len(out)) != c.raw {
		return nil, fmt.Errorf("column %d unpacks to %d bytes instead of %d", id, len(out), c.raw)
	}
	return out, nil
}

// UnpackInto is Unpack into buf. If buf is too small, the longer column replaces it, for the next time.
func (s *Set) UnpackInto(id ID, buf *[]byte) ([]byte, error) {
	b, err := s.Unpack(id, *buf)
	if err == nil && s.cols[id].method == methodZstd && cap(b) > cap(*buf) {
		*buf = b
	}
	return b, err
}

// zstdDecoder is shared: any number of goroutines may call DecodeAll, and it is costly to make a decoder.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(MaxLength),
		zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(false))
})
