package spool

import (
	"bytes"
	"sync/atomic"
	"unsafe"

	"github.com/heaptap/heaptap/internal/wire"
)

// Count is one row of a thread's counters.
type Count struct {
	Place uint32 // number of the thread's counters; 0: the sums of threads that have ended, of any process
	UID   uint64 // of the stream
	Proc  uint32
	TID   uint32
	Name  string
	Kind  uint8 // kind of allocation or, with wire.KStacked, of deallocation
	wire.CountsRow
}

// Counts yields the rows that are not empty. The threads go on counting meanwhile.
func (s *Spool) Counts(yield func(*Count)) error {
	return guard(s.path, func() error {
		a := s.array(wire.SegCounts, uint64(unsafe.Sizeof(wire.Counts{})))
		defer a.close()
		n := atomic.LoadUint32(&s.header.NextCounts)
		for i := range n {
			c := (*wire.Counts)(a.at(i))
			if c == nil {
				return nil
			}
			row := Count{Place: i}
			if i > 0 {
				row.UID = atomic.LoadUint64(&c.UID)
				row.Proc, row.TID = atomic.LoadUint32(&c.Proc), atomic.LoadUint32(&c.TID)
				row.Name = string(bytes.TrimRight(bytes.Clone(c.Name[:]), "\x00"))
			}
			for kind := range c.Rows {
				if load(&row.CountsRow, &c.Rows[kind]); row.CountsRow == (wire.CountsRow{}) {
					continue
				}
				row.Kind = uint8(kind)
				yield(&row)
			}
		}
		return nil
	})
}

// load copies a row word by word while its thread may be writing to it.
func load(to, from *wire.CountsRow) {
	const words = unsafe.Sizeof(wire.CountsRow{}) / 8
	t, f := (*[words]uint64)(unsafe.Pointer(to)), (*[words]uint64)(unsafe.Pointer(from))
	for i := range t {
		t[i] = atomic.LoadUint64(&f[i])
	}
}
