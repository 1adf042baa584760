// Package childtest starts processes that end with the test.
package childtest

import (
	"bufio"
	"os/exec"
	"testing"
)

// Start starts a command. It is killed at the end of the test.
func Start(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// Sleeping starts a process that does nothing.
func Sleeping(t testing.TB) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	Start(t, cmd)
	return cmd
}

// Ready starts a command, and waits for the first line that it prints, which must be this one.
func Ready(t testing.TB, cmd *exec.Cmd, line string) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	Start(t, cmd)
	if got, err := bufio.NewReader(out).ReadString('\n'); err != nil || got != line+"\n" {
		t.Fatalf("it printed %q, want %q: %v", got, line, err)
	}
}
