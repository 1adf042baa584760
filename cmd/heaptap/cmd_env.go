package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/launch"
)

func newEnvCommand() *cobra.Command {
	var shell string
	var freeStacks bool
	cmd := &cobra.Command{
		Use:   "env [--shell sh|fish|csh] [--free-stacks]",
		Short: "Print shell lines that load the agent without heaptap run",
		Long: `Env prints the shell lines after which every program that this shell starts is recorded without a recorder: each leaves a
file NAME.PID.spool in HEAPTAP_DIR, or in its working directory. "heaptap report NAME.PID.spool" opens it.

This is for programs that somebody else starts: services, test runners, batch systems. A spool takes far more space than a recording,
16 to 24 bytes for each event; where you can, use "heaptap run".`,
		Example: `  eval "$(heaptap env)"; ./app; unset LD_PRELOAD; heaptap report app.*.spool
  heaptap env --shell fish | source`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if shell == "" {
				shell = shellOf(os.Getenv("SHELL"))
			}
			library, err := launch.UnpackAgent()
			if err != nil {
				return err
			}
			text, err := envLines(shell, library.Preload, freeStacks)
			if err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), text)
			return nil
		},
	}
	cmd.Flags().StringVar(&shell, "shell", "",
		"whose syntax: sh (also bash, zsh, dash, ksh), fish, csh (also tcsh); default: $SHELL's")
	cmd.Flags().BoolVar(&freeStacks, "free-stacks", false, "record the call stack of each deallocation, too")
	return cmd
}

func shellOf(path string) string {
	switch base := filepath.Base(path); base {
	case "fish", "csh", "tcsh":
		return base
	}
	return "sh"
}

// envLines sets LD_PRELOAD to the library and what was there, and what else the agent is to know. The library's
// path may hold the loader's token $PLATFORM, so it is quoted.
func envLines(shell, library string, freeStacks bool) (string, error) {
	text, err := preloadLines(shell, library)
	if err != nil || !freeStacks {
		return text, err
	}
	switch shell {
	case "fish":
		return text + "set -gx " + launch.FreeStacksVariable + " 1\n", nil
	case "csh", "tcsh":
		return text + "setenv " + launch.FreeStacksVariable + " 1\n", nil
	}
	return text + "export " + launch.FreeStacksVariable + "=1\n", nil
}

func preloadLines(shell, library string) (string, error) {
	switch shell {
	case "sh", "bash", "zsh", "dash", "ksh":
		return fmt.Sprintf("export LD_PRELOAD=%s\"${LD_PRELOAD:+:$LD_PRELOAD}\"\n", quote(library)), nil
	case "fish":
		return fmt.Sprintf("if set -q LD_PRELOAD\n    set -gx LD_PRELOAD %s:\"$LD_PRELOAD\"\nelse\n    set -gx "+
			"LD_PRELOAD %s\nend\n",
			quote(library), quote(library)), nil
	case "csh", "tcsh":
		return fmt.Sprintf("if ( $?LD_PRELOAD ) then\n    setenv LD_PRELOAD %s:\"$LD_PRELOAD\"\nelse\n    setenv "+
			"LD_PRELOAD %s\nendif\n",
			quote(library), quote(library)), nil
	}
	return "", usagef("env: --shell %s: known are sh, bash, zsh, dash, ksh, fish, csh and tcsh", shell)
}

// quote quotes for all of these shells.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s: unexpected argument %q", cmd.Name(), args[0])
	}
	return nil
}
