package procs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/procfs"
	"golang.org/x/sys/unix"
)

// Life says whether a process that writes to a spool still runs the image that made the spool.
//
// The process id is the process's own, so in a container it may be another process's id here. It counts once the
// process with that id was seen to have the AT_RANDOM bytes at the address that the agent reported. A process for which
// that was never seen counts as alive as long as anybody has the spool mapped (see Census).
type Life struct {
	PID      int
	Random   uint64
	Verified bool // the process with that id is the one that wrote the spool
	Replaced bool // set by the caller: the process has made another spool since
	Gone     bool // it has ended: the next round takes its last records
	GoneAt   time.Time
	When     uint64 // counter when it was found to be gone, 0 if that says nothing

	peers    *Peers
	parent   uint32 // slot of the process that forked it
	fd       int    // pidfd, or -1
	unshared bool   // ids of the processes that it forks mean something else here
	checked  time.Time
	since    time.Time // when it was first in doubt
}

// Peers are the processes of one spool, by slot.
type Peers struct{ list []*Life }

// Add begins to follow the next process of a spool.
func (p *Peers) Add(pid int, parent uint32, random uint64) *Life {
	l := &Life{PID: pid, Random: random, peers: p, parent: parent, fd: -1}
	err := l.open()
	l.Verified = (err == nil || errors.Is(err, unix.ENOSYS)) && l.SameImage()
	p.list = append(p.list, l)
	return l
}

// AddUnknown adds a process that is not followed, as when a spool is converted after its end.
func (p *Peers) AddUnknown(pid int) *Life {
	l := &Life{PID: pid, peers: p, fd: -1}
	p.list = append(p.list, l)
	return l
}

// Started follows a process that was started by heaptap itself: there is nothing to verify.
func Started(pid int) *Life {
	l := &Life{PID: pid, Verified: true, fd: -1}
	_ = l.open() // without a pidfd, the id says whether it lives
	return l
}

func (l *Life) open() error {
	fd, err := unix.PidfdOpen(l.PID, 0)
	if err == nil {
		l.fd = fd
	}
	return err
}

// trusted says whether a process's id means the same here as to itself: it was seen to, or its parent's does and the
// parent has not unshared the ids of its children.
func (p *Peers) trusted(l *Life) bool {
	switch {
	case l.Verified:
		return true
	case l.parent >= uint32(len(p.list)) || p.list[l.parent] == l: // the first one
		return slices.ContainsFunc(p.list, func(o *Life) bool { return o.Verified })
	}
	parent := p.list[l.parent]
	if !parent.unshared && parent.Verified {
		theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid_for_children", parent.PID))
		ours, ourErr := os.Readlink("/proc/self/ns/pid")
		parent.unshared = err == nil && ourErr == nil && theirs != ours
	}
	return !parent.unshared && p.trusted(parent)
}

// Check looks whether the process has ended. mapped says whether anybody has had the spool mapped since a moment.
func (l *Life) Check(now time.Time, mapped func(since time.Time) bool) {
	if l.Gone {
		return
	}
	if l.Replaced || l.ended(now, mapped) {
		l.Gone = true
		l.GoneAt = now
		if l.Verified {
			l.When = clock.Now() // else it may have ended long ago
		}
	}
}

func (l *Life) ended(now time.Time, mapped func(since time.Time) bool) bool {
	if !l.Verified {
		// It may have been dead already when it was first looked at, and a zombie shows nothing to verify.
		// In this order: a parent shows its namespace only while it lives.
		if trusted := l.peers.trusted(l); trusted && l.Exited() {
			return true
		}
		if l.since.IsZero() {
			l.since = now
		}
		// Each answer takes a look at all processes.
		if now.Sub(l.since) > 5*time.Second && now.Sub(l.checked) < time.Second {
			return false
		}
		l.checked = now
		return !mapped(l.since)
	}
	if l.Exited() {
		return true
	}
	if now.Sub(l.checked) < 50*time.Millisecond {
		return false
	}
	l.checked = now
	random, ok := Random(l.PID)
	return ok && random != l.Random
}

// Exited says whether the process with that id, as it is known here, has ended.
func (l *Life) Exited() bool {
	if l.fd >= 0 {
		return readable(l.fd)
	}
	return !exists(l.PID)
}

// FD is a descriptor that becomes readable when the process ends; -1 if there is none.
func (l *Life) FD() int { return l.fd }

// SameImage says whether the process with that id has the random bytes where the agent has seen them.
func (l *Life) SameImage() bool {
	random, ok := Random(l.PID)
	return ok && random == l.Random
}

// Close stops following the process.
func (l *Life) Close() {
	if l.fd >= 0 {
		_ = unix.Close(l.fd)
		l.fd = -1
	}
}

// readable says whether a pidfd's process has ended.
func readable(fd int) bool {
	fds := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	var now unix.Timespec
	// It does not wait, so Go's scheduler need not know of it.
	n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), 1,
		uintptr(unsafe.Pointer(&now)), 0, 0, 0)
	return errno == 0 && n > 0
}

// Random returns the address of a process's random bytes, which differs between images.
func Random(pid int) (uint64, bool) {
	var buf [1024]byte
	if random, ok := RandomIn(procfs.ReadNow("/proc/"+strconv.Itoa(pid)+"/auxv", buf[:])); ok {
		return random, true
	}
	b, err := readProc(pid, "auxv")
	if err != nil {
		return 0, false
	}
	return RandomIn(b)
}

// RandomIn finds that address in an auxiliary vector.
func RandomIn(b []byte) (uint64, bool) {
	const atRandom = 25
	for ; len(b) >= 16; b = b[16:] {
		if binary.LittleEndian.Uint64(b) == atRandom {
			return binary.LittleEndian.Uint64(b[8:]), true
		}
	}
	return 0, false
}
