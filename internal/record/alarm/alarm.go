// Package alarm wakes the drain. It sleeps until an agent runs short of chunks, a request comes, a process ends, the
// run's folder changes, or another goroutine rings.
//
// The rule: no ring is lost. What rings while the drain is awake keeps it from falling asleep.
//
// The drain sleeps on a sleep.Sleeper. Another goroutine listens to the agents, in a system call that lasts until one
// of them rings. Were the drain itself in that call, again and again for some milliseconds, then Go's sysmon would look
// 10,000 times a second whether it takes too long.
package alarm

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heaptap/heaptap/internal/record/procs"
	"github.com/heaptap/heaptap/internal/sleep"
	"github.com/heaptap/heaptap/internal/spool"
	"golang.org/x/sys/unix"
)

// Alarm is what the drain sleeps on. nil is none: nothing sleeps.
type Alarm struct {
	drain *sleep.Sleeper

	mu        sync.Mutex
	spools    []*spool.Spool // whose agents can wake the drain
	listening bool           // to these, in hear, which then has the listener
	listener  spool.Listener
	listen    chan struct{} // has hear begin
	out       sync.Cond     // hear has ended
	deaf      atomic.Bool   // the system cannot wait for these

	epoll, folder, stop int // descriptors; epoll is -1 if nothing can be watched
	watched             bool
}

// New returns an alarm that watches a run's folder.
func New(runDir string) *Alarm {
	a := &Alarm{drain: sleep.New(), listen: make(chan struct{}, 1), folder: -1, stop: -1}
	a.out.L = &a.mu
	var err error
	if a.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		a.epoll = -1
		return a
	}
	// Without it, as where a user has too many of its kind, the drain looks at the folder from time to time.
	if a.folder, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err == nil {
		_, err = unix.InotifyAddWatch(a.folder, runDir, unix.IN_CREATE|unix.IN_MOVED_TO)
		a.watched = err == nil && a.watch(a.folder, unix.EPOLLIN)
	}
	if a.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC); err != nil || !a.watch(a.stop, unix.EPOLLIN) {
		a.watched = false
		_ = unix.Close(a.epoll)
		a.epoll = -1
	}
	return a
}

// Watched says whether the run's folder is watched.
func (a *Alarm) Watched() bool { return a.watched }

// Deaf says whether the system cannot wait for the agents: they cannot wake the drain.
func (a *Alarm) Deaf() bool { return a.deaf.Load() }

// watch has the alarm ring when a descriptor becomes readable, until it is closed.
func (a *Alarm) watch(fd int, events uint32) bool {
	e := unix.EpollEvent{Events: events, Fd: int32(fd)}
	return a.epoll >= 0 && unix.EpollCtl(a.epoll, unix.EPOLL_CTL_ADD, fd, &e) == nil
}

// WatchEnd has the alarm ring, once, when a process ends. It is false if it cannot.
func (a *Alarm) WatchEnd(l *procs.Life) bool {
	return a != nil && l.FD() >= 0 && a.watch(l.FD(), unix.EPOLLIN|unix.EPOLLONESHOT)
}

// Serve rings for what is watched, until End is called.
func (a *Alarm) Serve() {
	var listener sync.WaitGroup
	listener.Go(a.hear)
	defer listener.Wait()
	if a.epoll < 0 {
		return
	}
	var events [16]unix.EpollEvent
	var changes [4096]byte
	for {
		n, err := unix.EpollWait(a.epoll, events[:], -1)
		if err != nil && err != unix.EINTR {
			return
		}
		for _, e := range events[:max(n, 0)] {
			switch int(e.Fd) {
			case a.stop:
				return
			case a.folder:
				for n := 1; n > 0; { // which they are, the drain sees for itself
					n, _ = unix.Read(a.folder, changes[:])
				}
			}
		}
		a.Ring()
	}
}

// End has Serve return.
func (a *Alarm) End() {
	a.mu.Lock()
	a.interrupt()
	a.mu.Unlock()
	close(a.listen)
	if a.stop >= 0 {
		_, _ = unix.Write(a.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

// Close gives back what End and Serve need. Serve has to have returned.
func (a *Alarm) Close() {
	a.drain.Close()
	for _, fd := range []int{a.epoll, a.stop} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	if a.folder >= 0 {
		// The kernel takes 10 ms: it waits until no processor can be about to report a change.
		go func() { _ = unix.Close(a.folder) }()
	}
}

// Ring wakes the drain, or keeps it from falling asleep.
func (a *Alarm) Ring() {
	if a != nil {
		a.drain.Wake()
	}
}

// hear rings for the agents, at most once for each time that the drain sleeps: what they write does not keep it busy.
func (a *Alarm) hear() {
	for range a.listen {
		heard := a.listener.Wait(patience)
		a.deaf.Store(!heard)
		a.mu.Lock()
		a.listening = false
		a.out.Broadcast()
		a.mu.Unlock()
		if heard {
			a.Ring()
		}
	}
}

// patience bounds how long the listener waits at a time: a spool that was cut short does not ring.
const patience = 10 * time.Second

// interrupt has the listener stop waiting; a.mu is held.
func (a *Alarm) interrupt() {
	for a.listening {
		a.listener.Interrupt()
		for _, s := range a.spools {
			s.Ring()
		}
		a.out.Wait()
	}
}

// Ignore has a spool not be listened to: it is to be closed.
func (a *Alarm) Ignore(s *spool.Spool) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := slices.Index(a.spools, s); i >= 0 {
		a.interrupt()
		a.spools = slices.Delete(a.spools, i, i+1)
	}
}

// deafNap bounds how long the drain sleeps where no agent can wake it. An agent short of chunks gives the recorder up
// after 200 ms.
const deafNap = 50 * time.Millisecond

// Wait sleeps until Ring is called or an agent of one of the spools wakes the recorder, at most for the given time. A
// spool that it was given must not be closed before Ignore.
func (a *Alarm) Wait(spools []*spool.Spool, d time.Duration) {
	a.mu.Lock()
	if !slices.Equal(spools, a.spools) {
		a.interrupt()
		a.spools = append(a.spools[:0], spools...)
	}
	if !a.listening && len(spools) > 0 {
		// Before an agent can see that the recorder sleeps, and ring.
		if a.listening = a.listener.Listen(spools); a.listening {
			a.listen <- struct{}{}
		} else {
			a.deaf.Store(true)
		}
	}
	a.mu.Unlock()
	if a.deaf.Load() && len(spools) > 0 {
		d = min(d, deafNap)
	}
	for _, s := range spools {
		s.Sleeps(true)
	}
	a.drain.For(d) // what was rung for is looked at from here on
	for _, s := range spools {
		s.Sleeps(false)
	}
}

// Heard passes on what comes from a channel, and rings for it, until stop is closed.
func Heard[T any](in <-chan T, a *Alarm, stop <-chan struct{}) <-chan T {
	if in == nil {
		return nil
	}
	out := make(chan T, 64)
	go func() {
		defer a.Ring()
		defer close(out)
		for {
			select {
			case v, ok := <-in:
				if !ok {
					return
				}
				select {
				case out <- v:
				case <-stop:
					return
				}
				a.Ring()
			case <-stop:
				return
			}
		}
	}()
	return out
}
