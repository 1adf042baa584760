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

// Ring ends the Wait of a Listener of the spool, as an agent does.
func (s *Spool) Ring() {
	_ = guard(s.path, func() error {
		atomic.AddUint32(&s.header.RecorderWake, 1)
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&s.header.RecorderWake)), futexWakeOp, 1, 0, 0,
			0)
		return nil
	})
}

// Sleeps informs the agents that the recorder sleeps, or that it is awake. Only one that sleeps is woken.
func (s *Spool) Sleeps(asleep bool) {
	_ = guard(s.path, func() error {
		v := uint32(0)
		if asleep {
			v = 1
		}
		atomic.StoreUint32(&s.header.RecorderSleeps, v)
		return nil
	})
}

// Listener waits for the agents of some spools.
type Listener struct {
	waiters [maxWait]futexWaiter
	n       int
	word    uint32 // see Interrupt
}

// Listen begins to listen: what rings from here on ends the next Wait. It is false if that is not possible for so many
// spools.
func (l *Listener) Listen(spools []*Spool) bool {
	l.n = 0
	if len(spools) == 0 || len(spools) >= maxWait {
		return false
	}
	for _, s := range spools {
		err := guard(s.path, func() error {
			l.waiters[l.n] = futexWaiter{
				value: uint64(atomic.LoadUint32(&s.header.RecorderWake)), flags: futex32,
				address: uint64(uintptr(unsafe.Pointer(&s.header.RecorderWake))),
			}
			return nil
		})
		if err != nil {
			return false
		}
		l.n++
	}
	// The last one is its own.
	l.waiters[l.n] = futexWaiter{
		value: uint64(atomic.LoadUint32(&l.word)), flags: futex32 | futexPrivate,
		address: uint64(uintptr(unsafe.Pointer(&l.word))),
	}
	return true
}

// Wait sleeps until an agent of one of the spools wakes the recorder, or Ring is called for one of them, or Interrupt,
// but at most for d. It is false if the kernel cannot wait for them. A spool may be closed meanwhile.
func (l *Listener) Wait(d time.Duration) bool {
	if futexWaitAny(l.waiters[:l.n+1], d) {
		return true
	}
	// Older kernels, and some filters of system calls, allow waiting for one only.
	return l.n == 1 && futexWait(&l.waiters[0], min(d, time.Second))
}

// Interrupt ends the Wait, if there is one since Listen, also for spools that were cut short and cannot ring. Where the
// kernel can wait for one spool only, that one must ring, or up to a second passes.
func (l *Listener) Interrupt() {
	atomic.AddUint32(&l.word, 1)
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&l.word)), futexWakeOp|futexPrivate, 1, 0, 0, 0)
}

const (
	futexWaitOp = 0
	futexWakeOp = 1

	futexPrivate = 128 // FUTEX_PRIVATE_FLAG and FUTEX2_PRIVATE

	maxWait      = 128 // FUTEX_WAITV_MAX, one of them the listener's own
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
func futexWait(w *futexWaiter, d time.Duration) bool {
	t := unix.NsecToTimespec(int64(d))
	_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(w.address), futexWaitOp, uintptr(uint32(w.value)),
		uintptr(unsafe.Pointer(&t)), 0, 0)
	return errno != unix.ENOSYS && errno != unix.EPERM
}

// futexWaitAny does the same for any of several.
func futexWaitAny(w []futexWaiter, d time.Duration) bool {
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
