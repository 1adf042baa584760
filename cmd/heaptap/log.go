package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/dump"
	"github.com/heaptap/heaptap/internal/launch"
)

// logDelay is how long the events of a run that is logged may stay in the recorder's memory.
const logDelay = 500 * time.Millisecond

// liveLog writes a run's events while the program runs.
type liveLog struct {
	file   *os.File
	follow *dump.Follower
}

// openLog opens what --log names: a file descriptor that was inherited, or else a file.
func openLog(target string) (*liveLog, error) {
	var file *os.File
	if fd, err := strconv.Atoi(target); err == nil && fd >= 0 {
		// A copy: closing it leaves the program's own alone.
		fd, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return nil, fmt.Errorf("--log %s: no such file descriptor is open; for a file of that name: ./%s", target,
				target)
		}
		file = os.NewFile(uintptr(fd), "file descriptor "+target)
	} else if file, err = os.Create(target); err != nil {
		return nil, fmt.Errorf("--log: %w", err)
	}
	return &liveLog{file, dump.NewFollower(file)}, nil
}

// heard is launch.Config.Heard.
func (l *liveLog) heard(rec launch.Recording, finished bool) {
	l.follow.Begin(rec.Path)
	if finished {
		l.follow.End(rec.Path)
	}
}

// close writes the rest. That nobody reads any more is no error; if somebody reads slowly, signals end the wait.
func (l *liveLog) close() error {
	signal.Reset(unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGHUP)
	err := l.follow.Close()
	if closing := l.file.Close(); err == nil {
		err = closing
	}
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}
