package record

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/record/procs"
	"golang.org/x/sys/unix"
)

// TestStrangersDoNotHoldARun has processes of another user name the run in their environment: it ends all the same.
func TestStrangersDoNotHoldARun(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("this test needs root, to act as another user")
		}
		t.Skip("only root can become another user")
	}
	dir := runDir(t)
	if err := os.Mkdir(dir+procs.DoorSuffix, 0o711); err != nil {
		t.Fatal(err)
	}
	launcher := exec.Command("sleep", "1000") // the tests' own processes are not of its family
	if err := launcher.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = launcher.Process.Kill()
		_ = launcher.Wait()
	})
	config, reps, _ := testConfig(t, dir)
	config.Launcher = launcher.Process.Pid
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var stranger *exec.Cmd
	config.Report = func(r Report) {
		reps.add(r)
		if r.Kind == Ready && stranger == nil {
			stranger = exec.Command("/bin/sh", "-c", "while :; do sleep 0.2; done")
			stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
			stranger.Dir = "/"
			stranger.Env = []string{"HEAPTAP_RUN=" + dir, "PATH=/usr/bin:/bin"}
			if err := stranger.Start(); err != nil {
				t.Error(err)
			}
		}
	}
	err := Run(ctx, config)
	_ = stranger.Process.Kill()
	_ = stranger.Wait()
	if err != nil || ctx.Err() != nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}
	for _, path := range []string{dir, dir + procs.DoorSuffix} {
		if exist(path) {
			t.Errorf("%s is left", path)
		}
	}
}

// TestPlanted has links and pipes lie in the run's folder and beside the recordings, where the recorder makes and reads
// files: it neither follows nor waits for them.
func TestPlanted(t *testing.T) {
	dir := runDir(t)
	config, reps, _ := testConfig(t, dir)
	config.SpillDir = t.TempDir()
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte("not to be touched"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := newTarget(t, dir, "1-1.spool")
	for _, name := range []string{"1-1.0.state", "journal", "2-2.spool"} {
		if err := os.Symlink(precious, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{filepath.Join(dir, "3-3.spool"), filepath.Join(config.SpillDir, "1-1.spill")} {
		if err := unix.Mkfifo(path, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- Run(ctx, config) }()
	g.work(0, 2, 1000)
	g.end()
	select {
	case err := <-done:
		if err != nil || ctx.Err() != nil {
			t.Fatal(err, ctx.Err())
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the recorder waits for a pipe")
	}
	if b, _ := os.ReadFile(precious); string(b) != "not to be touched" {
		t.Errorf("what the links led to is %q now", b)
	}
	if list := reps.of(Finished); len(list) != 1 || list[0].Err != nil || list[0].Totals.Events == 0 {
		t.Errorf("%+v", reps.list)
	}
}
