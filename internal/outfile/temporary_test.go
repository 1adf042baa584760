package outfile

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTemporaryDir: a directory is gone at the end, and when a signal ends the program. The program dies of that
// signal, so that a shell shows status 130 for Ctrl-C.
func TestTemporaryDir(t *testing.T) {
	if os.Getenv("HEAPTAP_TEST_TEMPORARY") != "" {
		dir, _, err := TemporaryDir("held-")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(dir)
		for i := 0; ; i++ { // files are created up to the end
			_ = os.WriteFile(filepath.Join(dir, fmt.Sprint(i%50)), nil, 0o600)
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(sig) { // the tests run with nohup, and the process would ignore it, too
			continue
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestTemporaryDir$")
		cmd.Env = append(os.Environ(), "HEAPTAP_TEST_TEMPORARY=1", "TMPDIR="+t.TempDir())
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
		line, err := bufio.NewReader(out).ReadString('\n')
		dir := strings.TrimSpace(line)
		if _, statErr := os.Stat(dir); err != nil || statErr != nil {
			t.Errorf("%q: %v", line, errors.Join(err, statErr))
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Error(err)
		}
		err = cmd.Wait()
		kill.Stop()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != sig {
			t.Errorf("after %s it ended with %v", sig, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after %s, %s is left: %v", sig, dir, err)
		}
	}
	dir, remove, err := TemporaryDir("done-")
	if err != nil {
		t.Fatal(err)
	}
	remove()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", dir, err)
	}
}
