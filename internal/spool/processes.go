package spool

import (
	"sync/atomic"
	"time"

	"github.com/heaptap/heaptap/internal/wire"
)

// Process is a process that writes to the spool.
type Process struct {
	Slot      uint32
	PID       int
	Parent    uint32 // slot of the process it was forked from, or wire.None
	ForkTime  uint64 // timestamp of its first event; 0 for slot 0
	Random    uint64 // address of its AT_RANDOM bytes
	ParentPID int    // the process that had started it, by its id; 0: not known
}

// Processes returns the processes from a slot on, up to the first one whose slot is not completely filled in.
func (r *Reader) Processes(from uint32) (list []Process, err error) {
	err = guard(r.s.path, func() error {
		for n := r.published(from); from < n; from++ {
			p := (*wire.Proc)(r.procs.at(from))
			if !r.s.write && !p.Holds() {
				r.s.doubt("what it says of process %d, number %d of its list, is damaged", p.PID, from)
			}
			if atomic.LoadUint32(&p.State) == wire.ProcLive {
				list = append(list, Process{
					Slot: from, PID: int(p.PID), Parent: p.Parent, ForkTime: p.ForkTime, Random: p.Random,
					ParentPID: int(p.ParentPid),
				})
			} else {
				list = append(list, Process{Slot: from, Parent: wire.None, ForkTime: r.s.info.Counter})
			}
		}
		if p := (*wire.Proc)(r.procs.at(from)); !r.s.write && p != nil && p.State == wire.ProcLive &&
			from >= atomic.LoadUint32(&r.s.header.NextProc) {
			r.s.doubt("it has more processes than the %d that it says: some are missing", from)
		}
		return nil
	})
	return list, err
}

// ExitStatus is the status with which a process has called exit or _exit; false if that was not seen.
func (r *Reader) ExitStatus(slot uint32) (status int, ok bool) {
	_ = guard(r.s.path, func() error {
		if p := (*wire.Proc)(r.procs.at(slot)); p != nil {
			ended := atomic.LoadUint64(&p.Ended)
			status, ok = int(ended&0xff), ended&wire.Ended != 0
		}
		return nil
	})
	return status, ok
}

// MaxRSS is the largest resident set of a process that has called exit or _exit, in bytes; 0 if it is not known.
func (r *Reader) MaxRSS(slot uint32) (most int64) {
	_ = guard(r.s.path, func() error {
		if p := (*wire.Proc)(r.procs.at(slot)); p != nil {
			most = int64(min(atomic.LoadUint64(&p.Resident), 1<<56))
		}
		return nil
	})
	return most
}

// Partial says whether some allocations of a process have not been recorded so far.
func (r *Reader) Partial(slot uint32) (partial bool) {
	_ = guard(r.s.path, func() error {
		p := (*wire.Proc)(r.procs.at(slot))
		partial = p != nil && atomic.LoadUint32(&p.Partial) != 0
		return nil
	})
	return partial
}

// published returns the number of the first slot, from a slot on, that is not completely filled in. A process that was
// killed between taking its slot and filling it in delays the others for Patience; afterwards it is passed over without
// a process id.
func (r *Reader) published(from uint32) uint32 {
	n := atomic.LoadUint32(&r.s.header.NextProc)
	for ; from < n; from++ {
		p := (*wire.Proc)(r.procs.at(from))
		if p == nil {
			break
		}
		if atomic.LoadUint32(&p.State) == wire.ProcLive {
			continue
		}
		if r.gap != from || r.gapAt.IsZero() {
			r.gap, r.gapAt = from, time.Now()
		}
		if time.Since(r.gapAt) < r.Patience {
			break
		}
	}
	return from
}
