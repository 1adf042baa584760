package programs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/heaptap/heaptap/tests/count"
)

// Case is a program to record and check.
type Case struct {
	Name  string
	Args  []string
	Env   []string // added to the environment
	Stdin string
	// Prepare creates the program's input in its fresh working directory.
	Prepare func(dir string) error
	// Drive, if set, runs beside the program (a client of a server) and returns what it saw.
	Drive func(ctx context.Context, dir string) (string, error)
	// Outputs are files in the working directory that must have the same bytes as without heaptap.
	Outputs []string
	// IgnoreStdout: standard output has pids or times.
	IgnoreStdout bool
	Status       int // expected exit status
	// Below: standard output is a Truth that holds for the stacks through one of these functions. Peaks are compared
	// if the truth has one and ComparePeak is set.
	Below       []string
	ComparePeak bool
	// Threads: heaptap and the counting library may see simultaneous events in another order, so peaks need to agree
	// only roughly.
	Threads bool
	// JIT: the program runs code without call frame information and perhaps without frame pointers. One stack in a
	// thousand may be truncated then.
	JIT bool
	// Unjudged: run without the counting library.
	Unjudged bool
}

// Check is a comparison of a value found with the value expected.
type Check struct {
	What string
	Got  string
	Want string
	OK   bool
}

// Row is a process of a run in the table of results.
type Row struct {
	Name                                      string
	Allocations, Deallocations, Bytes         uint64
	Failed, LeakedBytes, PeakBytes, Unmatched uint64
	Lost, Truncated                           uint64
	Size                                      int64
	Judged                                    bool // the counting library has seen the same process
}

// Result is the result of a case.
type Result struct {
	Case       Case
	Checks     []Check
	Rows       []Row
	Recordings []Recording
	Counts     []count.Totals
	Bare       time.Duration // wall time without heaptap
	Recorded   time.Duration // wall time of `heaptap run`, until the recording is complete
	Stdout     []byte
	Stderr     string // of `heaptap run`
}

// Failed returns the checks that did not hold.
func (r *Result) Failed() []Check {
	var bad []Check
	for _, c := range r.Checks {
		if !c.OK {
			bad = append(bad, c)
		}
	}
	return bad
}

func (r *Result) check(what string, got, want any, ok bool) {
	r.Checks = append(r.Checks, Check{what, fmt.Sprint(got), fmt.Sprint(want), ok})
}

func (r *Result) equal(what string, got, want uint64) { r.check(what, got, want, got == want) }

// outcome is what a run of the program shows to the outside.
type outcome struct {
	stdout, stderr []byte
	drive          string
	files          map[string][]byte
	status         int
	wall           time.Duration
}

// run starts args in a fresh directory and waits for it and its driver.
func (c *Case) run(ctx context.Context, dir string, args, env []string) (*outcome, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if c.Prepare != nil {
		if err := c.Prepare(dir); err != nil {
			return nil, fmt.Errorf("%s: preparing its input: %w", c.Name, err)
		}
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), c.Env...), env...)
	cmd.Stdin = strings.NewReader(c.Stdin)
	cmd.Stdout = &stdout
	cmd.Stderr = &stderr
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that no process of it is left behind
	kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = kill
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	o := &outcome{files: map[string][]byte{}}
	var driveErr error
	if c.Drive != nil {
		o.drive, driveErr = c.Drive(ctx, dir)
		if driveErr != nil {
			_ = kill()
		}
	}
	err := cmd.Wait()
	o.wall = time.Since(start)
	o.stdout, o.stderr = stdout.Bytes(), stderr.Bytes()
	if driveErr != nil {
		return nil, fmt.Errorf("%s: its driver: %w\n%s", c.Name, driveErr, o.stderr)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, fmt.Errorf("%s: %w\n%s", c.Name, err, o.stderr)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s: %w after %v\n%s", c.Name, ctx.Err(), o.wall.Round(time.Second), o.stderr)
	}
	o.status = cmd.ProcessState.ExitCode()
	if o.status < 0 {
		o.status = 128 + int(cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	}
	for _, name := range c.Outputs {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", c.Name, err, o.stderr)
		}
		o.files[name] = b
	}
	return o, nil
}

// Run runs the case with and without heaptap below dir and checks it.
func (k *Kit) Run(ctx context.Context, dir string, c Case) (*Result, error) {
	dir = filepath.Join(dir, strings.ReplaceAll(c.Name, " ", "-"))
	bare, err := c.run(ctx, filepath.Join(dir, "work"), c.Args, nil)
	if err != nil {
		return nil, err
	}
	// Both runs need the same name of the working directory, because programs allocate and print paths.
	if err := os.Rename(filepath.Join(dir, "work"), filepath.Join(dir, "bare")); err != nil {
		return nil, err
	}
	counts, out := filepath.Join(dir, "counts"), filepath.Join(dir, "recordings")
	for _, d := range []string{counts, out} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			return nil, err
		}
	}
	var env []string
	if !c.Unjudged {
		env = []string{"LD_PRELOAD=" + k.Count, "COUNT_DIR=" + counts}
	}
	args := append([]string{k.Heaptap, "run", "-o", out + "/%n.%p.htap", "--"}, c.Args...)
	taped, err := c.run(ctx, filepath.Join(dir, "work"), args, env)
	if err != nil {
		return nil, err
	}
	r := &Result{Case: c, Bare: bare.wall, Recorded: taped.wall, Stdout: taped.stdout, Stderr: string(taped.stderr)}
	r.check("exit status without heaptap", bare.status, c.Status, bare.status == c.Status)
	r.check("exit status", taped.status, c.Status, taped.status == c.Status)
	if !c.IgnoreStdout && c.Below == nil {
		r.check("standard output", digest(taped.stdout), digest(bare.stdout), bytes.Equal(taped.stdout, bare.stdout))
	}
	if c.Drive != nil {
		r.check("answers", taped.drive, bare.drive, taped.drive == bare.drive)
	}
	for _, name := range c.Outputs {
		r.check(name, digest(taped.files[name]), digest(bare.files[name]),
			bytes.Equal(taped.files[name], bare.files[name]))
	}
	if r.Recordings, err = k.recordings(out); err != nil {
		return r, err
	}
	if len(r.Recordings) == 0 {
		r.check("recordings", 0, "at least 1", false)
	}
	if r.Counts, err = count.Read(counts); err != nil {
		return r, err
	}
	if err := r.judge(); err != nil {
		return r, err
	}
	return r, nil
}
