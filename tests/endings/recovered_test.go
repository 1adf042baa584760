package endings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/heaptap/heaptap/internal/record"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/tests/kit"
)

// TestRecovered kills the recorder again and again, at any moment: run completes the recordings from what it has left,
// and nothing is missing, neither an event nor which allocation a deallocation ends.
func TestRecovered(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		after := uint64(1+i*i) * 20_000
		t.Run(fmt.Sprint("after ", after), func(t *testing.T) {
			r := prepare(t, false, nil, nil, program(t, "relay"), "250000")
			if err := r.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			kit.Until(t, "steps", func() bool { return r.page[0].Allocations+r.page[1].Allocations > after })
			if err := syscall.Kill(kit.Recorder(t, r.cmd.Process.Pid), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			kit.Same(t, "exit status", r.wait(t), 7)
			if !strings.Contains(r.stderr.String(), "the recorder died") {
				t.Errorf("standard error: %q", r.stderr.String())
			}
			r.judge(t, 0)
			for _, g := range r.recordings(t) {
				// Of the child that it forked, the agent knows.
				main := g.PID == r.said()[0].PID
				kit.Same(t, "status in the recording", []any{g.Ending.Exited, g.Ending.Code},
					[]any{true, map[bool]int{true: 7}[main]})
			}
			left, _ := filepath.Glob(filepath.Join(r.out, "*"))
			hidden, _ := filepath.Glob(filepath.Join(r.out, ".*"))
			if len(left)+len(hidden) != 2 {
				t.Errorf("beside the recordings, there are %v %v", left, hidden)
			}
		})
	}
}

// TestLeftAlone kills run as well: what is left of both is a spool and an unfinished recording, from which all can be
// had.
func TestLeftAlone(t *testing.T) {
	t.Parallel()
	r := prepare(t, false, nil, nil, program(t, "relay"), "250000")
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kit.Until(t, "steps", func() bool { return r.page[0].Allocations > 200_000 })
	target, rec := int(r.page[0].PID), kit.Recorder(t, r.cmd.Process.Pid)
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", target))
	if err != nil {
		t.Fatal(err)
	}
	dir := ""
	for _, v := range strings.Split(string(env), "\x00") {
		if d, ok := strings.CutPrefix(v, "HEAPTAP_RUN="); ok {
			dir = d
		}
	}
	defer os.RemoveAll(dir)
	for _, pid := range []int{rec, r.cmd.Process.Pid} {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	r.wait(t)
	kit.Until(t, "the target's end", func() bool { return syscall.Kill(target, 0) != nil })
	spools, _ := filepath.Glob(filepath.Join(dir, "*.spool"))
	if len(spools) != 1 {
		t.Fatalf("spools: %v", spools)
	}
	// As `heaptap report SPOOL` does it: nothing of what is there is changed.
	out := filepath.Join(t.TempDir(), "relay.1.htap")
	if err := record.Convert(t.Context(), spools[0], out); err != nil {
		t.Fatal(err)
	}
	rd, err := recording.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	rd.Close()
	s := read(t, out)
	said := r.said()
	kit.Same(t, "allocations", s.Allocations, said[0].Allocations)
	kit.Same(t, "deallocations", s.Deallocations, said[0].Deallocations)
	kit.Same(t, "unmatched", s.Unmatched, 0)
}
