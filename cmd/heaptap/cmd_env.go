package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/launch"
)

func newEnvCommand() *cobra.Command {
	var shell string
	var freeStacks bool
	cmd := &cobra.Command{
		Use:   "env [flags]",
		Short: "Print shell lines that load the agent without heaptap run",
		Long: `Env prints shell lines. After them, every program that the shell starts is recorded without a
recorder: it leaves a file NAME.PID.spool in HEAPTAP_DIR, or in its working directory. "heaptap
report NAME.PID.spool" opens it.

This is for programs that something else starts: services, test runners, batch systems. A spool is
much larger than a recording, 16 to 24 bytes for each event. Use "heaptap run" where you can.`,
		Example: `  (eval "$(heaptap env)"; exec ./app); heaptap report app.*.spool
  heaptap env --shell fish | source`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if shell == "" {
				shell = launch.ShellOf(os.Getenv("SHELL"))
			}
			library, err := launch.UnpackAgent()
			if err != nil {
				return err
			}
			text, err := launch.ShellLines(shell, library.Preload, freeStacks)
			if err != nil {
				return usagef("env: --shell %w", err)
			}
			fmt.Fprint(cmd.OutOrStdout(), text)
			return nil
		},
	}
	cmd.Flags().StringVar(&shell, "shell", "",
		"print lines for this `SHELL`: sh (also bash, zsh, dash, ksh), fish, csh (also tcsh); default: that of $SHELL")
	cmd.Flags().BoolVar(&freeStacks, "free-stacks", false, "record the call stack of each deallocation, too")
	return cmd
}
