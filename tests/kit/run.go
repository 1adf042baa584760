package kit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/run"
)

// Command is how a program is run: in which folder, with which variables besides the tests' own, and how it has to end.
type Command struct {
	Dir    string
	Env    []string
	Status int
}

// Run runs a program and returns what it prints on standard output.
func (c Command) Run(t testing.TB, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = c.Dir, append(os.Environ(), c.Env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != c.Status {
		t.Fatalf("%.1000s: %v, want status %d\n%s%s",
			strings.Join(args, " "), err, c.Status, tail(stdout.Bytes()), tail(stderr.Bytes()))
	}
	return stdout.String()
}

func tail(b []byte) []byte { return b[max(0, len(b)-4000):] }

// Record runs a program under heaptap, with flags of heaptap run, and returns what it prints and its recording, which
// must be whole.
func (c Command) Record(t testing.TB, flags []string, args ...string) (stdout string, r *recording.Reader) {
	t.Helper()
	return c.RecordTo(t, filepath.Join(t.TempDir(), "run.htap"), flags, args...)
}

// RecordTo is Record into a file of this name.
func (c Command) RecordTo(t testing.TB, path string, flags []string, args ...string) (string, *recording.Reader) {
	t.Helper()
	flags = append([]string{Binary(t), "run", "-q", "-o", path}, flags...)
	stdout := c.Run(t, append(append(flags, "--"), args...)...)
	r := Open(t, path)
	if h := r.Health(); !r.Complete() || h.LostEvents != 0 || h.TableFull != 0 || h.NoThread != 0 {
		t.Errorf("complete %v, health %+v", r.Complete(), h)
	}
	return stdout, r
}

// Run runs a program that must succeed.
func Run(t testing.TB, args ...string) string {
	t.Helper()
	return Command{}.Run(t, args...)
}

// Record records a program that must succeed.
func Record(t testing.TB, args ...string) (stdout string, r *recording.Reader) {
	t.Helper()
	return Command{}.Record(t, nil, args...)
}

// Heaptap runs a command of heaptap, which must succeed.
func Heaptap(t testing.TB, args ...string) string {
	t.Helper()
	return Run(t, append([]string{Binary(t)}, args...)...)
}

// Open opens a recording for the time of the test.
func Open(t testing.TB, path string) *recording.Reader {
	t.Helper()
	whole, err := run.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	i, _, _ := whole.Matters()
	r, err := whole.OpenProgram(i)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// JSON decodes all that a command of heaptap prints, one value after the other.
func JSON[T any](t testing.TB, args ...string) (list []T) {
	t.Helper()
	for d := json.NewDecoder(strings.NewReader(Heaptap(t, args...))); ; {
		var v T
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatalf("heaptap %v: %v", args, err)
		}
		list = append(list, v)
	}
}

// Compile compiles sources and returns the path of the program. What it allocates the compiler leaves in.
func Compile(t testing.TB, compiler string, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	for _, a := range args {
		switch ext := filepath.Ext(a); ext {
		case ".c", ".cc":
			out = filepath.Join(filepath.Dir(out), strings.TrimSuffix(filepath.Base(a), ext))
		}
	}
	Run(t, append([]string{compiler, "-g", "-pthread", "-fno-builtin", "-o", out}, args...)...)
	return out
}

func numbers(text string) (list []int) {
	for _, f := range strings.Fields(text) {
		if n, err := strconv.Atoi(f); err == nil {
			list = append(list, n)
		}
	}
	return list
}
