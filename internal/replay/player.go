package replay

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/heaptap/heaptap/agent"
	"github.com/heaptap/heaptap/internal/limited"
)

// Touch says which memory of a block the player writes to.
type Touch string

// What can be touched.
const (
	TouchNone  Touch = "none"
	TouchFirst Touch = "first" // the first byte of each block
	TouchAll   Touch = "all"   // all of its pages
	// TouchRecorded touches those that were in memory, if the recording says so.
	TouchRecorded Touch = "recorded"
)

// Touches are all of them.
var Touches = []string{string(TouchNone), string(TouchFirst), string(TouchAll), string(TouchRecorded)}

// mode is what a run of the player is for.
type mode string

const (
	modeTime    mode = "time"
	modeLatency mode = "latency"
	modeMemory  mode = "memory"
	modeCalls   mode = "calls"
)

// The player's result, as agent/player/plan.h lays it out.
const (
	calls       = 6
	sizeClasses = 8
	buckets     = 512
)

// times are those of calls of one kind and class, in cycles.
type times struct {
	Sum, Most uint64
	Buckets   [buckets]uint64
}

// outcome is struct result.
type outcome struct {
	Status, Threads                  uint32
	Detail                           uint64
	Text, Version                    [128]byte
	Library                          [512]byte
	Progress                         uint64
	BeginNS, EndNS, BeginTSC, EndTSC uint64
	Calls                            [calls]uint64
	CPU, Wait, WaitCPU, Waits        uint64
	ProcessCPU                       uint64
	MinorFaults, MajorFaults         uint64
	RSSStart, RSSEnd, RSSFreed       uint64
	PSSEnd, RSSPeak, Tables          uint64
	SystemCalls                      [512]uint64
	Times                            [calls][sizeClasses]times
}

// reading is the resident set at the end of an epoch.
type reading struct{ RSS, PSS uint64 }

const (
	statusDone    = 1
	statusBadPlan = 2
	statusNull    = 3
)

// Player is the unpacked player, in a folder of its own.
type Player struct {
	dir string
	n   int
	// Patience is how long a run may go without progress; then it is ended.
	Patience time.Duration
}

// NewPlayer unpacks the player into a folder, where it also keeps its results.
func NewPlayer(dir string) (*Player, error) {
	if runtime.GOARCH != "amd64" {
		return nil, fmt.Errorf("recordings are replayed on x86-64 alone; this is %s", runtime.GOARCH)
	}
	for name, content := range map[string][]byte{"heaptap-player": agent.Player, "empty.so": agent.Empty} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o700); err != nil {
			return nil, fmt.Errorf("unpacking the player: %w", err)
		}
	}
	return &Player{dir: dir, Patience: time.Minute}, nil
}

// empty is the allocator that does nothing.
func (p *Player) empty() Allocator {
	return Allocator{Library: filepath.Join(p.dir, "empty.so"), Name: "empty"}
}

// command is a run of the player.
func (p *Player) command(ctx context.Context, plan *Plan, a Allocator, result string, m mode, t Touch, rest string,
) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.dir, "heaptap-player"), plan.Path, result, string(m), string(t),
		rest)
	cmd.Env = a.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // a signal may end heaptap first
	return cmd
}

// Once returns the command line that plays a plan once, as for a measurement of memory, for a tool that watches it. The
// blocks that are live at the end of the plan are not freed.
func (p *Player) Once(plan *Plan) ([]string, error) {
	result := filepath.Join(p.dir, "result")
	if err := os.WriteFile(result, make([]byte, binary.Size(&outcome{})), 0o600); err != nil {
		return nil, err
	}
	return p.command(context.Background(), plan, Allocator{}, result, modeMemory, TouchNone, "keep").Args, nil
}

// play runs the player once. It may return fewer readings than there are epochs, but no part of an outcome.
func (p *Player) play(ctx context.Context, plan *Plan, a Allocator, m mode, t Touch) (*outcome, []reading, error) {
	p.n++
	path := filepath.Join(p.dir, fmt.Sprintf("result-%d", p.n))
	defer os.Remove(path)
	o := &outcome{}
	size := int64(binary.Size(o))
	readings := make([]reading, len(plan.Epochs))
	if m != modeMemory {
		readings = nil
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return nil, nil, err
	}
	// Written, not only extended: a full disk would else end the player with SIGBUS.
	if err := os.WriteFile(path, make([]byte, size+int64(binary.Size(readings))), 0o600); err != nil {
		return nil, nil, fmt.Errorf("preparing a run of the player: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := p.command(ctx, plan, a, path, m, t, "free")
	var said bytes.Buffer
	says := &limited.Writer{W: &said, Left: 4096}
	cmd.Stdout, cmd.Stderr = says, says // the same: os/exec then copies both in one goroutine
	if err := cmd.Start(); err != nil {
		if errors.Is(err, syscall.EACCES) {
			err = fmt.Errorf("%w; TMPDIR names a folder for it where programs may be executed", err)
		}
		return nil, nil, fmt.Errorf("starting the player: %w", err)
	}
	stuck := make(chan bool, 1)
	go func() { stuck <- p.watch(ctx, path, p.Patience+plan.pause, cancel) }()
	failed := cmd.Wait()
	parent := ctx.Err() != nil
	cancel()
	hung := <-stuck
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if err := binary.Read(f, binary.LittleEndian, o); err != nil {
		return nil, nil, fmt.Errorf("reading the player's result: %w", err)
	}
	if readings != nil {
		if err := binary.Read(f, binary.LittleEndian, readings); err != nil {
			return nil, nil, fmt.Errorf("reading the player's result: %w", err)
		}
	}
	switch {
	case hung:
		return nil, nil, a.errorf("it made no progress for %v, and was ended", p.Patience)
	case parent:
		return nil, nil, context.Cause(ctx)
	case o.Status == statusDone && strings.Contains(said.String(), "cannot be preloaded"):
		return nil, nil, a.errorf("the loader refuses it: %s", firstLine(said.Bytes()))
	case o.Status == statusDone:
		return o, readings, a.check(o)
	case o.Status == statusNull:
		return nil, nil, a.errorf("it returned null for %d bytes", o.Detail)
	case o.Status == statusBadPlan:
		return nil, nil, fmt.Errorf("the player refuses the plan: %s", text(o.Text[:]))
	case o.Status != 0:
		return nil, nil, fmt.Errorf("the player failed when %s: %w", text(o.Text[:]), syscall.Errno(o.Detail))
	}
	return nil, nil, a.errorf("the player ended (%w)%s: the allocator crashed, or refused to start", failed,
		quoted(said.Bytes()))
}

// watch ends a run that makes no progress for that long, and says whether it did.
func (p *Player) watch(ctx context.Context, path string, patience time.Duration, end func()) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	at := int64(4 + 4 + 8 + 128 + 128 + 512)
	last, since := uint64(0), time.Now()
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return false
		case <-tick.C:
		}
		var b [8]byte
		if _, err := f.ReadAt(b[:], at); err != nil {
			continue
		}
		if n := binary.LittleEndian.Uint64(b[:]); n != last {
			last, since = n, time.Now()
		}
		if time.Since(since) > patience {
			end()
			return true
		}
	}
}

func text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte{'\n'})
	return string(line)
}

func quoted(b []byte) string {
	if line := firstLine(b); line != "" {
		return fmt.Sprintf(", saying %q", line)
	}
	return ""
}
