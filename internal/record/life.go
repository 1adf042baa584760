package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/spool"
	"golang.org/x/sys/unix"
)

// life tells whether a process that writes to a spool still runs the image that made the spool.
//
// The process id is the process's own, so in a container it may be another one's here. It counts once the process with that
// id was seen to have the AT_RANDOM bytes at the address that the agent told. A process for which that was never seen is held
// for alive as long as anybody maps the spool (see census).
type life struct {
	pid      int
	parent   uint32 // slot of the process that forked it
	random   uint64
	fd       int    // pidfd, or -1
	verified bool   // fd is the process that wrote the spool
	unshared bool   // ids of the processes that it forks mean something else here
	replaced bool   // it has made another spool since
	gone     bool   // it has ended: the next round takes its last records
	over     bool   // and the worker knows
	partial  bool   // not every allocation is recorded, and the worker knows
	when     uint64 // counter when it was found to be gone, 0 if that says nothing
	goneAt   time.Time
	checked  time.Time
	since    time.Time // when it was first in doubt
}

func newLife(p spool.Process) *life {
	l := &life{pid: p.PID, parent: p.Parent, random: p.Random, fd: -1}
	fd, err := unix.PidfdOpen(p.PID, 0)
	switch {
	case err == nil:
		l.fd = fd
		l.verified = l.sameImage()
	case errors.Is(err, unix.ENOSYS):
		l.verified = l.sameImage()
	}
	return l
}

// trusted says whether a process's id means the same here as to itself: it was seen to, or its parent's does and the parent
// has not unshared the ids of its children.
func trusted(lives []*life, l *life) bool {
	switch {
	case l.verified:
		return true
	case l.parent >= uint32(len(lives)) || lives[l.parent] == l: // the first one
		return slices.ContainsFunc(lives, func(o *life) bool { return o.verified })
	}
	parent := lives[l.parent]
	if !parent.unshared && parent.verified {
		theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid_for_children", parent.pid))
		ours, ourErr := os.Readlink("/proc/self/ns/pid")
		parent.unshared = err == nil && ourErr == nil && theirs != ours
	}
	return !parent.unshared && trusted(lives, parent)
}

// check looks whether the process has ended. trusted says that process ids of this spool's processes mean the same here.
func (l *life) check(now time.Time, trusted bool, mapped func(since time.Time) bool) {
	if l.gone {
		return
	}
	if l.replaced || l.ended(now, trusted, mapped) {
		l.gone = true
		l.goneAt = now
		if l.verified {
			l.when = clock.Now() // else it may have ended long ago
		}
	}
}

func (l *life) ended(now time.Time, trusted bool, mapped func(since time.Time) bool) bool {
	if !l.verified {
		// It may have been dead already when it was first looked at, and a zombie shows nothing to verify.
		if trusted && (l.fd >= 0 && readable(l.fd) || l.fd < 0 && !exists(l.pid)) {
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
	if l.fd >= 0 {
		if readable(l.fd) {
			return true
		}
	} else if !exists(l.pid) {
		return true
	}
	if now.Sub(l.checked) < 50*time.Millisecond {
		return false
	}
	l.checked = now
	random, ok := auxRandom(l.pid)
	return ok && random != l.random
}

// readable says whether a pidfd's process has ended.
func readable(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0
}

// sameImage says whether the process with that id has the random bytes where the agent has seen them.
func (l *life) sameImage() bool {
	random, ok := auxRandom(l.pid)
	return ok && random == l.random
}

func (l *life) close() {
	if l.fd >= 0 {
		_ = unix.Close(l.fd)
		l.fd = -1
	}
}

// auxRandom returns the address of a process's random bytes, which differs between images.
func auxRandom(pid int) (uint64, bool) {
	b, err := readProc(pid, "auxv")
	if err != nil {
		return 0, false
	}
	return randomIn(b)
}

// randomIn finds it in an auxiliary vector.
func randomIn(b []byte) (uint64, bool) {
	const atRandom = 25
	for ; len(b) >= 16; b = b[16:] {
		if binary.LittleEndian.Uint64(b) == atRandom {
			return binary.LittleEndian.Uint64(b[8:]), true
		}
	}
	return 0, false
}
