package launch

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/heaptap/heaptap/internal/sleep"
	"golang.org/x/sys/unix"
)

// stopWatch keeps run and target together when only one of them is stopped or continued. Run cannot do it: a stopped
// process does nothing, and SIGSTOP asks nobody. So the recorder does.
//
//   - Run has stopped because the target had, and now the target runs again or has ended (SIGCONT or SIGKILL was sent
//     to the target alone): run must continue, or nobody would ever learn of the target's end.
//   - Run was stopped by SIGSTOP, sent to it alone: whoever did so meant the program, so the target is stopped, too.
//     When run goes on, it lets the target go on.
type stopWatch struct {
	run int
	nap *sleep.Sleeper

	mu       sync.Mutex
	main     int
	byTarget bool // run said that it stops because the target did
}

func (w *stopWatch) target(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.main = pid
}

func (w *stopWatch) announced(stopped bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.byTarget = stopped
}

func (w *stopWatch) forget() {
	w.target(-1)
	w.nap.Wake()
}

// run1 looks from time to time until forget is called. Only what holds twice in a row is acted upon.
func (w *stopWatch) run1() {
	const pause, again = 500 * time.Millisecond, 150 * time.Millisecond
	defer w.nap.Close()
	wake, hold := 0, 0
	for next := pause; ; {
		w.nap.For(next)
		w.mu.Lock()
		main, byTarget := w.main, w.byTarget
		w.mu.Unlock()
		if main < 0 {
			return
		}
		if main == 0 || processState(w.run) != 'T' {
			wake, hold, next = 0, 0, pause
			continue
		}
		next = again
		state := processState(main)
		switch {
		case state == 'T':
			wake, hold = 0, 0
		case byTarget:
			if wake++; wake >= 2 {
				unix.Kill(w.run, unix.SIGCONT)
				wake = 0
			}
		case state != 0 && state != 'Z' && state != 't':
			if hold++; hold >= 2 {
				unix.Kill(main, unix.SIGSTOP)
				hold = 0
			}
		}
	}
}

// leaveDescriptors closes what run's caller had open and run therefore passed on: a recorder that outlives run must not
// keep a pipe open that somebody waits on. What this program opened itself is close-on-exec, and stays.
func leaveDescriptors() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(filepath.Base(e.Name()))
		if err != nil || fd <= recorderFD {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
	if null, err := openNull(); err == nil {
		for fd := range 2 {
			unix.Dup2(int(null.Fd()), fd)
		}
		null.Close()
	}
	unix.CloseOnExec(recorderFD)
}
