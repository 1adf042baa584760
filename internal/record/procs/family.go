package procs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/sleep"
	"golang.org/x/sys/unix"
)

// Family knows which processes the launcher's target has forked, directly or not. The kernel reports each fork to root
// before the child runs (its process connector), so that members are known however short their parents lived. Where it
// reports none (in containers), processes are added when they are met, together with those between them and a member.
type Family struct {
	mu      sync.Mutex
	members map[int]member
	forks   int // the socket to which the kernel reports forks; -1: there is none
}

// member is a process of the family.
type member struct {
	born     int64 // when it was started, in ticks of /proc
	reported bool  // the kernel has reported it, and will report when another process gets its id; born is near
}

const (
	tick = 10 * time.Millisecond // of /proc
	near = 3                     // ticks by which the time of a fork and that of /proc may differ
)

// NewFamily is the family of a process, which is a member.
func NewFamily(founder int) *Family {
	f := &Family{members: map[int]member{}, forks: -1}
	if fd, err := listenForks(); err == nil {
		f.forks = fd
	}
	f.Add(founder)
	return f
}

// Add makes a process that is known to be the run's a member.
func (f *Family) Add(pid int) {
	if f == nil || pid <= 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(pid)
}

func (f *Family) put(pid int) {
	if _, born, ok := parentOf(pid); ok {
		f.members[pid] = member{born: born}
	}
}

// Has says whether a process is a member.
func (f *Family) Has(pid int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.catchUp()
	// A process with a member among its ancestors is a member.
	line := []int{}
	for at := pid; at > 1 && len(line) < 128; {
		parent, born, ok := parentOf(at)
		if m, is := f.members[at]; is && (m.reported || ok && m.born == born) {
			for _, p := range line {
				f.put(p)
			}
			return true
		}
		if !ok {
			return false
		}
		line = append(line, at)
		at = parent
	}
	return false
}

// Follow reads what the kernel reports, so that its queue does not overflow, until some time after stop is closed.
// Afterwards no more forks are known.
func (f *Family) Follow(stop <-chan struct{}) {
	f.mu.Lock()
	fd := f.forks
	f.mu.Unlock()
	if fd < 0 {
		return
	}
	nap := sleep.New()
	defer nap.Close()
	for over, forks := false, false; !over; {
		if !forks { // else there will be more: a system call that waits costs more than a sleep
			fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, _ := unix.Poll(fds, 10000)
			forks = n > 0
		}
		if forks { // where others fork all the time, not for each of them: the buffer holds thousands
			nap.For(100 * time.Millisecond)
		}
		f.mu.Lock()
		forks = forks && f.catchUp()
		select {
		case <-stop:
			_ = unix.Close(fd)
			f.forks = -1
			over = true
		default:
		}
		f.mu.Unlock()
	}
}

// catchUp reads all that the kernel has reported. It is false if that is nothing.
func (f *Family) catchUp() (any bool) {
	var b [4096]byte
	for f.forks >= 0 {
		var from unix.RawSockaddrNetlink
		size := uint32(unsafe.Sizeof(from))
		// It does not wait, so Go's scheduler need not know of it.
		n, _, err := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(f.forks), uintptr(unsafe.Pointer(&b)),
			uintptr(len(b)), unix.MSG_DONTWAIT, uintptr(unsafe.Pointer(&from)), uintptr(unsafe.Pointer(&size)))
		switch err {
		case 0:
			any = true
		case unix.EINTR:
			continue
		case unix.ENOBUFS:
			f.overrun()
			continue
		default:
			return any
		}
		if size != uint32(unsafe.Sizeof(from)) || from.Family != unix.AF_NETLINK || from.Pid != 0 {
			continue // not the kernel
		}
		if parent, child, at, ok := forkIn(b[:n]); ok {
			f.forked(parent, child, at)
		}
	}
	return any
}

// forked notes that a process has forked another one, at a time since the machine was started.
func (f *Family) forked(parent, child int, at time.Duration) {
	if _, ours := f.members[parent]; ours {
		f.members[child] = member{born: int64(at / tick), reported: true}
	} else {
		delete(f.members, child) // the id of one that has ended
	}
}

