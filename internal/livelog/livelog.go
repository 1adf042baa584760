// Package livelog prints the events of a run while its programs run, as heaptap log prints those of a recording:
// heaptap run --log.
package livelog

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

// Delay is how long recorded events may stay in the recorder's memory while they are logged.
const Delay = 500 * time.Millisecond

// Log prints the events of a run's recordings.
type Log struct {
	file   *os.File
	follow *dump.Follower
}

// Open opens where the events go to: the inherited file descriptor of that number, or else a file of that name.
func Open(target string) (*Log, error) {
	var file *os.File
	if fd, err := strconv.Atoi(target); err == nil && fd >= 0 {
		// A copy: the program keeps its own when the log is closed.
		fd, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return nil, fmt.Errorf("--log %s: no such file descriptor is open; for a file of that name: ./%s", target,
				target)
		}
		file = os.NewFile(uintptr(fd), "file descriptor "+target)
	} else if file, err = os.Create(target); err != nil {
		return nil, fmt.Errorf("--log: %w", err)
	}
	return &Log{file, dump.NewFollower(file)}, nil
}

// OnRecording is for launch.Config.OnRecording: it follows a recording that begins, up to its end.
func (l *Log) OnRecording(rec launch.Recording, finished bool) {
	l.follow.Begin(rec.Path)
	if finished {
		l.follow.End(rec.Path)
	}
}

// Close prints what is left. That nobody reads any more is not an error. If somebody reads slowly, a signal ends the
// program, and so the wait.
func (l *Log) Close() error {
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
