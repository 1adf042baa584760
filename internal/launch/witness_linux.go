package launch

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// witness is a process in run's group that blocks every signal and never takes one: what is pending for it was sent to
// the whole group.
//
// A signal that a process sends to run alone must be passed on to the target; one that it sends to the group (`kill %1`
// in a shell, timeout(1), a hang-up, the target's own `kill 0`) has reached the target already. The kernel describes
// both in the same words. Passing on the second kind would make of one SIGTERM two, and many programs take the second
// one as "now".
type witness struct {
	pid  int
	ask  *os.File // a byte: forget the signal of that number. Its end: end.
	done *os.File // a byte: forgotten
}

// allSignals is every signal but SIGKILL and SIGSTOP, which cannot be blocked.
const allSignals = ^uint64(0) &^ (1<<(uint(unix.SIGKILL)-1) | 1<<(uint(unix.SIGSTOP)-1))

func sigprocmask(set, old *uint64) {
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(set)),
		uintptr(unsafe.Pointer(old)), 8, 0, 0)
}

type witnessArgs struct {
	ask, done int
	set, one  uint64
	zero      unix.Timespec
	name      [16]byte
	b         byte
}

// newWitness forks a witness. It stays a copy of this process without exec, running nothing but witnessMain: its memory
// is shared with ours until we change it.
func newWitness() (*witness, error) {
	var ask, done [2]int
	if err := unix.Pipe2(ask[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	if err := unix.Pipe2(done[:], unix.O_CLOEXEC); err != nil {
		unix.Close(ask[0])
		unix.Close(ask[1])
		return nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	a := witnessArgs{ask: ask[0], done: done[1], set: allSignals}
	copy(a.name[:], "heaptap-witness") // so that `killall heaptap` does not name it
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before uint64
	sigprocmask(&a.set, &before)
	syscall.ForkLock.Lock()
	pid, errno := forkWitness(&a)
	syscall.ForkLock.Unlock()
	sigprocmask(&before, nil)
	unix.Close(ask[0])
	unix.Close(done[1])
	if errno != 0 {
		unix.Close(ask[1])
		unix.Close(done[0])
		return nil, fmt.Errorf("cannot fork: %w", errno)
	}
	return &witness{pid: int(pid), ask: os.NewFile(uintptr(ask[1]), "witness"),
		done: os.NewFile(uintptr(done[0]), "witness")}, nil
}

// forkWitness forks; the child does not return. It is the only thread there is, and the Go runtime does not know of it:
// as in package syscall's forkAndExecInChild, nothing may allocate, be instrumented or grow the stack.
//
//go:norace
//go:nosplit
//go:noinline
func forkWitness(a *witnessArgs) (pid uintptr, errno syscall.Errno) {
	pid, _, errno = syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_NAME, uintptr(unsafe.Pointer(&a.name)), 0)
	// Nobody's pipe may stay open because of us: keep the two descriptors as 0 and 1 and no others. (They are moved out
	// of the way first, in case run was started with 0 or 1 closed.)
	in, _, _ := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(a.ask), syscall.F_DUPFD, 10)
	out, _, _ := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(a.done), syscall.F_DUPFD, 10)
	syscall.RawSyscall(syscall.SYS_DUP3, in, 0, 0)
	syscall.RawSyscall(syscall.SYS_DUP3, out, 1, 0)
	if _, _, e := syscall.RawSyscall(unix.SYS_CLOSE_RANGE, 2, 1<<31, 0); e != 0 {
		for fd := uintptr(2); fd < 65536; fd++ {
			syscall.RawSyscall(syscall.SYS_CLOSE, fd, 0, 0)
		}
	}
	for {
		n, _, e := syscall.RawSyscall(syscall.SYS_READ, 0, uintptr(unsafe.Pointer(&a.b)), 1)
		if e == syscall.EINTR {
			continue
		}
		if n != 1 {
			break // run has ended
		}
		a.one = 1 << ((a.b - 1) & 63)
		for {
			if _, _, e := syscall.RawSyscall6(unix.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&a.one)), 0,
				uintptr(unsafe.Pointer(&a.zero)), 8, 0, 0); e != 0 && e != syscall.EINTR {
				break
			}
		}
		syscall.RawSyscall(syscall.SYS_WRITE, 1, uintptr(unsafe.Pointer(&a.b)), 1)
	}
	for {
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
	}
}

// saw reports whether the signal went to the whole group, and forgets it.
func (w *witness) saw(sig syscall.Signal) bool {
	if w == nil {
		return false
	}
	// The kernel hands a signal to the members of a group one after the other; it is done long before this.
	time.Sleep(2 * time.Millisecond)
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.pid))
	if err != nil {
		return false
	}
	var pending uint64
	for line := range strings.SplitSeq(string(b), "\n") {
		if text, ok := strings.CutPrefix(line, "ShdPnd:"); ok {
			pending, _ = strconv.ParseUint(strings.TrimSpace(text), 16, 64)
		}
	}
	if pending&(1<<(uint(sig)-1)) == 0 {
		return false
	}
	w.forget(sig) // no other: it may have come since, and its turn comes
	return true
}

// forget takes away that a signal is pending for the witness.
func (w *witness) forget(sig syscall.Signal) {
	if _, err := w.ask.Write([]byte{byte(sig)}); err != nil {
		return
	}
	// It answers at once, unless somebody stopped it.
	var b [1]byte
	fds := []unix.PollFd{{Fd: int32(w.done.Fd()), Events: unix.POLLIN}}
	if n, _ := unix.Poll(fds, 1000); n > 0 {
		w.done.Read(b[:])
	}
}

// end lets the witness go.
func (w *witness) end() {
	if w == nil {
		return
	}
	w.ask.Close()
	w.done.Close()
	unix.Kill(w.pid, unix.SIGKILL)
	var status unix.WaitStatus
	for {
		if _, err := unix.Wait4(w.pid, &status, 0, nil); err != unix.EINTR {
			return
		}
	}
}
