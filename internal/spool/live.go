package spool

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/heaptap/heaptap/internal/wire"
	"golang.org/x/sys/unix"
)

// Attach tells the agent that a recorder is here.
func (s *Spool) Attach(pid int) {
	_ = guard(s.path, func() error {
		atomic.StoreUint32(&s.header.RecorderPID, uint32(pid))
		atomic.AddUint64(&s.header.Heartbeat, 1)
		atomic.StoreUint32(&s.header.RecorderState, wire.RecorderHere)
		return nil
	})
}

// Beat tells the agent that the recorder makes progress.
func (s *Spool) Beat() {
	_ = guard(s.path, func() error {
		atomic.AddUint64(&s.header.Heartbeat, 1)
		return nil
	})
}

// Abandon tells the agent that nobody drains any more, nor ever will: what it cannot keep is lost, and it is not to fill
// the disk with it.
func (s *Spool) Abandon() {
	_ = guard(s.path, func() error {
		atomic.StoreUint64(&s.header.SpillLimit, 0)
		atomic.StoreUint32(&s.header.RecorderState, wire.RecorderNone)
		return nil
	})
}

// Ring wakes whoever waits for the spool, as an agent would.
func (s *Spool) Ring() {
	_ = guard(s.path, func() error {
		atomic.AddUint32(&s.header.RecorderWake, 1)
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&s.header.RecorderWake)), futexWakeOp, 1, 0, 0, 0)
		return nil
	})
}

// Wait sleeps until an agent of one of the spools asks for the recorder, or Ring is called for one of them, at most for
// the given time; not at all if rung says so. For a Ring that came before, rung has to be true. False: it cannot wait
// for these spools, and has not.
func Wait(spools []*Spool, d time.Duration, rung func() bool) bool {
	if len(spools) == 0 || len(spools) > maxWait {
		return false
	}
	var waiters [maxWait]futexWaiter
	for i, s := range spools {
		_ = guard(s.path, func() error {
			// The value first: an agent that finds the flag set changes it.
			v := atomic.LoadUint32(&s.header.RecorderWake)
			atomic.StoreUint32(&s.header.RecorderSleeps, 1)
			waiters[i] = futexWaiter{
				value: uint64(v), address: uint64(uintptr(unsafe.Pointer(&s.header.RecorderWake))), flags: futex32,
			}
			return nil
		})
		if waiters[i].address == 0 {
			return false
		}
	}
	ok := rung() || futexWait(waiters[:len(spools)], d)
	for _, s := range spools {
		_ = guard(s.path, func() error {
			atomic.StoreUint32(&s.header.RecorderSleeps, 0)
			return nil
		})
	}
	return ok
}

const (
	futexWaitOp = 0
	futexWakeOp = 1

	maxWait      = 128 // FUTEX_WAITV_MAX
	futex32      = 2   // FUTEX2_SIZE_U32
	sysFutexWait = 449 // futex_waitv, since Linux 5.16, the same number everywhere
)

// futexWaiter is struct futex_waitv.
type futexWaiter struct {
	value    uint64
	address  uint64
	flags    uint32
	reserved uint32
}

// futexWait is false if the kernel cannot do that.
func futexWait(w []futexWaiter, d time.Duration) bool {
	if len(w) == 1 {
		t := unix.NsecToTimespec(int64(d))
		_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(w[0].address), futexWaitOp, uintptr(uint32(w[0].value)),
			uintptr(unsafe.Pointer(&t)), 0, 0)
		return errno != unix.ENOSYS && errno != unix.EPERM
	}
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	t := unix.NsecToTimespec(now.Nano() + int64(d)) // an absolute time, other than above
	_, _, errno := unix.Syscall6(sysFutexWait, uintptr(unsafe.Pointer(unsafe.SliceData(w))), uintptr(len(w)), 0,
		uintptr(unsafe.Pointer(&t)), unix.CLOCK_MONOTONIC, 0)
	return errno != unix.ENOSYS && errno != unix.EPERM && errno != unix.EINVAL && errno != unix.EFAULT
}

// push puts an element onto one of the header's lists: the link goes into the element, and the head's upper half counts.
func push(head *uint64, link *uint32, index uint32) {
	for {
		old := atomic.LoadUint64(head)
		atomic.StoreUint32(link, uint32(old))
		if atomic.CompareAndSwapUint64(head, old, (old>>32+1)<<32|uint64(index)) {
			return
		}
	}
}

// freeChunk gives a chunk back to the writers and wakes those who wait for one.
func (r *Reader) freeChunk(index uint32, c *wire.Chunk) {
	h := r.s.header
	push(&h.FreeChunks, &c.Next, index)
	atomic.AddUint32(&h.FreeChunkCount, 1)
	atomic.AddUint32(&h.ChunkFreed, 1)
	if atomic.LoadUint32(&h.ChunkWaiters) != 0 {
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&h.ChunkFreed)), futexWakeOp, 1<<30, 0, 0, 0)
	}
}

// freeStream gives a stream's slot back.
func (r *Reader) freeStream(index uint32, slot *wire.Stream) {
	atomic.StoreUint32(&slot.State, wire.StreamFree)
	push(&r.s.header.FreeStreams, &slot.NextFree, index)
}
