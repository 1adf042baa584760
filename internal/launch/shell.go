package launch

import (
	"fmt"
	"path/filepath"
	"strings"
)

// ShellLines returns the commands of a shell after which the programs that it starts have the agent preloaded, before
// what LD_PRELOAD named already. shell is sh, bash, zsh, dash, ksh, fish, csh or tcsh; library is the agent's path.
func ShellLines(shell, library string, freeStacks bool) (string, error) {
	agent := shellQuote(library) // it may contain the loader's token $PLATFORM
	var preload, set string
	switch shell {
	case "sh", "bash", "zsh", "dash", "ksh":
		preload = "export LD_PRELOAD=" + agent + "\"${LD_PRELOAD:+:$LD_PRELOAD}\"\n"
		set = "export %s=1\n"
	case "fish":
		preload = "if set -q LD_PRELOAD\n" +
			"    set -gx LD_PRELOAD " + agent + ":\"$LD_PRELOAD\"\n" +
			"else\n" +
			"    set -gx LD_PRELOAD " + agent + "\n" +
			"end\n"
		set = "set -gx %s 1\n"
	case "csh", "tcsh":
		preload = "if ( $?LD_PRELOAD ) then\n" +
			"    setenv LD_PRELOAD " + agent + ":\"$LD_PRELOAD\"\n" +
			"else\n" +
			"    setenv LD_PRELOAD " + agent + "\n" +
			"endif\n"
		set = "setenv %s 1\n"
	default:
		return "", fmt.Errorf("%s: known are sh, bash, zsh, dash, ksh, fish, csh and tcsh", shell)
	}
	if freeStacks {
		preload += fmt.Sprintf(set, FreeStacksVariable)
	}
	return preload, nil
}

// ShellOf is the shell, as ShellLines takes it, of a program's path: that of the user's shell, for example.
func ShellOf(path string) string {
	switch base := filepath.Base(path); base {
	case "fish", "csh", "tcsh":
		return base
	}
	return "sh"
}

// shellQuote quotes a text for all of these shells.
func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
