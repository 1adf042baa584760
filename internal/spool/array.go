package spool

import (
	"math/bits"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/heaptap/heaptap/internal/wire"
	"golang.org/x/sys/unix"
)

// maxSegment bounds the bytes that one segment may map. Real segments are far smaller.
const maxSegment = 1 << 36

// array is a view of one array of a spool. It maps a segment when it is first used. Not for concurrent use.
type array struct {
	s        *Spool
	file     *os.File
	header   *wire.Header
	kind     int
	element  uint64
	write    bool
	first    uint64 // bytes of segment 0; 0: the header's value is invalid
	segments [wire.Segments][]byte
}

func (s *Spool) array(kind int, element uint64) *array {
	a := &array{s: s, file: s.file, header: s.header, kind: kind, element: element, write: s.write}
	first := atomic.LoadUint64(&s.header.SegmentFirst[kind])
	if first >= 4096 && first%4096 == 0 && first%element == 0 && first <= maxSegment {
		a.first = first
	}
	return a
}

// bytes returns n bytes, starting at a byte index, or nil if they do not exist. They must lie in one segment, as every
// element does.
func (a *array) bytes(index, n uint64) []byte {
	if a.first == 0 || index >= maxSegment {
		return nil
	}
	seg := bits.Len64(index / a.first)
	if seg >= wire.Segments {
		return nil
	}
	begin := uint64(0)
	if seg > 0 {
		begin = a.first << (seg - 1)
	}
	m := a.segments[seg]
	if m == nil {
		if m = a.mapSegment(seg, max(begin, a.first)); m == nil {
			return nil
		}
	}
	at := index - begin
	if at+n > uint64(len(m)) {
		return nil
	}
	return m[at : at+n : at+n]
}

// run returns n bytes of a log, which is an array of bytes whose entries consist of words. An entry may span two
// segments; then run returns a copy.
func (a *array) run(index, n uint64) []byte {
	if b := a.bytes(index, n); b != nil {
		return b
	}
	var out []byte
	for i := uint64(0); i < n; i += 8 {
		b := a.bytes(index+i, 8)
		if b == nil {
			return nil
		}
		out = append(out, b...)
	}
	return out
}

// at returns a pointer to an element, or nil if it does not exist.
func (a *array) at(index uint32) unsafe.Pointer {
	b := a.bytes(uint64(index)*a.element, a.element)
	if b == nil {
		return nil
	}
	return unsafe.Pointer(unsafe.SliceData(b))
}

func (a *array) mapSegment(seg int, length uint64) []byte {
	offset := atomic.LoadUint64(&a.header.Segments[a.kind][seg])
	if offset == 0 || offset%4096 != 0 || length > maxSegment || offset > 1<<46 {
		return nil
	}
	if place := a.header.Places[a.kind]; place != 0 && !a.s.write { // the array is contiguous from there on
		if seg > 0 {
			place += length // the segments before it are together as long as it is
		}
		if offset != place {
			a.s.doubt("the table of segments is damaged")
			offset = place
		}
	}
	// Mapping beyond the end of the file succeeds, but touching such a page faults.
	st, err := a.file.Stat()
	if err != nil || uint64(st.Size()) < offset+length {
		return nil
	}
	prot := unix.PROT_READ
	if a.write {
		prot |= unix.PROT_WRITE
	}
	m, err := unix.Mmap(int(a.file.Fd()), int64(offset), int(length), prot, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	a.segments[seg] = m
	return m
}

// capacity returns the number of elements before the first gap.
func (a *array) capacity() uint64 {
	n := uint64(0)
	for seg := range wire.Segments {
		if a.bytes(n*a.element, 1) == nil {
			break
		}
		n = a.first << seg / a.element
	}
	return n
}

// forget drops the pages from the reader's memory. They stay in the file and are mapped again when they are touched.
func (a *array) forget() {
	for _, m := range a.segments {
		if m != nil {
			_ = unix.Madvise(m, unix.MADV_DONTNEED)
		}
	}
}

func (a *array) close() {
	for i, m := range a.segments {
		if m != nil {
			_ = unix.Munmap(m)
			a.segments[i] = nil
		}
	}
}
