package spool

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/heaptap/heaptap/internal/wire"
)

// nameLog reads the log of the names of marks, regions and threads.
type nameLog struct {
	log   *array
	at    uint64            // where the next entry is
	texts map[uint32]string // by id
}

// maxName is the length of the longest name that is accepted.
const maxName = 1 << 16

// Name returns a name by its id; false if the log does not have it yet, or lost it. An agent publishes a name before it
// publishes a record that refers to it.
func (t *Tables) Name(id uint32) (text string, ok bool) {
	l := &t.names
	if text, ok = l.texts[id]; ok {
		return text, true
	}
	if err := guard(t.s.path, func() error { return l.read(t.s) }); err != nil {
		l.at = ^uint64(0) // entries behind a damaged one cannot be found
	}
	text, ok = l.texts[id]
	return text, ok
}

// read adds the entries that were appended since the last call.
func (l *nameLog) read(s *Spool) error {
	const head = uint64(unsafe.Sizeof(wire.Name{}))
	end := atomic.LoadUint64(&s.header.NameBytes)
	for l.at < end && end-l.at >= head {
		b := l.log.run(l.at, head)
		if b == nil {
			return nil
		}
		p := (*wire.Name)(unsafe.Pointer(unsafe.SliceData(b)))
		n := uint64(atomic.LoadUint32(&p.Length))
		if n == 0 {
			return nil
		}
		if n%8 != 0 || n < head || n > head+maxName || uint64(p.Size) > n-head {
			s.doubt("the list of names is damaged: some are missing")
			return fmt.Errorf("the log of names is damaged at byte %d: an entry of %d bytes", l.at, n)
		}
		id, size, entry := p.ID, uint64(p.Size), *p
		if b = l.log.run(l.at, n); b == nil {
			return nil
		}
		if !s.write && !entry.Holds(b[head:]) {
			s.doubt("the list of names is damaged: some are missing")
			l.at += n
			continue
		}
		if l.texts == nil {
			l.texts = map[uint32]string{}
		}
		l.texts[id] = string(b[head:][:size])
		l.at += n
	}
	return nil
}
