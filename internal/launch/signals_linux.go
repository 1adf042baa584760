package launch

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notPassedOn are signals that say nothing about the target: faults and timers of this program's own, and what the Go
// runtime and a closed pipe send it.
var notPassedOn = map[syscall.Signal]bool{
	unix.SIGKILL: true, unix.SIGSTOP: true, unix.SIGCHLD: true, unix.SIGURG: true, unix.SIGPIPE: true,
	unix.SIGPROF: true,
}

// signals takes all signals that this process gets, so that none of them ends it.
type signals struct {
	arrivals chan os.Signal
}

// takeSignals is called before the target starts. A signal that is ignored (nohup, background jobs of scripts) is left
// alone: the target is to inherit that.
func takeSignals() *signals {
	s := &signals{arrivals: make(chan os.Signal, 256)}
	if signal.Ignored(unix.SIGINT) && !signal.Ignored(unix.SIGQUIT) {
		// The Go runtime keeps SIGHUP and SIGINT ignored if they were, but not SIGQUIT. A shell without job control
		// ignores SIGINT and SIGQUIT together for what it starts in the background (POSIX, "Asynchronous Lists").
		signal.Ignore(unix.SIGQUIT)
	}
	for n := syscall.Signal(1); n <= 64; n++ {
		// SIGPIPE is taken, too: then a write to a closed pipe gives an error and does not end the program.
		if (!notPassedOn[n] || n == unix.SIGPIPE) && !signal.Ignored(n) {
			signal.Notify(s.arrivals, n)
		}
	}
	return s
}

// targetStarted is called once the target has inherited what it should.
func (s *signals) targetStarted() {
	// A message to a terminal that wants no output from background jobs (stty tostop) must not stop run: nobody would
	// continue it. Ignored, the signal does not keep write(2) from writing.
	signal.Ignore(unix.SIGTTOU)
}

// drop takes a signal out of what has arrived already. Somebody who signals run and then the whole group (timeout(1)
// does) means one signal: without run in between, the two would have fallen together.
func (s *signals) drop(sig syscall.Signal) {
	for range len(s.arrivals) {
		if other := <-s.arrivals; other != sig {
			s.arrivals <- other
		}
	}
}

// release gives the signals back.
func (s *signals) release() { signal.Stop(s.arrivals) }

// stopSelf stops this process by a signal, as its default action would, and returns when it goes on.
func (s *signals) stopSelf(sig syscall.Signal) {
	// To this thread: then the signal is acted upon before the call returns. Sent to the process, another thread would
	// take it, and this one would run on for a while.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if sig != unix.SIGSTOP {
		// Not by signal.Reset, which leaves the handler where it is.
		var byDefault, before sigaction
		if rtSigaction(sig, &byDefault, &before) != nil {
			return
		}
		defer rtSigaction(sig, &before, nil)
	}
	unix.Tgkill(os.Getpid(), unix.Gettid(), sig)
}

// sigaction is struct sigaction as the kernel has it, or longer (arm64 has no restorer). All zero is the default
// action.
type sigaction struct {
	handler, flags, restorer, mask uint64
}

func rtSigaction(sig syscall.Signal, set, old *sigaction) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(set)),
		uintptr(unsafe.Pointer(old)), 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
