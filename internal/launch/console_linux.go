package launch

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/escape"
)

// Console writes run's messages to stderr, which the target shares. It never waits long for a reader: a full pipe must
// not keep run from ending. It uses the system call, because package os would end the program by SIGPIPE at a closed
// pipe.
type Console struct {
	fd        int
	Terminal  bool
	Quiet     bool // no messages except warnings
	patience  time.Duration
	dead      bool
	transient bool // the cursor stands behind a progress line
}

// NewConsole makes a console of a descriptor.
func NewConsole(f *os.File) *Console {
	fd := int(f.Fd())
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return &Console{fd: fd, Terminal: err == nil, patience: 2 * time.Second}
}

// Write writes all of b. If nothing can be written for patience, it and all later calls discard what is left.
func (c *Console) Write(b []byte) (int, error) {
	n := len(b)
	deadline := time.Now().Add(c.patience)
	for len(b) > 0 {
		if c.dead {
			return n, nil
		}
		fds := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLOUT}}
		left := time.Until(deadline)
		if left <= 0 {
			c.dead = true
			continue
		}
		ready, err := unix.Poll(fds, int(left.Milliseconds())+1)
		if err == unix.EINTR || ready == 0 {
			continue
		}
		if err != nil || fds[0].Revents&(unix.POLLERR|unix.POLLNVAL) != 0 {
			c.dead = true
			continue
		}
		// A pipe that is writable takes PIPE_BUF bytes at once.
		w, err := unix.Write(c.fd, b[:min(len(b), 4096)])
		if err == unix.EINTR || err == unix.EAGAIN {
			continue
		}
		if err != nil {
			c.dead = true
			continue
		}
		b = b[w:]
		deadline = time.Now().Add(c.patience)
	}
	return n, nil
}

// Say writes one line that begins with the program's name, unless Quiet is set.
func (c *Console) Say(format string, args ...any) {
	if !c.Quiet {
		c.Warn(format, args...)
	}
}

// Warn writes one line that begins with the program's name.
func (c *Console) Warn(format string, args ...any) {
	c.Clear()
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")
	fmt.Fprintf(c, "heaptap: %s\n", escape.Terminal(text))
}

// Progress shows a line that the next one replaces, on terminals only.
func (c *Console) Progress(text string) {
	if c.Terminal && !c.Quiet {
		c.Clear()
		fmt.Fprintf(c, "heaptap: %.90s", escape.Terminal(text))
		c.transient = true
	}
}

// Clear removes a progress line.
func (c *Console) Clear() {
	if c.transient {
		c.transient = false
		fmt.Fprint(c, "\r\x1b[K")
	}
}
