package spool

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/wire"
)

// spill is an index of the spill file: which chunk of which stream lies where. The agent only ever appends.
//
// A chunk that was only partly written (disk full, writer killed) is followed by the next one or by the end of the
// file. The index leaves it out: either its writer has counted its events as lost, or the writer was killed before it
// could move on, and the chunk is still in the pool.
type spill struct {
	path    string
	owner   uint32 // user that owns the spool, and must own this file: others may be able to write to its folder
	file    *os.File
	scanned int64
	streams map[uint64]*spilled
	chunks  int
	buf     []byte
}

// spilled lists the chunks of one stream in the spill file that were not read yet.
type spilled struct {
	first  wire.Chunk // header of the first chunk that was found
	chunks []spilledChunk
	next   uint64 // the number that follows the last chunk found
}

type spilledChunk struct {
	seq    uint64
	offset int64 // of the records
	n      int   // bytes of records
}

// scan adds the chunks that were appended since the last call.
func (s *spill) scan() error {
	if s.file == nil {
		f, err := private.OpenOwned(s.path, s.owner)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		s.file = f
	}
	st, err := s.file.Stat()
	if err != nil {
		return err
	}
	size := st.Size()
	for size-s.scanned >= wire.ChunkHeaderSize {
		c, ok := s.header(s.scanned)
		if !ok {
			// The rest of a chunk that was cut short.
			at := s.find(s.scanned+8, min(size, s.scanned+wire.ChunkSize))
			if at < 0 {
				if size-s.scanned < 2*wire.ChunkSize {
					return nil // perhaps its successor is still being written
				}
				at = s.scanned + wire.ChunkSize
			}
			s.scanned = at
			continue
		}
		end := s.scanned + int64(c.Fill)
		if end > size {
			// Being written, or cut short: then another chunk may begin before its end.
			if at := s.find(s.scanned+8, size); at >= 0 {
				s.scanned = at
				continue
			}
			return nil
		}
		if size-end >= wire.ChunkHeaderSize {
			if _, ok := s.header(end); !ok {
				if at := s.find(s.scanned+8, end); at >= 0 {
					s.scanned = at
					continue
				}
			}
		}
		s.add(c, s.scanned+wire.ChunkHeaderSize)
		s.scanned = end
	}
	return nil
}

// header reads the chunk header at an offset and checks it.
func (s *spill) header(at int64) (c wire.Chunk, ok bool) {
	var b [wire.ChunkHeaderSize]byte
	if _, err := s.file.ReadAt(b[:], at); err != nil {
		return c, false
	}
	return parseChunk(b[:])
}

func parseChunk(b []byte) (c wire.Chunk, ok bool) {
	le := binary.LittleEndian
	c = wire.Chunk{
		Magic: le.Uint32(b), Stream: le.Uint32(b[4:]), UID: le.Uint64(b[8:]), Seq: le.Uint64(b[16:]),
		Fill: le.Uint32(b[24:]), Next: le.Uint32(b[28:]), TID: le.Uint32(b[32:]), Proc: le.Uint32(b[36:]),
		Level: le.Uint32(b[40:]), There: le.Uint32(b[44:]), Start: le.Uint64(b[48:]), Seal: le.Uint64(b[56:]),
	}
	ok = c.Magic == wire.ChunkMagic && c.UID != 0 && c.Fill >= wire.ChunkHeaderSize && c.Fill <= wire.ChunkSize &&
		c.Fill%8 == 0 && c.Seq < 1<<(64-wire.PosShift)
	return c, ok
}

// find returns the offset of the first chunk header between two offsets, or -1.
func (s *spill) find(from, to int64) int64 {
	if to <= from {
		return -1
	}
	b := make([]byte, to-from+wire.ChunkHeaderSize)
	n, err := s.file.ReadAt(b, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return -1
	}
	for i := 0; i+wire.ChunkHeaderSize <= n && int64(i) < to-from; i += 8 {
		if binary.LittleEndian.Uint32(b[i:]) != wire.ChunkMagic {
			continue
		}
		if _, ok := parseChunk(b[i:]); ok {
			return from + int64(i)
		}
	}
	return -1
}

func (s *spill) add(c wire.Chunk, offset int64) {
	if s.streams == nil {
		s.streams = map[uint64]*spilled{}
	}
	st := s.streams[c.UID]
	if st == nil {
		st = &spilled{first: c}
		s.streams[c.UID] = st
	}
	if len(st.chunks) > 0 && c.Seq < st.next {
		return // a stream's chunks are written in its order
	}
	st.next = c.Seq + 1
	st.chunks = append(st.chunks, spilledChunk{c.Seq, offset, int(c.Fill) - wire.ChunkHeaderSize})
	s.chunks++
}

// take removes and returns a stream's chunk by its number, and returns the number of the stream's next chunk; the
// largest uint64 if there is no other.
func (s *spill) take(uid, seq uint64) (c spilledChunk, next uint64, ok bool) {
	next = ^uint64(0)
	st := s.streams[uid]
	if st == nil {
		return c, next, false
	}
	i := 0
	for i < len(st.chunks) && st.chunks[i].seq < seq {
		i++
	}
	if i < len(st.chunks) && st.chunks[i].seq == seq {
		c, ok = st.chunks[i], true
		i++
	}
	st.chunks = st.chunks[i:]
	if len(st.chunks) > 0 {
		return c, st.chunks[0].seq, ok
	}
	delete(s.streams, uid)
	return c, next, ok
}

// sealed checks a chunk's checksum and returns its records if that is wrong. It checks nothing in a live spool: nobody
// else has written to the file.
func (s *spill) sealed(c *spilledChunk, live bool) (records []byte, ok bool) {
	if live {
		return nil, true
	}
	if s.buf == nil {
		s.buf = make([]byte, wire.ChunkSize)
	}
	b := s.buf[:wire.ChunkHeaderSize+c.n]
	if _, err := s.file.ReadAt(b, c.offset-wire.ChunkHeaderSize); err != nil {
		return nil, true // whoever reads the records gets the same error
	}
	head, ok := parseChunk(b)
	fill, holds := head.Sealed(b[wire.ChunkHeaderSize:])
	return b[wire.ChunkHeaderSize:], ok && holds && (fill == 0 || fill == len(b))
}

// uids returns the streams that have unread chunks, in ascending order.
func (s *spill) uids() []uint64 {
	u := make([]uint64, 0, len(s.streams))
	for uid := range s.streams {
		u = append(u, uid)
	}
	slices.Sort(u)
	return u
}

func (s *spill) close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}