// overrun is called when the kernel has dropped reports: some members may have ended, and their ids may be others' by
// now.
func (f *Family) overrun() {
	for pid, m := range f.members {
		if _, born, ok := parentOf(pid); ok && (m.reported && max(born-m.born, m.born-born) <= near || born == m.born) {
			f.members[pid] = member{born: born}
		} else {
			delete(f.members, pid)
		}
	}
}

// parentOf returns a process's parent, and when it was started.
func parentOf(pid int) (parent int, born int64, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, false
	}
	_, rest, _ := strings.Cut(string(b[max(0, bytes.LastIndexByte(b, ')')):]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return 0, 0, false
	}
	parent, err1 := strconv.Atoi(fields[1])
	born, err2 := strconv.ParseInt(fields[19], 10, 64)
	return parent, born, err1 == nil && err2 == nil
}

// The kernel's process connector (linux/cn_proc.h).
const (
	connectorProc   = 1 // CN_IDX_PROC, CN_VAL_PROC, and the multicast group
	connectorListen = 1 // PROC_CN_MCAST_LISTEN
	eventFork       = 1 // PROC_EVENT_FORK
	forksBuffer     = 8 << 20
)

// listenForks has the kernel report forks, if it does so to this process.
func listenForks() (fd int, err error) {
	fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_CONNECTOR)
	if err != nil {
		return -1, err
	}
	if err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: connectorProc}); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, forksBuffer)
	// With a list of events, which kernels before 6.6 do not know and do not answer; then without.
	for _, order := range [][]byte{{connectorListen, 0, 0, 0, eventFork, 0, 0, 0}, {connectorListen, 0, 0, 0}} {
		to := &unix.SockaddrNetlink{Family: unix.AF_NETLINK}
		if err = unix.Sendto(fd, connectorMessage(order), 0, to); err != nil {
			break
		}
		if acknowledged(fd) {
			return fd, nil
		}
		err = unix.ENOTSUP
	}
	_ = unix.Close(fd)
	return -1, err
}

func connectorMessage(data []byte) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+20+len(data)))
	b = le.AppendUint16(b, unix.NLMSG_DONE)
	b = append(b, make([]byte, 10)...) // flags, sequence, sender
	b = le.AppendUint32(b, connectorProc)
	b = le.AppendUint32(b, connectorProc)
	b = append(b, make([]byte, 8)...) // sequence, acknowledgement
	b = le.AppendUint16(b, uint16(len(data)))
	b = append(b, 0, 0)
	return append(b, data...)
}

// acknowledged waits for the kernel's answer, which comes at once if at all: an event of no kind that says whether
// there was an error. Events may come before it; none of them is about a member, since there is none yet.
func acknowledged(fd int) bool {
	deadline := time.Now().Add(5 * time.Millisecond)
	for time.Now().Before(deadline) {
		var b [4096]byte
		n, _, err := unix.Recvfrom(fd, b[:], unix.MSG_DONTWAIT)
		if err == nil {
			if e := eventIn(b[:n]); len(e) >= 20 && binary.LittleEndian.Uint32(e) == 0 {
				return binary.LittleEndian.Uint32(e[16:]) == 0
			}
			continue
		}
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		_, _ = unix.Poll(fds, 1)
	}
	return false
}

// eventIn returns the event of a message: its kind, a processor, a time, and what belongs to the kind.
func eventIn(b []byte) []byte {
	const head = unix.SizeofNlMsghdr + 20
	if len(b) < head || binary.LittleEndian.Uint32(b[unix.SizeofNlMsghdr:]) != connectorProc {
		return nil
	}
	return b[head:]
}

// forkIn reads the event of a fork: which process has forked which, and when. ok is false for a new thread.
func forkIn(b []byte) (parent, child int, at time.Duration, ok bool) {
	e := eventIn(b)
	le := binary.LittleEndian
	if len(e) < 32 || le.Uint32(e) != eventFork {
		return 0, 0, 0, false
	}
	// The event's time does not count while the machine is suspended; that of /proc does.
	var boot unix.Timespec
	_, _, _ = unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_BOOTTIME, uintptr(unsafe.Pointer(&boot)), 0)
	at = time.Duration(le.Uint64(e[8:])) + time.Duration(boot.Nano()-int64(clock.Monotonic()))
	thread, process := le.Uint32(e[24:]), le.Uint32(e[28:])
	return int(le.Uint32(e[20:])), int(process), at, thread == process
}
