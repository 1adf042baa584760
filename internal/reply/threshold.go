package reply

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/heaptap/heaptap/internal/control"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/view"
)

// The command of a threshold is killed after ThresholdTime, unless the user sets another time. The thread that waits
// for it waits ThresholdGrace longer: finding and naming the call stack takes a while in very large programs.
const (
	ThresholdTime  = 5 * time.Second
	ThresholdGrace = 10 * time.Second
)

// maxCommandOutput is how much of a command's output is passed on.
const maxCommandOutput = 64 << 10

// Threshold returns the call stack of the allocation at which a threshold acts, and the output of its command. The
// allocating thread waits for both.
func Threshold(ctx context.Context, recording string, r control.Request, command string, most time.Duration) ([]byte,
	error) {
	s, err := query.Open(recording)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var out bytes.Buffer
	if err := view.Stack(&out, s, r.Stack); err != nil {
		return nil, err
	}
	if command != "" {
		runCommand(ctx, &out, command, r, cmp.Or(most, ThresholdTime))
	}
	return out.Bytes(), nil
}

// runCommand runs a command with a shell, and kills its process group when the time is over.
func runCommand(ctx context.Context, out *bytes.Buffer, command string, r control.Request, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Env = append(os.Environ(), fmt.Sprintf("HEAPTAP_PID=%d", r.PID), fmt.Sprintf("HEAPTAP_TID=%d", r.TID))
	for _, word := range strings.Fields(r.Text) {
		if name, value, ok := strings.Cut(word, "="); ok && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") == "" {
			cmd.Env = append(cmd.Env, "HEAPTAP_"+strings.ToUpper(name)+"="+value)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 100 * time.Millisecond
	printed := &firstBytes{to: out, room: maxCommandOutput}
	cmd.Stdout, cmd.Stderr = printed, printed
	err := cmd.Run()
	if printed.last != 0 && printed.last != '\n' {
		out.WriteByte('\n')
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		fmt.Fprintf(out, "heaptap: threshold: the command was ended after %v; timeout= gives it more\n", most)
	case err != nil:
		fmt.Fprintf(out, "heaptap: threshold: the command failed: %v\n", err)
	}
}

// firstBytes passes on only the first bytes written to it.
type firstBytes struct {
	to   *bytes.Buffer
	room int
	last byte // the last one that was passed on
}

func (f *firstBytes) Write(p []byte) (int, error) {
	if n := min(len(p), f.room); n > 0 {
		f.room -= n
		f.last = p[n-1]
		f.to.Write(p[:n])
	}
	return len(p), nil
}
