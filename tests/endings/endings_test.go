// Package endings proves that every event up to the end is recorded, whatever becomes of the target: each program of
// src counts its steps, before it does them, on a page that it shares with the test, and the recordings must agree with
// it.
package endings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/programs"
)

func TestMain(m *testing.M) { kit.Main(m) }

var compileOnce sync.Once

// program returns the path of a program of src. All are compiled once, where any user may go.
func program(t *testing.T, name string) string {
	t.Helper()
	compileOnce.Do(func() {
		sources, _ := filepath.Glob("src/*.c*")
		for _, s := range sources {
			out := strings.TrimSuffix(filepath.Base(s), filepath.Ext(s))
			if err := programs.Compile(s, filepath.Join(kit.Dir(t), out)); err != nil {
				t.Error(err)
			}
		}
	})
	return filepath.Join(kit.Dir(t), name)
}

// steps is what a program says of one of its images or forked children: struct slot of src/step.h.
type steps struct {
	Used, PID, Allocations, Deallocations, Bytes, Inherited uint64
	_                                                       [2]uint64
}

const slots = 4096

// target is a program under test, and what became of it.
type target struct {
	filtered bool // it has a seccomp filter, which its recordings mention
	cmd      *exec.Cmd
	page     []steps
	out      string // folder of recordings
	stdout   bytes.Buffer
	stderr   bytes.Buffer
}

// prepare makes the command line PREFIX... heaptap run FLAGS... -- ARGS..., or PREFIX... ARGS... if bare.
func prepare(t *testing.T, bare bool, prefix, flags []string, args ...string) *target {
	t.Helper()
	dir, err := os.MkdirTemp(kit.Dir(t), "run-")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "out"), 0o755)); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "steps")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size := int(unsafe.Sizeof(steps{})) * slots
	if err := errors.Join(f.Chmod(0o666), f.Truncate(int64(size))); err != nil {
		t.Fatal(err)
	}
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	r := &target{page: unsafe.Slice((*steps)(unsafe.Pointer(unsafe.SliceData(b))), slots),
		out: filepath.Join(dir, "out")}
	all := append([]string{}, prefix...)
	if !bare {
		all = append(append(append(all, kit.Binary(t), "run", "-q", "-o", r.out+"/%n.%p.htap"), flags...), "--")
	}
	all = append(all, args...)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	r.cmd = exec.CommandContext(ctx, all[0], all[1:]...)
	r.cmd.Dir = dir
	r.cmd.Env = append(os.Environ(), "STEPS="+name)
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	r.cmd.WaitDelay = 5 * time.Second
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.cmd.Cancel = func() error { return syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) }
	t.Cleanup(func() {
		cancel()
		_ = unix.Munmap(b)
		_ = os.RemoveAll(dir)
	})
	return r
}

// wait returns the exit status, 128 + N for signal N.
func (r *target) wait(t *testing.T) int {
	t.Helper()
	var exit *exec.ExitError
	if err := r.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v\n%s", r.cmd.Args, err, r.stderr.String())
	}
	w := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if w.Signaled() {
		return 128 + int(w.Signal())
	}
	return w.ExitStatus()
}

func (r *target) run(t *testing.T) int {
	t.Helper()
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r.wait(t)
}

// recorded runs a program with and without heaptap: both must end with this status and say the same. Status 77 is the
// program's word that it may not do here what it is to do.
func recorded(t *testing.T, status int, args ...string) *target {
	t.Helper()
	bare := prepare(t, true, nil, nil, args...)
	got := bare.run(t)
	if got == 77 {
		t.Skip(strings.TrimSpace(bare.stdout.String()))
	}
	r := prepare(t, false, nil, nil, args...)
	kit.Same(t, "exit status without heaptap", got, status)
	kit.Same(t, "exit status", r.run(t), status)
	kit.Same(t, "standard output", r.stdout.String(), bare.stdout.String())
	kit.Same(t, "standard error", r.stderr.String(), bare.stderr.String())
	return r
}

// seen is what a recording holds.
type seen struct {
	steps  // below step_alloc
	Path   string
	Image  int
	Events uint64 // all of them, but for mapping changes
	Truncated, Unmatched, Unseen,
	Outside uint64 // allocations elsewhere
	Complete bool
	Health   event.Health
	Ending   recording.Ending
}

var recordingName = regexp.MustCompile(`^.*?\.([0-9]+)(?:\.([0-9]+))?\.htap$`)

