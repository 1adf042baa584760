package endings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/tests/kit"
)

// TestDeadRecorder kills the recorder in the middle: the target finishes with its right result.
func TestDeadRecorder(t *testing.T) {
	t.Parallel()
	r := prepare(t, false, nil, nil, program(t, "ends"), "return", "3000000")
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kit.Until(t, "100,000 steps", func() bool { return r.page[0].Allocations > 100000 })
	if err := syscall.Kill(kit.Recorder(t, r.cmd.Process.Pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	kit.Same(t, "exit status", r.wait(t), 7)
	kit.Same(t, "steps", r.page[0].Allocations, 3000000)
	if !strings.Contains(r.stderr.String(), "the recorder died") {
		t.Errorf("standard error: %q", r.stderr.String())
	}
}

// needRoot skips where it takes root to prepare a case.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("takes root")
	}
}

// in returns a prefix that executes a command after a script in a mount namespace of its own.
func in(script string) []string {
	return []string{"unshare", "--mount", "sh", "-c", "{ " + script + "; } || exit 99; exec \"$@\"", "sh"}
}

// TestFullDisk lets the disk of the recording fill up: what came before is kept, the rest is counted as lost, and the
// target ends as ever. Spilled events go to the same disk: of blocks whose deallocation was lost an end is recorded
// when their address is given out again, so that a few more are counted than there were.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	needRoot(t)
	small, err := os.MkdirTemp("", "heaptap-small-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(small)
	if err := unix.Mount("none", small, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("cannot mount a tmpfs: %v", err)
	}
	defer unix.Unmount(small, unix.MNT_DETACH)
	r := prepare(t, false, nil, []string{"-o", small + "/%n.%p.htap"}, program(t, "ends"), "return", "2000000")
	kit.Same(t, "exit status", r.run(t), 7)
	r.out = small
	all := r.recordings(t)
	if len(all) != 1 {
		t.Fatalf("%d recordings, want 1\n%s", len(all), r.stderr.String())
	}
	got, want := all[0], r.page[0]
	if total := want.Allocations + want.Deallocations; got.Events == 0 || got.Events == total || !got.Complete ||
		got.Events+got.Health.LostEvents < total || got.Events+got.Health.LostEvents > total+total/1000 {
		t.Errorf("%d events kept and %d counted as lost, want %d together", got.Events, got.Health.LostEvents, total)
	}
	if n := strings.Count(r.stderr.String(), "no space left on device"); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, r.stderr.String())
	}
	t.Logf("%d events kept, %d lost", got.Events, got.Health.LostEvents)
}

// TestNoMemory lets the file system fill up in which the spool lies.
func TestNoMemory(t *testing.T) {
	t.Parallel()
	needRoot(t)
	for _, mib := range []int{1, 4, 16} {
		t.Run(fmt.Sprint(mib, " MiB"), func(t *testing.T) {
			// With so little in /dev/shm the run's folder comes to lie beside the output.
			mount := fmt.Sprintf("mount -t tmpfs -o size=%dm none /dev/shm && mkdir /dev/shm/out", mib)
			r := prepare(t, false, in(mount), []string{"-o", "/dev/shm/out/"}, program(t, "away"), "stays")
			status := r.run(t)
			if status == 99 {
				t.Skip("cannot mount a tmpfs: " + r.stderr.String())
			}
			kit.Same(t, "exit status", status, 7)
			if n := strings.Count(r.stderr.String(), "\n"); n != 1 {
				t.Errorf("%d lines say what is missing, want one:\n%s", n, r.stderr.String())
			}
		})
	}
}

// TestFolders makes /tmp read-only, or lets nothing be executed there.
func TestFolders(t *testing.T) {
	t.Parallel()
	needRoot(t)
	for _, option := range []string{"ro", "noexec"} {
		t.Run(option, func(t *testing.T) {
			// The programs are in /tmp themselves: so they get another way.
			script := fmt.Sprintf("mount --bind %s /mnt && mount -t tmpfs -o %s none /tmp", kit.Dir(t), option)
			ends := program(t, "ends")
			r := prepare(t, false, nil, nil, "/mnt/"+filepath.Base(ends), "return", "30000")
			moved := func(s string) string { return strings.ReplaceAll(s, kit.Dir(t), "/mnt") }
			args := in(script)
			for _, a := range r.cmd.Args {
				args = append(args, moved(a))
			}
			r.cmd.Path, r.cmd.Args, r.cmd.Dir = "/usr/bin/unshare", args, "/"
			r.cmd.Env = append(r.cmd.Env, moved(r.cmd.Env[len(r.cmd.Env)-1]), "XDG_CACHE_HOME=/nowhere")
			status := r.run(t)
			if status == 99 {
				t.Skip("cannot mount: " + r.stderr.String())
			}
			kit.Same(t, "exit status", status, 7)
			r.judge(t, 0)
		})
	}
}
