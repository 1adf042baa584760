// Package sleep is how goroutines sleep that wake up again and again for as long as a program runs.
//
// A Sleeper sleeps on a timer of the kernel's, for which Go's network poller waits together with all else. With a timer
// of Go's, sysmon wakes up too, each time, and stays awake until it finds that all is idle again. A goroutine that
// sleeps in a system call keeps sysmon awake even longer, to see whether the call takes too long.
//
// The rule: no Wake is lost. One that comes while nobody sleeps ends the next sleep at once.
package sleep

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sleeper is what one goroutine sleeps on. Any other may wake it.
type Sleeper struct {
	woken atomic.Bool // Wake was called, and no sleep has ended by it

	file *os.File // of the kernel's timer; nil: there is none
	conn syscall.RawConn
	read func(fd uintptr) bool // takes the timer's end; false: it is still to come

	// Without a timer of the kernel's, as where no descriptors are left.
	bell  chan struct{}
	timer *time.Timer
}

// New returns a Sleeper, which is to be closed.
func New() *Sleeper {
	s := new(Sleeper)
	if s.openTimer() != nil {
		s.bell, s.timer = make(chan struct{}, 1), time.NewTimer(time.Hour)
	}
	return s
}

func (s *Sleeper) openTimer() error {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "timer")
	conn, err := f.SyscallConn()
	if err == nil {
		err = f.SetReadDeadline(time.Time{}) // fails if Go cannot wait for the descriptor
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	s.file, s.conn = f, conn
	s.read = func(fd uintptr) bool {
		var times uint64
		n, _, errno := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&times)), unsafe.Sizeof(times))
		return n == unsafe.Sizeof(times) || errno != unix.EAGAIN && errno != unix.EINTR
	}
	return nil
}

// set sets the timer. It does not wait, so Go's scheduler need not know of the call.
func (s *Sleeper) set(d time.Duration) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, d.Nanoseconds()))} // 0 would stop it
	var errno syscall.Errno
	err := s.conn.Control(func(fd uintptr) {
		_, _, errno = unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, fd, 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	})
	if err == nil && errno != 0 {
		err = errno
	}
	return err
}

// For sleeps until Wake is called, at most for the given time. It says whether it was woken.
func (s *Sleeper) For(d time.Duration) (woken bool) {
	if s.file == nil {
		s.timer.Reset(d)
		select {
		case <-s.bell:
			return true
		case <-s.timer.C:
			return false
		}
	}
	if s.set(d) != nil {
		time.Sleep(d) // it was closed
		return false
	}
	if s.conn.Read(s.read) == nil {
		return false
	}
	// In this order: were the flag first, a Wake in between would set a deadline that is then taken back, and the flag
	// would keep every later Wake from setting one. What was woken for is looked at from here on.
	_ = s.file.SetReadDeadline(time.Time{})
	s.woken.Store(false)
	return true
}

// past is a deadline that ends a sleep. No system call is needed for that.
var past = time.Unix(1, 0)

// Wake ends the sleep, or the next one.
func (s *Sleeper) Wake() {
	if s.file == nil {
		select {
		case s.bell <- struct{}{}:
		default:
		}
		return
	}
	if !s.woken.Swap(true) {
		_ = s.file.SetReadDeadline(past)
	}
}

// Close gives back what the Sleeper needs. Nobody may be asleep; Wake may still be called.
func (s *Sleeper) Close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}
