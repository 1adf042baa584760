package exports

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
)

// largest runs heaptap and returns its largest resident set, in bytes. Python starts it: what this process has itself
// would count, too.
func largest(t *testing.T, args ...string) int64 {
	t.Helper()
	const script = `import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)`
	out := tool(t, "python3", append([]string{"-c", script, heaptap}, args...)...)
	n, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// TestInterrupted ends exports amid writing: a file of that name stays what it was, and nothing else is left.
func TestInterrupted(t *testing.T) {
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		tries := 1
		for !interrupted(t, signal, list["python"]) {
			if tries++; tries > 50 {
				t.Fatalf("%v: it always ended before", signal)
			}
		}
	}
}

// interrupted sends a signal to an export once it writes; false if that had ended by then.
func interrupted(t *testing.T, signal syscall.Signal, path string) bool {
	t.Helper()
	folder := t.TempDir()
	to := filepath.Join(folder, "events.csv")
	if err := os.WriteFile(to, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(heaptap, "export", "-f", "jsonl:events", "-o", to, path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kit.Until(t, "a file is written", func() bool {
		names, err := os.ReadDir(folder)
		b, _ := os.ReadFile(to)
		return err != nil || len(names) > 1 || string(b) != "old"
	})
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if cmd.ProcessState.Success() {
		return false
	}
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signal() != signal {
		t.Errorf("%v: ended by %v", signal, cmd.ProcessState)
	}
	names, err := os.ReadDir(folder)
	if b, e := os.ReadFile(to); err != nil || e != nil || string(b) != "old" || len(names) != 1 {
		t.Errorf("%v: left %v, the file %.20q", signal, names, b)
	}
	return true
}
