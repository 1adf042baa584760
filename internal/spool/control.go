package spool

import (
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/wire"
)

// Mode returns what is recorded of the spool's processes, wire.ModeExact and so on, and a number that is another one after each change.
func (s *Spool) Mode() (mode uint8, number uint32) {
	_ = guard(s.path, func() error {
		c := atomic.LoadUint32(&s.header.Control)
		mode, number = uint8(c&wire.ModeMask), c>>8
		return nil
	})
	return mode, number
}

// SetMode changes what is recorded, from the processes' next events on. It does nothing if that is recorded already.
func (s *Spool) SetMode(mode uint8) error {
	return guard(s.path, func() error {
		for {
			c := atomic.LoadUint32(&s.header.Control)
			if uint8(c&wire.ModeMask) == mode || atomic.CompareAndSwapUint32(&s.header.Control, c, uint32(mode)|(c>>8+1)<<8) {
				return nil
			}
		}
	})
}

// lookAtControl says whether a process that has not ended does not go by the header's control yet. In exact mode a process does not look
// at it by itself: then its streams have to say that there is something to look at.
func (r *Reader) lookAtControl(over func(proc uint32) bool) bool {
	if !r.s.write {
		return false
	}
	c := atomic.LoadUint32(&r.s.header.Control)
	if c == r.heeded {
		return false
	}
	for i := uint32(0); i < r.told; i++ {
		p := (*wire.Proc)(r.procs.at(i))
		if p != nil && atomic.LoadUint32(&p.State) == wire.ProcLive && atomic.LoadUint32(&p.Mode) != c && (over == nil || !over(i)) {
			return true
		}
	}
	if r.told > 0 {
		r.heeded = c
	}
	return false
}
