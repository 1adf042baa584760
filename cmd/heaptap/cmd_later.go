package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/launch"
)

// newAttachCommand and newLiveCommand say what there is instead of commands that users look for.
func newAttachCommand() *cobra.Command {
	return instead("attach", "attach: a process that already runs cannot be recorded. Start it with heaptap run "+
		"COMMAND; to record it later, add --start off, and then: heaptap ctl PID start")
}

func newLiveCommand() *cobra.Command {
	return instead("live", "live: there is no such view yet. Of a process that heaptap run records, heaptap report "+
		"PID, leaks PID and top PID show the current state; watch -n 2 heaptap top PID repeats it")
}

func instead(name, text string) *cobra.Command {
	return &cobra.Command{Use: name, Hidden: true, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return &launch.StatusError{Status: launch.StatusFailed, Err: errors.New(text)}
		}}
}
