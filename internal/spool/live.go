package spool

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/heaptap/heaptap/internal/wire"
	"golang.org/x/sys/unix"
)

// Attach informs the agent that a recorder is attached.
func (s *Spool) Attach(pid int) {
	_ = guard(s.path, func() error {
		atomic.StoreUint32(&s.header.RecorderPID, uint32(pid))
		atomic.AddUint64(&s.header.Heartbeat, 1)
		atomic.StoreUint32(&s.header.RecorderState, wire.RecorderHere)
		return nil
	})
}

// Beat informs the agent that the recorder makes progress.
func (s *Spool) Beat() {
	_ = guard(s.path, func() error {
		atomic.AddUint64(&s.header.Heartbeat, 1)
		return nil
	})
}

// Abandon informs the agent that nobody will drain the spool again. The agent then drops what does not fit, instead of
// filling the disk with it.
func (s *Spool) Abandon() {
	_ = guard(s.path, func() error {
		atomic.StoreUint64(&s.header.SpillLimit, 0)
		atomic.StoreUint32(&s.header.RecorderState, wire.RecorderNone)
		return nil
	})
}

// Ring wakes a Wait for the spool, as an agent does.
func (s *Spool) Ring() {
	_ = guard(s.path, func() error {
		atomic.AddUint32(&s.header.RecorderWake, 1)
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&s.header.RecorderWake)), futexWakeOp, 1, 0, 0,
			0)
		return nil
	})
}

// Wait sleeps until an agent of one of the spools wakes the recorder or Ring is called for one of them, but at most for
// d. It does not sleep if rung returns true, which it must do for an earlier Ring. Wait returns false if it cannot wait
// for these spools.
func Wait(spools []*Spool, d time.Duration, rung func() bool) bool {
	if len(spools) == 0 || len(spools) > maxWait {
		return false
	}
	var waiters [maxWait]futexWaiter
	for i, s := range spools {
		_ = guard(s.path, func() error {
			// Read the value first: an agent that finds the flag set changes the value.
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

// futexWait returns false if the kernel does not support the call.
func futexWait(w []futexWaiter, d time.Duration) bool {
	if len(w) == 1 {
		t := unix.NsecToTimespec(int64(d))
		_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(w[0].address), futexWaitOp, uintptr(uint32(w[0].value)),
			uintptr(unsafe.Pointer(&t)), 0, 0)
		return errno != unix.ENOSYS && errno != unix.EPERM
	}
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	t := unix.NsecToTimespec(now.Nano() + int64(d)) // absolute, unlike above
	_, _, errno := unix.Syscall6(sysFutexWait, uintptr(unsafe.Pointer(unsafe.SliceData(w))), uintptr(len(w)), 0,
		uintptr(unsafe.Pointer(&t)), unix.CLOCK_MONOTONIC, 0)
	return errno != unix.ENOSYS && errno != unix.EPERM && errno != unix.EINVAL && errno != unix.EFAULT
}

// push adds an element to one of the header's lock-free lists. The element holds the link; the upper half of the head
// is a counter, against the ABA problem.
func push(head *uint64, link *uint32, index uint32) {
	for {
		old := atomic.LoadUint64(head)
		atomic.StoreUint32(link, uint32(old))
		if atomic.CompareAndSwapUint64(head, old, (old>>32+1)<<32|uint64(index)) {
			return
		}
	}
}

// freeChunk returns a chunk to the writers and wakes those that wait for one.
func (r *Reader) freeChunk(index uint32, c *wire.Chunk) {
	h := r.s.header
	push(&h.FreeChunks, &c.Next, index)
	atomic.AddUint32(&h.FreeChunkCount, 1)
	atomic.AddUint32(&h.ChunkFreed, 1)
	if atomic.LoadUint32(&h.ChunkWaiters) != 0 {
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&h.ChunkFreed)), futexWakeOp, 1<<30, 0, 0, 0)
	}
}

// freeStream returns a stream's slot.
func (r *Reader) freeStream(index uint32, slot *wire.Stream) {
	atomic.StoreUint32(&slot.State, wire.StreamFree)
	push(&r.s.header.FreeStreams, &slot.NextFree, index)
}