// recordings reads what was recorded.
func (r *target) recordings(t *testing.T) []seen {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(r.out, "*.htap"))
	var all []seen
	for _, name := range names {
		m := recordingName.FindStringSubmatch(filepath.Base(name))
		if m == nil {
			t.Fatalf("%s: its name is not NAME.PID[.N].htap", name)
		}
		if f, err := os.Stat(name); err == nil && f.Size() == 0 {
			continue // A recorder has made it a moment ago: whoever waits, or counts, misses it.
		}
		s := read(t, name)
		s.PID, _ = strconv.ParseUint(m[1], 10, 64)
		if s.Image = 1; m[2] != "" {
			s.Image, _ = strconv.Atoi(m[2])
		}
		all = append(all, s)
	}
	sort.Slice(all, func(i, j int) bool {
		return all[i].PID < all[j].PID || all[i].PID == all[j].PID && all[i].Image < all[j].Image
	})
	return all
}

func read(t *testing.T, name string) (s seen) {
	t.Helper()
	r, err := recording.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s.Path, s.Complete, s.Health = name, r.Complete(), r.Health()
	s.Ending, _ = r.Ending()
	below := map[uint32]bool{}
	isStep := func(stack uint32) bool {
		is, known := below[stack]
		if known {
			return is
		}
		for id := stack; id != 0 && !is; {
			n, ok := r.Nodes().Get(id)
			if !ok {
				break
			}
			for _, f := range r.Frames(n.PC) {
				name, _, _ := strings.Cut(f.Function, "(")
				is = is || name == "step_alloc" || name == "step_realloc"
			}
			id = n.Parent
		}
		below[stack] = is
		return is
	}
	err = r.Events(func(e *event.Event) bool {
		if e.Kind != event.Map {
			s.Events++
		}
		switch {
		case e.Kind == event.Inherited:
			s.Inherited++
		case e.Kind == event.Unmatched:
			s.Unmatched++
		case e.Kind == event.Alloc && isStep(e.Stack):
			s.Allocations++
			s.Bytes += e.Size
		case e.Kind == event.Alloc:
			s.Outside++
		case e.Kind == event.Free && isStep(e.Stack):
			s.Deallocations++
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// said returns what the program counted, in the order of the recordings.
func (r *target) said() (all []steps) {
	for _, s := range r.page {
		if s.Used != 0 && s.Allocations+s.Inherited != 0 {
			all = append(all, s)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].PID < all[j].PID })
	return all
}

// complete waits until what run has left to the background is complete.
func (r *target) complete(t *testing.T, n int) {
	t.Helper()
	kit.Until(t, fmt.Sprint(n, " complete recordings"), func() bool {
		all := r.recordings(t)
		return len(all) == n && !slices.ContainsFunc(all, func(s seen) bool { return !s.Complete })
	})
}

// judge compares every image and every child with its recording. In each, up to slack allocations and as many
// deallocations may have been counted and not done.
func (r *target) judge(t *testing.T, slack uint64) {
	t.Helper()
	said, all := r.said(), r.recordings(t)
	var got []seen
	for _, s := range all { // a program that only starts others counts nothing
		if s.Allocations+s.Inherited != 0 {
			got = append(got, s)
		}
	}
	if len(got) != len(said) || len(said) == 0 {
		t.Fatalf("%d of %d recordings have steps, want %d; without are those of %v\n%s", len(got), len(all), len(said),
			missing(said, got), r.stderr.String())
	}
	var sum, events uint64
	for i, want := range said {
		g := got[i]
		who := filepath.Base(g.Path)
		kit.Same(t, who+": process id", g.PID, want.PID)
		within(t, who+": allocations", g.Allocations, want.Allocations, slack)
		within(t, who+": deallocations", g.Deallocations, want.Deallocations, slack)
		within(t, who+": inherited", g.Inherited, want.Inherited, 0)
		if slack == 0 {
			kit.Same(t, who+": bytes", g.Bytes, want.Bytes)
		}
		kit.Same(t, who+": lost, unmatched", []uint64{g.Health.LostEvents, g.Unmatched}, []uint64{0, 0})
		kit.Same(t, who+": complete", g.Complete, true)
		notes := slices.DeleteFunc(slices.Clone(g.Health.Notes), func(n string) bool {
			return r.filtered && strings.HasPrefix(n, "a seccomp filter forbids system calls")
		})
		kit.Same(t, who+": notes", len(notes), 0)
		sum += want.Allocations + want.Deallocations + want.Inherited
		events += g.Events
		if t.Failed() && i > 20 {
			t.Fatal("and so on")
		}
	}
	t.Logf("%d recordings, %d steps, %d events", len(got), sum, events)
	if t.Failed() {
		t.Logf("heaptap's stderr:\n%s", r.stderr.String())
	}
}

// missing returns those of whom there is no recording, at most a few.
func missing(said []steps, got []seen) (few []steps) {
	for _, s := range said {
		if !slices.ContainsFunc(got, func(g seen) bool { return g.PID == s.PID }) && len(few) < 5 {
			few = append(few, s)
		}
	}
	return few
}

func within(t *testing.T, what string, got, want, slack uint64) {
	t.Helper()
	if got > want || want-got > slack {
		t.Errorf("%s: %d, want %d, or up to %d less", what, got, want, slack)
	}
}
