package launch

import (
	"os/exec"
	"testing"
)

// TestShellLines: after the lines, a shell's LD_PRELOAD is the agent's path, byte for byte, before what it was.
func TestShellLines(t *testing.T) {
	const library = "/tmp/it's $PLATFORM/libheaptap.so"
	for _, shell := range []string{"sh", "bash", "zsh", "dash", "ksh", "fish", "csh", "tcsh"} {
		lines, err := ShellLines(shell, library, true)
		if err != nil {
			t.Errorf("%s: %v", shell, err)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		for before, want := range map[string]string{"": library, "LD_PRELOAD=libm.so.6": library + ":libm.so.6"} {
			cmd := exec.Command(path)
			if shell == "csh" || shell == "tcsh" {
				cmd.Args = append(cmd.Args, "-f")
			}
			cmd.Args = append(cmd.Args, "-c", lines+`printf '%s %s' "$LD_PRELOAD" "$`+FreeStacksVariable+`"`)
			cmd.Env = []string{"PATH=/usr/bin:/bin"}
			if before != "" {
				cmd.Env = append(cmd.Env, before)
			}
			if got, _ := cmd.Output(); string(got) != want+" 1" {
				t.Errorf("%s with %q: %s, want %s 1", shell, before, got, want)
			}
		}
	}
	if _, err := ShellLines("rc", library, false); err == nil {
		t.Error("rc is known")
	}
}
