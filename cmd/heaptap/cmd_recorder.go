package main

import (
	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/launch"
)

// newRecorderCommand is the process that `heaptap run` starts to drain the spools.
func newRecorderCommand() *cobra.Command {
	return &cobra.Command{
		Use:    launch.RecorderCommand,
		Hidden: true,
		Args:   noArgs,
		RunE:   func(*cobra.Command, []string) error { return launch.Serve(recordRun) },
	}
}
