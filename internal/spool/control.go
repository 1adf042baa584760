package spool

import (
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/wire"
)

// Mode returns the recording mode of the spool's processes (wire.ModeExact and so on), and a number that changes with
// every change of the mode.
func (s *Spool) Mode() (mode uint8, number uint32) {
	_ = guard(s.path, func() error {
		c := atomic.LoadUint32(&s.header.Control)
		mode, number = uint8(c&wire.ModeMask), c>>8
		return nil
	})
	return mode, number
}

// SetMode changes the recording mode, from the processes' next events on. It does nothing if the mode is in force.
func (s *Spool) SetMode(mode uint8) error {
	return guard(s.path, func() error {
		for {
			c := atomic.LoadUint32(&s.header.Control)
			if uint8(c&wire.ModeMask) == mode || atomic.CompareAndSwapUint32(&s.header.Control, c,
				uint32(mode)|(c>>8+1)<<8) {
				return nil
			}
		}
	})
}

// someMissControl says whether a live process has not read the latest control word of the header. In exact mode a
// process reads it only when one of its streams is flagged.
func (r *Reader) someMissControl(over func(proc uint32) bool) bool {
	if !r.s.write {
		return false
	}
	c := atomic.LoadUint32(&r.s.header.Control)
	if c == r.seenControl {
		return false
	}
	for i := uint32(0); i < r.complete; i++ {
		p := (*wire.Proc)(r.procs.at(i))
		if p != nil && atomic.LoadUint32(&p.State) == wire.ProcLive && atomic.LoadUint32(&p.Mode) != c &&
			(over == nil || !over(i)) {
			return true
		}
	}
	if r.complete > 0 {
		r.seenControl = c
	}
	return false
}
