package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/launch"
)

func newAgentCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "agent -o FILE",
		Short: "Write out the library that runs inside programs",
		Long: `Agent writes libheaptap.so to a file, for images, packages and machines without heaptap. A program that is started with
LD_PRELOAD set to that file leaves a spool NAME.PID.spool in HEAPTAP_DIR, or in its working directory; "heaptap report" opens it.`,
		Example: `  heaptap agent -o libheaptap.so
  LD_PRELOAD=$PWD/libheaptap.so ./app
  heaptap report app.*.spool`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if output == "" {
				return usagef("agent: where to? For example: heaptap agent -o libheaptap.so")
			}
			if err := launch.WriteAgent(output); err != nil {
				return fmt.Errorf("cannot write the agent: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write")
	return cmd
}
