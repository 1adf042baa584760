package endings

import (
	"syscall"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
)

// TestEndings ends programs in every way that they have themselves.
func TestEndings(t *testing.T) {
	t.Parallel()
	ends := program(t, "ends")
	for _, c := range []struct {
		how    string
		status int
		slack  uint64 // threads that are cut short
	}{
		{"return", 7, 0}, {"exit", 7, 0}, {"_exit", 7, 0}, {"quick_exit", 7, 0}, {"abort", 128 + 6, 0}, {"term",
			128 + 15, 0},
		{"segv", 128 + 11, 0}, {"kill", 128 + 9, 0}, {"overflow", 128 + 11, 0}, {"exec", 7, 0}, {"exec-fails", 7, 0},
		{"pthread_exit", 0, 0}, {"threads-exit", 7, 3}, {"threads-_exit", 7, 3}, {"threads-kill", 128 + 9, 3},
		{"threads-segv", 128 + 11, 3},
	} {
		t.Run(c.how, func(t *testing.T) {
			recorded(t, c.status, ends, c.how, "30000").judge(t, c.slack)
		})
	}
}

// TestKilled kills programs in the middle of their steps.
func TestKilled(t *testing.T) {
	t.Parallel()
	ends := program(t, "ends")
	for _, how := range []string{"forever", "threads-forever"} {
		for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
			t.Run(how+" "+sig.String(), func(t *testing.T) {
				r := prepare(t, false, nil, nil, ends, how, "1000")
				if err := r.cmd.Start(); err != nil {
					t.Fatal(err)
				}
				kit.Until(t, "100,000 steps", func() bool { return r.page[0].Allocations > 100000 })
				if err := syscall.Kill(int(r.page[0].PID), sig); err != nil {
					t.Fatal(err)
				}
				kit.Same(t, "exit status", r.wait(t), 128+int(sig))
				r.judge(t, map[string]uint64{"forever": 1, "threads-forever": 4}[how])
			})
		}
	}
}
