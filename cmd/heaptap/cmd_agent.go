package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/launch"
)

func newAgentCommand() *cobra.Command {
	var output, install string
	cmd := &cobra.Command{
		Use:   "agent -o FILE | --install DIR",
		Short: "Write out the library that runs inside programs",
		Long: `Agent writes libheaptap.so to a file, for images, packages and machines without heaptap. A program
that is started with LD_PRELOAD set to that file leaves a spool NAME.PID.spool in HEAPTAP_DIR, or in
its working directory. "heaptap report" opens it.

With --install it unpacks the library into a folder where heaptap run looks for it before it makes a
copy in the user's cache, /var/tmp or /tmp: PREFIX/lib/heaptap if heaptap is PREFIX/bin/heaptap, or
the folder that heaptap is in. Programs in containers and sandboxes that can see that folder, but
not /tmp, are then recorded. "make install" does it.`,
		Example: `  heaptap agent -o libheaptap.so
  LD_PRELOAD=$PWD/libheaptap.so ./app
  heaptap report app.*.spool
  heaptap agent --install /usr/local/lib/heaptap`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if install != "" {
				if err := launch.InstallAgent(install); err != nil {
					return fmt.Errorf("cannot install the agent: %w", err)
				}
				return nil
			}
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
	cmd.Flags().StringVar(&install, "install", "", "folder to unpack the library into, for heaptap run")
	return cmd
}
